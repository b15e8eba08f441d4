import { describe, expect, it } from 'vitest'
import type { Block } from '../../core/log/block.ts'
import type { Draft, EntryId } from '../../core/log/entry.ts'
import type { Json, JsonObject } from '../../core/log/json.ts'
import type { ViewMessage } from '../../core/view/view.ts'
import type { Encoded } from '../format.ts'
import { anthropic } from './index.ts'

/** A view that shows a draft unchanged. */
function shown({ role, content, origin = role, ...others }: Omit<Draft, 'id'>): ViewMessage {
  const blocks: readonly Block[] =
    typeof content === 'string' ? [{ type: 'text', text: content }] : content
  const place = { id: 'e1' as EntryId, seq: 1, at: 0, turn: 1, step: 1 }
  return {
    role,
    origin,
    blocks,
    entry: { type: 'message', ...place, role, origin, blocks, ...others },
  }
}

const viewOf = (messages: readonly unknown[]): readonly ViewMessage[] =>
  anthropic.decode(messages, 'messages').map(({ draft }) => shown(draft))

type Sent = Pick<Encoded, 'messages' | 'system'>

/** What is sent; losses.test.ts shows what is told of it. */
const encode = (view: readonly ViewMessage[]): Sent => {
  const { losses: _losses, origins: _origins, ...sent } = anthropic.encode(view)
  return sent
}

const roundTrip = (messages: readonly unknown[]): Sent => encode(viewOf(messages))

/** A message that came from OpenAI's chat format. */
const fromChat = (role: Draft['role'], content: Draft['content']): ViewMessage =>
  shown({ role, content, source: { format: 'openai-chat' } })

const text = (value: string, more: JsonObject = {}): JsonObject => ({
  type: 'text',
  text: value,
  ...more,
})
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
const user = (content: Json, more: JsonObject = {}): JsonObject => ({
  role: 'user',
  content,
  ...more,
})
const assistant = (content: Json, more: JsonObject = {}): JsonObject => ({
  role: 'assistant',
  content,
  ...more,
})
const thinking = { type: 'thinking', thinking: 'let me see', signature: 'sig==' }
const redacted = { type: 'redacted_thinking', data: 'sealed==' }
const cached = { cache_control: { type: 'ephemeral', ttl: '1h' } }

describe('system text', () => {
  const system = (content: Draft['content']): ViewMessage => shown({ role: 'system', content })

  it('[A1] stands outside the messages, as a string when it is one plain text', () => {
    expect(encode([system('be brief'), fromChat('user', 'hi')])).toEqual({
      system: 'be brief',
      messages: [user('hi')],
    })
  })

  it('[A1] is a list of texts otherwise, wherever it stood', () => {
    const view = [
      fromChat('system', 'be brief'),
      fromChat('user', 'hi'),
      ...viewOf([{ role: 'system', content: [text('be kind', cached)] }]),
      system(' '),
    ]
    expect(encode(view)).toEqual({
      system: [text('be brief'), text('be kind', cached)],
      messages: [user('hi')],
    })
  })

  it('is absent when there is none, or none with text', () => {
    expect(encode([fromChat('user', 'hi')])).toEqual({ messages: [user('hi')] })
    const image: Block = { type: 'image', url: 'https://x.test' }
    expect(encode([system([image]), fromChat('user', 'hi')])).toEqual({
      messages: [user('hi')],
    })
  })
})

describe('messages that stand together', () => {
  it('[A3] are merged when they have the same role', () => {
    expect(
      roundTrip([user('a'), user([text('b')]), assistant('c'), assistant('d'), user('e')]),
    ).toEqual({
      messages: [user([text('a'), text('b')]), assistant([text('c'), text('d')]), user('e')],
    })
  })

  it('[A3] are merged when the one between them is left out', () => {
    const view = [
      fromChat('user', 'a'),
      fromChat('assistant', [{ type: 'reasoning', text: 'hm' }]),
      fromChat('user', 'b'),
    ]
    expect(encode(view)).toEqual({ messages: [user([text('a'), text('b')])] })
  })

  it('[A11] have their results first', () => {
    const [go, calling] = [user('go'), assistant([call('a'), call('b')])]
    expect(roundTrip([go, calling, user([text('x'), result('a')]), user([result('b')])])).toEqual({
      messages: [go, calling, user([result('a'), result('b'), text('x')])],
    })
  })

  it('[A12] have their calls last when a text follows one', () => {
    const late = assistant([thinking, call('a'), thinking, text('x'), call('b')])
    expect(roundTrip([user('go'), late, user([result('a'), result('b')])]).messages[1]).toEqual(
      assistant([thinking, thinking, text('x'), call('a'), call('b')]),
    )
  })

  it('[A13] begin with thinking when one of several has it', () => {
    const messages = [
      user('go'),
      assistant('wait'),
      assistant([thinking, call('a')]),
      user([result('a')]),
    ]
    const encoded = roundTrip(messages)
    expect(encoded.messages[1]).toEqual(assistant([thinking, text('wait'), call('a')]))
    expect(anthropic.validate({ thinking: { type: 'enabled' }, ...encoded })).toEqual([])
  })
})

