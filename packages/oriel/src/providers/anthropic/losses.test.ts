import { describe, expect, it } from 'vitest'
import type { Block } from '../../core/log/block.ts'
import type { Draft, EntryId } from '../../core/log/entry.ts'
import type { Json, JsonObject } from '../../core/log/json.ts'
import type { ViewMessage } from '../../core/view/view.ts'
import { anthropic } from './index.ts'

/** A view that shows a draft unchanged. */
function shown({ role, content, origin = role, ...others }: Omit<Draft, 'id'>): ViewMessage {
  const blocks: readonly Block[] =
    typeof content === 'string' ? [{ type: 'text', text: content }] : content
  const place = { id: 'e1' as EntryId, seq: 1, at: 0, turn: 1, step: 1 }
  const entry = { type: 'message', ...place, role, origin, blocks, ...others } as const
  return { role, origin, blocks, entry }
}

const viewOf = (messages: readonly unknown[]): readonly ViewMessage[] =>
  anthropic.decode(messages, 'messages').map(({ draft }) => shown(draft))

const fromChat = (role: Draft['role'], content: Draft['content']): ViewMessage =>
  shown({ role, content, source: { format: 'openai-chat' } })

/** Every loss as `message.block form reason`. */
const told = (view: readonly ViewMessage[]): readonly string[] =>
  (anthropic.encode(view).losses ?? []).map(
    ({ message, block, form, reason }) => `${message}.${block} ${form} ${reason}`,
  )

const text = (value: string): JsonObject => ({ type: 'text', text: value })
const call = (id: string, input: Json = {}): JsonObject => ({
  type: 'tool_use',
  id,
  name: 'f',
  input,
})
const result = (id: string, more: JsonObject = {}): JsonObject => ({
  type: 'tool_result',
  tool_use_id: id,
  ...more,
})
const user = (content: Json): JsonObject => ({ role: 'user', content })
const assistant = (content: Json): JsonObject => ({ role: 'assistant', content })
const thinking = { type: 'thinking', thinking: 'let me see', signature: 'sig==' }
const unsigned = { type: 'thinking', thinking: 'hm' }
const cached = { cache_control: { type: 'ephemeral' } }
const foreign: Block = { type: 'opaque', format: 'openai-chat', value: { type: 'input_audio' } }

describe('nothing is told', () => {
  it('of a conversation that goes back as it came', () => {
    const messages = [
      user([text('go'), { type: 'future_block' }]),
      assistant([thinking, call('a', { n: -0 })]),
      user([result('a', { content: [] }), text('and?')]),
    ]
    const { origins: _origins, ...encoded } = anthropic.encode(viewOf(messages))
    expect(encoded).toEqual({ messages })
  })

  it('of neighbours that are merged, and of system text in front of them', () => {
    const view = [fromChat('system', 'be brief'), fromChat('user', 'a'), fromChat('user', 'b')]
    const { origins: _origins, ...encoded } = anthropic.encode(view)
    expect(encoded).toEqual({
      system: 'be brief',
      messages: [user([text('a'), text('b')])],
    })
  })
})

describe('what is left out', () => {
  it('[A14] is told of reasoning without a signature, out of place, or of another format', () => {
    const own = viewOf([user([text('go'), thinking]), assistant([unsigned, text('so')])])
    const view = [...own, fromChat('assistant', [{ type: 'reasoning', text: 'hm' }])]
    expect(told(view)).toEqual([
      '0.1 dropped A1: thinking blocks are not allowed in user messages',
      '1.0 dropped A14: thinking or redacted_thinking blocks in the latest assistant message cannot be modified: text or signature is missing',
      '2.0 dropped A14: reasoning goes back only to the format it came from',
    ])
  })

  it('is told of blocks of other formats, faulty ones, and media without a source', () => {
    const view = [
      fromChat('user', [{ type: 'text', text: 'go' }, { type: 'image' }, foreign]),
      ...viewOf([assistant('so'), user([text('on'), { type: 'image', source: 'no object' }])]),
    ]
    expect(told(view)).toEqual([
      '0.1 dropped anthropic: has neither data nor an address',
      '0.2 dropped anthropic: a block of another format',
      '2.1 dropped A18: image.source: Field required',
    ])
  })

  it('[A4] is told of blank text and of messages without content', () => {
    expect(told([fromChat('user', [{ type: 'text', text: ' ' }]), fromChat('user', [])])).toEqual([
      '0.0 dropped A4: text content blocks must contain non-whitespace text',
      '1.0 dropped A4: no content',
    ])
  })

  it('[A8] is told of server tool results without their call', () => {
    const orphan = { type: 'web_search_tool_result', tool_use_id: 's', content: [] }
    expect(told(viewOf([user('a'), assistant([text('b'), orphan]), user('c')]))).toEqual([
      '1.1 dropped A8: its call does not come before it',
    ])
  })

  it('inside a result is told of the result, as gone only if nothing else was in it', () => {
    const blocks = (...content: readonly Block[]): readonly Block[] => [
      { type: 'tool-result', callId: 'a', content },
    ]
    const [blank, full] = [
      { type: 'text', text: '' } as const,
      { type: 'text', text: 'x' } as const,
    ]
    const reason = 'anthropic: a block of another format'
    expect(told([fromChat('tool', blocks(foreign, full))])).toEqual([`0.0 full ${reason}`])
    expect(told([fromChat('tool', blocks(blank, foreign))])).toEqual([`0.0 omitted ${reason}`])
    expect(told([fromChat('tool', blocks(blank))])).toEqual([
      '0.0 full A4: text content blocks must be non-empty',
    ])
    const view = viewOf([user([result('a', { content: [text(' '), call('b')] })])])
    expect(told(view)).toEqual([
      '0.0 omitted A1: tool_use blocks are not allowed in tool_result blocks',
    ])
    const white: Block = { type: 'tool-result', callId: 'a', content: ' \n' }
    expect(told([fromChat('tool', [white])])).toEqual(['0.0 full A4: its text is blank'])
  })

  it('is told as replaced where a stand-in holds the place of a user message', () => {
    expect(told([fromChat('user', [{ type: 'text', text: '' }, foreign])])).toEqual([
      '0.0 dropped A4: text content blocks must be non-empty',
      '0.1 omitted anthropic: a block of another format, a stand-in is sent',
    ])
  })
})

