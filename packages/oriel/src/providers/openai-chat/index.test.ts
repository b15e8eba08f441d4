import { describe, expect, test } from 'vitest'
import type { Block } from '../../core/log/block.ts'
import type { Draft, MessageEntry } from '../../core/log/entry.ts'
import type { Json } from '../../core/log/json.ts'
import { prepare } from '../../core/log/prepare.ts'
import { State } from '../../core/state/state.ts'
import { messagesIn, segmentsOf } from '../../core/view/segments.ts'
import type { ViewMessage } from '../../core/view/view.ts'
import { openaiChat } from './index.ts'

const counter = { name: 'length', count: (text: string) => text.length }

function draftsOf(messages: readonly unknown[]): readonly Draft[] {
  return openaiChat.decode(messages, 'messages').map(({ draft }) => draft)
}

function draftOf(message: unknown): Draft {
  return draftsOf([message])[0] as Draft
}

/** The log's entries of these drafts. */
function stateOf(drafts: readonly Draft[]): State {
  const state = new State({ counter, salt: 'test' })
  for (const entry of prepare(state, drafts, 0)) state.apply(entry)
  return state
}

/** Every message shown as it came, without repairs. */
function viewOf(drafts: readonly Draft[]): ViewMessage[] {
  return stateOf(drafts).visible.map(({ entry }) => shown(entry))
}

function shown(entry: MessageEntry, blocks: readonly Block[] = entry.blocks): ViewMessage {
  return { role: entry.role, origin: entry.origin, blocks, entry }
}

function encode(view: readonly ViewMessage[]): readonly Json[] {
  return openaiChat.encode(view).messages
}

/** The view of one foreign message with some of its blocks replaced or left out. */
function edited(
  message: unknown,
  edit: (block: Block, index: number) => Block | undefined,
): ViewMessage {
  const [view] = viewOf([draftOf(message)])
  const { entry } = view as Required<ViewMessage>
  return shown(
    entry,
    entry.blocks.flatMap((block, index) => edit(block, index) ?? []),
  )
}

function functionCall(id: string, text = '{}'): Json {
  return { id, type: 'function', function: { name: 'search', arguments: text } }
}

describe('encode', () => {
  test('an edited text keeps the fields around it', () => {
    const message = {
      role: 'user',
      name: 'bob',
      content: [{ type: 'text', text: 'long', cache_control: {} }],
    }
    const view = edited(message, (block) => ({ ...block, text: 'short' }) as Block)
    expect(encode([view])).toEqual([
      { role: 'user', name: 'bob', content: [{ type: 'text', text: 'short', cache_control: {} }] },
    ])
  })

  test('an edited message is built anew, whatever original was kept', () => {
    const view = edited(
      { role: 'assistant', tool_calls: [functionCall('a', '{"long":1}')] },
      (block) => ({
        ...(block as Block & { type: 'tool-call' }),
        arguments: '{}',
      }),
    )
    expect(encode([view])).toEqual([
      { role: 'assistant', content: null, tool_calls: [functionCall('a')] },
    ])
  })

  test('wire ids replace call ids, on calls and results', () => {
    const [call, result] = viewOf(
      draftsOf([
        { role: 'assistant', content: 'Look.', tool_calls: [functionCall('a'), functionCall('b')] },
        { role: 'tool', tool_call_id: 'b', content: 'done' },
      ]),
    ) as [ViewMessage, ViewMessage]
    const view = [
      { ...call, wireIds: new Map([[2, 'wire']]) },
      { ...result, wireIds: new Map([[0, 'wire']]) },
    ]
    expect(encode(view)).toEqual([
      {
        role: 'assistant',
        content: 'Look.',
        tool_calls: [functionCall('a'), functionCall('wire')],
      },
      { role: 'tool', tool_call_id: 'wire', content: 'done' },
    ])
  })

  test('an edited refusal is not repeated in full', () => {
    const message = {
      role: 'assistant',
      content: null,
      refusal: 'No, because ...',
      annotations: [],
    }
    const view = edited(message, (block) => ({ ...block, text: 'No.' }) as Block)
    expect(encode([view])).toEqual([{ role: 'assistant', content: 'No.', annotations: [] }])
  })

  test('a message whose blocks are all gone is an empty text', () => {
    expect(encode([edited({ role: 'assistant', content: 'a' }, () => undefined)])).toEqual([
      { role: 'assistant', content: '' },
    ])
    expect(encode([edited({ role: 'user', content: 'a' }, () => undefined)])).toEqual([
      { role: 'user', content: '' },
    ])
  })

  test('text that Oriel wrote itself is plain', () => {
    const view: ViewMessage = {
      role: 'user',
      origin: 'host',
      blocks: [{ type: 'text', text: '[Summary]' }],
    }
    expect(encode([view])).toEqual([{ role: 'user', content: '[Summary]' }])
  })
})