describe('what the provider refuses', () => {
  it('[A4] blank text is left out, and a message of nothing else', () => {
    expect(
      roundTrip([user([text(''), text('a')]), assistant(' '), user([text('\n'), text('b')])]),
    ).toEqual({ messages: [user([text('a'), text('b')])] })
  })

  it('[A4] blank text inside a result is left out', () => {
    const content = { content: [text(''), text('x')] }
    const [go, calling] = [user('go'), assistant([call('a'), call('b')])]
    const results = user([
      result('a', content),
      result('b', { content: [text(' ')], is_error: true }),
    ])
    expect(roundTrip([go, calling, results]).messages[2]).toEqual(
      user([result('a', { content: [text('x')] }), result('b', { is_error: true })]),
    )
  })

  it('[A5] a final assistant message loses its trailing whitespace', () => {
    expect(roundTrip([user('a'), assistant([text('so \n')])]).messages[1]).toEqual(
      assistant([text('so')]),
    )
  })

  it('[A8] a server tool result without its call is left out', () => {
    const orphan = { type: 'web_search_tool_result', tool_use_id: 's', content: [] }
    expect(roundTrip([user('a'), assistant([orphan]), user('b')])).toEqual({
      messages: [user([text('a'), text('b')])],
    })
  })

  it('[A14] thinking without a signature is left out', () => {
    const unsigned = { type: 'thinking', thinking: 'hm' }
    const messages = [user('a'), assistant([unsigned, redacted, text('b')]), user('c')]
    expect(roundTrip(messages).messages[1]).toEqual(assistant([redacted, text('b')]))
  })

  it('[A17] cache breakpoints beyond the last four are left out', () => {
    const inside = result('a', { content: [text('5', cached)], ...cached })
    const [first, second] = [text('1', cached), text('2', cached)]
    const messages = [
      user([first, second, text('3', cached)]),
      assistant([{ ...call('a'), ...cached }]),
    ]
    const system = shown({
      role: 'system',
      content: [{ type: 'text', text: 's', extra: cached }],
      source: { format: 'anthropic' },
    })
    const encoded = encode([system, ...viewOf([...messages, user([inside])])])
    expect(encoded).toEqual({
      system: [text('s')],
      messages: [user([text('1'), text('2'), text('3', cached)]), messages[1], user([inside])],
    })
    expect(anthropic.validate(encoded)).toEqual([])
  })

  it('[A18] lone surrogates are replaced on the wire and kept in the log', () => {
    const messages = [
      user('a\uD83D'),
      assistant([call('a', { 'k\uDE00': 'v\uD83D' })]),
      user([result('a')]),
    ]
    const [first] = anthropic.decode(messages, 'messages')
    expect(first?.draft.content).toBe('a\uD83D')
    const encoded = roundTrip(messages)
    expect(encoded.messages.slice(0, 2)).toEqual([
      user('a\uFFFD'),
      assistant([call('a', { 'k\uFFFD': 'v\uFFFD' })]),
    ])
    expect(anthropic.validate(encoded)).toEqual([])
  })

  it('a malformed call is repaired, not lost', () => {
    const odd = [
      { type: 'tool_use', id: 'a', name: 'f' },
      { type: 'tool_use', id: 'b', name: 'f', input: 'ls' },
    ]
    const messages = [
      user('go'),
      assistant(odd),
      user([result('a'), result('b', { content: null })]),
    ]
    const encoded = roundTrip(messages)
    expect(encoded.messages.slice(1)).toEqual([
      assistant([call('a'), call('b', { _raw: '"ls"' })]),
      user([result('a'), result('b')]),
    ])
  })
})

describe('a message shown otherwise than it came', () => {
  const original = [
    user('go'),
    assistant([text('x', cached), call('a', { n: -0 })]),
    user([result('a')]),
  ]

  it('is built from its blocks instead of the original', () => {
    const view = viewOf(original)
    const edited = view.map((message) => ({
      ...message,
      blocks: message.blocks.map((block) =>
        block.type === 'text' ? { ...block, text: 'short' } : block,
      ),
    }))
    expect(encode(edited).messages[1]).toEqual(
      assistant([text('short', cached), call('a', { n: 0 })]),
    )
  })

  it('[A10] has the call ids of the wire', () => {
    const [go, calling, results] = viewOf(original) as [ViewMessage, ViewMessage, ViewMessage]
    const view = [
      go,
      { ...calling, wireIds: new Map([[1, 'call_1']]) },
      { ...results, wireIds: new Map([[0, 'call_1']]) },
    ]
    expect(encode(view).messages.slice(1)).toEqual([
      assistant([text('x', cached), call('call_1', { n: 0 })]),
      user([result('call_1')]),
    ])
  })
})