describe('what is moved', () => {
  it('[A1] is told of system text among the messages', () => {
    const own = viewOf([{ role: 'system', content: 'a' }, user('hi')])
    expect(told([...own, fromChat('system', 'b')])).toEqual([
      '0.0 full A1: moved out of the messages to the system text',
      '2.0 full A1: moved out of the messages to the system text',
    ])
  })

  it('[A11] is told of results behind other content, in one message or in two', () => {
    const calling = [user('go'), assistant([call('a'), call('b')])]
    const mixed = user([result('a'), text('x'), result('b')])
    const line = 'full A11: moved to the front of its message'
    expect(told(viewOf([...calling, mixed]))).toEqual([`2.1 ${line}`])
    expect(told(viewOf([...calling, user('x'), user([result('a'), result('b')])]))).toEqual([
      `3.0 ${line}`,
      `3.1 ${line}`,
    ])
  })

  it('[A12] is told of what stands behind a call', () => {
    const late = assistant([call('a'), thinking, text('x'), call('b')])
    expect(told(viewOf([user('go'), late, user([result('a'), result('b')])]))).toEqual([
      '1.1 full A12: moved before the calls',
      '1.2 full A12: moved before the calls',
    ])
  })

  it('[A13] is told of thinking in the middle of merged messages', () => {
    const messages = [user('go'), assistant('wait'), assistant([thinking, text('so')]), user('ok')]
    expect(told(viewOf(messages))).toEqual(['2.0 full A13: moved to the front of its message'])
  })
})

describe('what is rewritten', () => {
  it('[A5] is told of trailing whitespace', () => {
    expect(told(viewOf([user('a '), assistant('so \n')]))).toEqual([
      '1.0 full A5: trailing whitespace taken off',
    ])
  })

  it('[A17] is told of cache breakpoints, also inside a result', () => {
    const marked = { ...text('x'), ...cached }
    const messages = [
      user([text('go'), marked]),
      assistant([call('a')]),
      user([result('a', { content: [marked] }), marked, marked, marked, marked]),
    ]
    const line = 'full A17: its cache breakpoint is not among the last 4, taken off'
    expect(told(viewOf(messages))).toEqual([`0.1 ${line}`, `2.0 ${line}`])
  })

  it('is told of arguments that cannot be sent as they are', () => {
    const calls = ['{"id":9007199254740993}', 'ls', '', '{"n":1}'].map(
      (value, index): Block => ({
        type: 'tool-call',
        callId: `${index}`,
        name: 'f',
        arguments: value,
      }),
    )
    expect(told([fromChat('user', 'go'), fromChat('assistant', calls)])).toEqual([
      '1.0 full anthropic: integers beyond what a number holds are sent as strings',
      '1.1 full anthropic: arguments that are not a JSON object are sent as text in _raw',
    ])
  })

  it('is told of text files that are not plain UTF-8', () => {
    const file = (mediaType: string, data: string): Block => ({ type: 'file', mediaType, data })
    const files = [
      file('text/plain', 'aMOp'),
      file('text/plain', '/w=='),
      file('text/markdown', 'aMOp'),
    ]
    expect(told([fromChat('user', files)])).toEqual([
      '0.1 full anthropic: sent as plain text in UTF-8',
      '0.2 full anthropic: sent as plain text in UTF-8',
    ])
  })

  it('is told of the blocks of a refused original that come out otherwise, and of no others', () => {
    const odd = { type: 'tool_use', id: 'b', name: 'f' }
    const results = user([result('a', { content: [] }), result('b', { content: null })])
    expect(told(viewOf([user('go'), assistant([text('x'), call('a'), odd]), results]))).toEqual([
      '1.2 full A18: sent in an accepted shape',
      '2.0 full anthropic: sent in an accepted shape',
      '2.1 full A18: sent in an accepted shape',
    ])
  })

  it('is told of the same blocks when another block of the message is not shown', () => {
    const [message] = viewOf([assistant([text('x'), { type: 'tool_use', id: 'a', name: 'f' }])])
    const { blocks } = message as ViewMessage
    const part = { ...(message as ViewMessage), blocks: blocks.slice(1), positions: [1] }
    expect(told([fromChat('user', 'go'), part])).toEqual([
      '1.0 full A18: sent in an accepted shape',
    ])
  })
})