describe('losses', () => {
  test('nothing is told of messages that came in this format', () => {
    const view = viewOf(
      draftsOf([
        { role: 'user', content: [{ type: 'hologram' }] },
        {
          role: 'assistant',
          reasoning_content: 'Hmm.',
          content: null,
          tool_calls: [functionCall('a')],
        },
      ]),
    )
    expect(openaiChat.encode(view)).not.toHaveProperty('losses')
  })

  test('a message that is sent in another shape is told, also one without blocks', () => {
    const view = viewOf(
      draftsOf([
        { role: 'assistant', content: null },
        { role: 'assistant', content: 'Hi', tool_calls: [] },
      ]),
    )
    const reason = 'O4: sent in an accepted shape'
    expect(openaiChat.encode(view).losses).toEqual([
      { message: 0, block: 0, form: 'full', reason },
      { message: 1, block: 0, form: 'full', reason },
    ])
  })

  test('every block that is left out or replaced is told, with its place', () => {
    const source = { format: 'anthropic' }
    const image: Block = { type: 'image', mediaType: 'image/png', data: 'AAAA' }
    const view = viewOf([
      {
        role: 'assistant',
        source,
        content: [
          { type: 'reasoning', text: 'Hmm.', signature: 'c2ln' },
          { type: 'text', text: 'Look.' },
          { type: 'tool-call', callId: 'a', name: 'fs.read', arguments: '{}' },
          { type: 'opaque', format: 'anthropic', value: { type: 'server_tool_use' } },
          image,
        ],
      },
      {
        role: 'tool',
        source,
        content: [{ type: 'tool-result', callId: 'a', content: [image, image] }],
      },
      { role: 'user', source, content: [image] },
    ])
    expect(openaiChat.encode(view).losses).toEqual([
      {
        message: 0,
        block: 0,
        form: 'dropped',
        reason: 'openai-chat: reasoning goes back only to the format it came from',
      },
      {
        message: 0,
        block: 2,
        form: 'full',
        reason: 'O5: its name is not accepted, changed on the wire',
      },
      { message: 0, block: 3, form: 'dropped', reason: 'openai-chat: a block of another format' },
      { message: 0, block: 4, form: 'dropped', reason: 'openai-chat: cannot stand here' },
      {
        message: 1,
        block: 0,
        form: 'omitted',
        reason: 'O4: a tool message holds text, a stand-in is sent',
      },
    ])
  })
})

describe('the deprecated form', () => {
  const call = {
    role: 'assistant',
    content: null,
    function_call: { name: 'search', arguments: '{}' },
  }
  const result = { role: 'function', name: 'search', content: 'done' }

  test('an exchange comes back in it, also when its result was shortened or the same function is called again', () => {
    const messages = [call, result, call, result]
    const { messages: view } = repaired(messages)
    expect(view.filter(({ wireIds }) => wireIds !== undefined)).toEqual([])
    expect(encode(view)).toEqual(messages)
    const [first, second] = viewOf(draftsOf([call, result])) as [ViewMessage, ViewMessage]
    const short = { ...(second.blocks[0] as Block & { type: 'tool-result' }), content: '[Omitted]' }
    expect(encode([first, { ...second, blocks: [short] }])).toEqual([
      call,
      { ...result, content: '[Omitted]' },
    ])
  })

  test('an original that was kept comes back too, though its function is called again', () => {
    const bare = { role: 'assistant', function_call: call.function_call }
    const messages = [bare, result, bare, result]
    expect(encode(repaired(messages).messages)).toEqual(messages)
  })

  test("a call whose result Oriel had to write is sent in today's form, with its result", () => {
    const { messages: view } = repaired([call, { role: 'user', content: 'Well?' }])
    const sent = encode(view)
    expect(sent).toMatchObject([
      { role: 'assistant', tool_calls: [{ function: { name: 'search', arguments: '{}' } }] },
      { role: 'tool' },
      { role: 'user' },
    ])
    expect(openaiChat.validate(sent)).toEqual([])
  })
})

function repaired(messages: readonly unknown[]): { messages: readonly ViewMessage[] } {
  const state = stateOf(draftsOf(messages))
  return {
    messages: messagesIn(
      segmentsOf(state, [], { profile: openaiChat.profile, checkpoint: undefined }),
    ),
  }
}