describe('a message from another format', () => {
  it('brings its content, but no foreign fields', () => {
    const extra = { cache_control: { type: 'other' } }
    const view = [
      shown({
        role: 'user',
        content: [
          { type: 'text', text: 'hi', extra },
          { type: 'image', url: 'https://x.test', extra },
        ],
        source: { format: 'openai-chat' },
        extra: { name: 'ann' },
      }),
    ]
    const image = { type: 'image', source: { type: 'url', url: 'https://x.test' } }
    expect(encode(view)).toEqual({ messages: [user([text('hi'), image])] })
  })

  it('brings calls, and one user message for all their results', () => {
    const view = [
      fromChat('user', 'go'),
      fromChat('assistant', [
        { type: 'text', text: '' },
        { type: 'tool-call', callId: 'a', name: 'f', arguments: '{"x": 1}' },
        { type: 'tool-call', callId: 'b', name: 'f', arguments: '{"x":' },
        { type: 'tool-call', callId: 'c', name: 'f', arguments: '' },
      ]),
      fromChat('tool', [{ type: 'tool-result', callId: 'a', content: 'one' }]),
      fromChat('tool', [{ type: 'tool-result', callId: 'b', content: '', isError: true }]),
      fromChat('tool', [
        {
          type: 'tool-result',
          callId: 'c',
          content: [{ type: 'image', mediaType: 'image/png', data: 'AAAA' }],
        },
      ]),
      fromChat('user', 'and?'),
    ]
    const encoded = encode(view)
    const source = { type: 'base64', media_type: 'image/png', data: 'AAAA' }
    expect(encoded).toEqual({
      messages: [
        user('go'),
        assistant([call('a', { x: 1 }), call('b', { _raw: '{"x":' }), call('c')]),
        user([
          result('a', { content: 'one' }),
          result('b', { is_error: true }),
          result('c', { content: [{ type: 'image', source }] }),
          text('and?'),
        ]),
      ],
    })
    expect(anthropic.validate(encoded)).toEqual([])
  })

  it('[A14] brings no reasoning, signed or not', () => {
    const view = [
      fromChat('user', 'go'),
      fromChat('assistant', [
        { type: 'reasoning', text: 'hm', signature: 'sig' },
        { type: 'reasoning', signature: 'sealed' },
        { type: 'text', text: 'so' },
      ]),
      fromChat('user', 'ok'),
    ]
    expect(encode(view).messages[1]).toEqual(assistant([text('so')]))
  })

  it('brings files: text as text, everything else as it is', () => {
    const files: readonly Block[] = [
      { type: 'file', mediaType: 'text/markdown', name: 'a.md', data: 'aMOp' },
      { type: 'file', mediaType: 'application/pdf', data: 'BBBB' },
      { type: 'file', url: 'https://x.test/a.pdf' },
      { type: 'file', name: 'nowhere' },
    ]
    expect(encode([fromChat('user', files)]).messages).toEqual([
      user([
        {
          type: 'document',
          title: 'a.md',
          source: { type: 'text', media_type: 'text/plain', data: 'h\u00e9' },
        },
        {
          type: 'document',
          source: { type: 'base64', media_type: 'application/pdf', data: 'BBBB' },
        },
        { type: 'document', source: { type: 'url', url: 'https://x.test/a.pdf' } },
      ]),
    ])
  })

  it('loses opaque blocks, but a user message of nothing else still stands', () => {
    const audio: Block = { type: 'opaque', format: 'openai-chat', value: { type: 'input_audio' } }
    const hello: Block = { type: 'text', text: 'hello' }
    const view = [
      fromChat('user', [audio]),
      fromChat('assistant', [audio, hello]),
      fromChat('user', [hello, audio]),
    ]
    const encoded = encode(view)
    expect(encoded).toEqual({
      messages: [user('[opaque]'), assistant([text('hello')]), user([text('hello')])],
    })
    expect(anthropic.validate(encoded)).toEqual([])
  })

  it('shows text that Oriel wrote itself', () => {
    const digest: ViewMessage = {
      role: 'user',
      origin: 'host',
      blocks: [{ type: 'text', text: 'so far', extra: cached }],
    }
    expect(encode([digest])).toEqual({ messages: [user('so far')] })
  })
})
