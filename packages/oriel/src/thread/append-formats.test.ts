// Messages that come without a word on their format: read as what they are, or refused. Never silently lost.

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Block } from '../core/log/block.ts'
import { OrielError } from '../core/log/errors.ts'
import type { FormatName } from '../providers/format.ts'
import { formatNames } from '../providers/registry.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { conversationOf } from '../testing/arbitraries.ts'
import { openThread, type Thread } from './thread.ts'

const open = (): Promise<Thread> => openThread({ id: 't', store: memoryStore(), now: () => 0 })

/** The types of all blocks in a log, in order. */
async function typesIn(thread: Thread): Promise<readonly Block['type'][]> {
  const log = await thread.log()
  const blocks = log.flatMap((entry) => (entry.type === 'message' ? entry.blocks : []))
  return blocks.map(({ type }) => type)
}

async function typesOf(messages: readonly unknown[], format?: FormatName) {
  const thread = await open()
  await thread.append(messages, format === undefined ? {} : { format })
  return typesIn(thread)
}

const data = 'iVBORw0KGgo='
const image = { type: 'image', mediaType: 'image/png', data }

/** One message of each shape, and the blocks that it holds. */
const shapes: readonly (readonly [string, readonly object[], readonly Block['type'][]])[] = [
  ['a plain text', [{ role: 'user', content: 'hi' }], ['text']],
  [
    "a picture of LangChain's, by its address alone",
    [{ role: 'user', content: [{ type: 'image_url', image_url: 'https://example.com/a.png' }] }],
    ['image'],
  ],
  [
    "reasoning of LangChain's",
    [{ role: 'assistant', content: [{ type: 'reasoning', reasoning: 'Hm.' }] }],
    ['reasoning'],
  ],
  ['a picture of our own', [{ role: 'user', content: [image] }], ['image']],
  [
    "a picture of OpenAI's chat",
    [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://a.b/c.png' } }] }],
    ['image'],
  ],
  [
    "a file of OpenAI's chat",
    [{ role: 'user', content: [{ type: 'file', file: { filename: 'a.pdf', file_data: data } }] }],
    ['file'],
  ],
  [
    "calls and results of OpenAI's chat",
    [
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'a', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'found' },
    ],
    ['tool-call', 'tool-result'],
  ],
  [
    "a custom call of OpenAI's chat",
    [
      {
        role: 'assistant',
        tool_calls: [{ id: 'c1', type: 'custom', custom: { name: 'a', input: 'free' } }],
      },
    ],
    ['tool-call'],
  ],
  [
    'calls, results, pictures and thinking of Anthropic',
    [
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hm', signature: 's' },
          { type: 'tool_use', id: 'c1', name: 'a', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'c1', content: 'found' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data } },
          { type: 'text', text: 'and?' },
        ],
      },
    ],
    ['reasoning', 'tool-call', 'tool-result', 'image', 'text'],
  ],
  [
    "an answer as Anthropic's SDK has it",
    [
      {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'claude',
        content: [{ type: 'text', text: 'hi' }],
        stop_reason: 'end_turn',
      },
    ],
    ['text'],
  ],
  [
    "items of OpenAI's Responses",
    [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] },
      { type: 'function_call', call_id: 'c1', name: 'a', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'found' },
    ],
    ['text', 'tool-call', 'tool-result'],
  ],
  [
    'parts of the AI SDK',
    [
      { role: 'user', content: [{ type: 'image', image: new URL('https://a.b/c.png') }] },
      {
        role: 'assistant',
        content: [{ type: 'tool-call', toolCallId: 'c1', toolName: 'a', input: {} }],
      },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'c1',
            toolName: 'a',
            output: { type: 'text', value: 'found' },
          },
        ],
      },
    ],
    ['image', 'tool-call', 'tool-result'],
  ],
  [
    'messages of LangChain',
    [
      { type: 'human', content: [{ type: 'image_url', image_url: 'https://a.b/c.png' }] },
      { role: 'assistant', content: '', tool_calls: [{ id: 'c1', name: 'a', args: {} }] },
      { role: 'tool', tool_call_id: 'c1', content: 'found' },
    ],
    ['image', 'text', 'tool-call', 'tool-result'],
  ],
  [
    'contents of Gemini',
    [
      { role: 'user', parts: [{ inlineData: { mimeType: 'image/png', data } }] },
      { role: 'model', parts: [{ functionCall: { name: 'a' } }] },
      { role: 'user', parts: [{ functionResponse: { name: 'a', response: {} } }] },
    ],
    ['image', 'tool-call', 'tool-result'],
  ],
  [
    "our own messages beside those of OpenAI's chat",
    [
      { role: 'user', origin: 'host', kind: 'note', content: [{ ...image }] },
      { role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://a.b/c.png' } }] },
    ],
    ['image', 'image'],
  ],
]

describe('append without a format', () => {
  it.each(shapes)('[T44] reads %s', async (_name, messages, types) => {
    expect(await typesOf(messages)).toEqual(types)
  })

  it.each(formatNames)('[T44] reads what is written in %s, or refuses it', (format) =>
    fc.assert(
      fc.asyncProperty(conversationOf(format), async (messages) => {
        const told = await typesOf(messages, format)
        try {
          expect(await typesOf(messages)).toEqual(told)
        } catch (error) {
          if (!OrielError.is(error, 'invalid-input')) throw error
          expect(error.path).toMatch(/^messages\[\d+\]/)
          expect(error.message).toContain('format')
        }
      }),
      { numRuns: 100 },
    ),
  )

  it.each(formatNames)('[T44] [Y1] finds a resent history in %s again', (format) =>
    fc.assert(
      fc.asyncProperty(conversationOf(format), async (messages) => {
        const thread = await open()
        try {
          await thread.sync(messages)
          expect(await thread.sync(messages)).toMatchObject({ appended: 0, isForked: false })
          expect(await typesIn(thread)).toEqual(await typesIn(await synced(messages, format)))
        } catch (error) {
          if (!OrielError.is(error, 'invalid-input')) throw error
          expect(error.path).toMatch(/^history\[\d+\]/)
        }
      }),
      { numRuns: 50 },
    ),
  )

  it.each([
    [
      'a part that nobody knows',
      [{ role: 'user', content: [{ type: 'hologram' }] }],
      'messages[0].content[0].type',
    ],
    [
      'parts of two formats in one message',
      [
        {
          role: 'user',
          content: [
            { type: 'image_url', image_url: { url: 'https://a.b/c.png' } },
            { type: 'tool_result', tool_use_id: 'c1', content: 'x' },
          ],
        },
      ],
      'messages[0]',
    ],
    [
      'messages of two formats',
      [
        { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'a', input: {} }] },
        { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'c1', output: {} }] },
      ],
      'messages[1]',
    ],
  ])('[T44] refuses %s, and keeps nothing', async (_name, messages, path) => {
    const thread = await open()
    await expect(thread.append(messages)).rejects.toMatchObject({ code: 'invalid-input', path })
    expect(await thread.log()).toEqual([])
  })

  it('[T44] names the place of a wrong message behind messages of another form', async () => {
    const thread = await open()
    const calls = [{ id: 'c1', type: 'function', function: { name: 'a', arguments: '{}' } }]
    const messages = [
      { role: 'assistant', tool_calls: calls },
      { role: 'user', origin: 'host', content: 'note' },
      { role: 'user', origin: 'host', content: 7 },
    ]
    await expect(thread.append(messages)).rejects.toMatchObject({ path: 'messages[2].content' })
  })

  it('[T44] [T1] appends a message once, by the id that it came with', async () => {
    const thread = await open()
    const message = {
      id: 'mine',
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'c1', content: 'found' },
        { type: 'text', text: 'and?' },
      ],
    }
    await thread.append(message)
    await thread.append(message)
    expect(await typesIn(thread)).toEqual(['tool-result', 'text'])
  })

  it('[T44] refuses our own blocks in a history that a client resends', async () => {
    const thread = await open()
    const call = { type: 'tool-call', callId: 'c1', name: 'a', arguments: '{}' }
    const history = [{ role: 'assistant', content: [call] }]
    await expect(thread.sync(history)).rejects.toMatchObject({ path: 'history[0]' })
  })
})

async function synced(messages: readonly unknown[], format: FormatName): Promise<Thread> {
  const thread = await open()
  await thread.sync(messages, { format })
  return thread
}

describe("Oriel's own fields in `append`", () => {
  const long = 'a long line of output '.repeat(40)
  const call = {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'c', type: 'function', function: { name: 'look', arguments: '{}' } }],
  }
  const own = {
    expiry: { after: 0, mode: 'compact', length: 40 },
    kind: 'search',
    meta: { a: 1 },
    audience: { person: false },
  }
  const result = { role: 'tool', tool_call_id: 'c', content: long }
  const appended = async (options: object) => {
    const thread = await open()
    await thread.append([{ role: 'user', content: 'go' }, call, { ...result, ...own }], options)
    return thread
  }

  it.each([
    ['with the format', { format: 'openai-chat' }],
    ['without it', {}],
  ])('[DB9] %s, they act and are not sent', async (_, options) => {
    const thread = await appended(options)
    const { messages } = await thread.view()
    expect(messages[2]).toEqual(result)
    const [entry] = (await thread.log()).filter(({ type }) => type === 'message').slice(2)
    expect(entry).toMatchObject(own)
    await thread.append({ role: 'assistant', content: 'seen' })
    const later = await thread.view<{ content: string }>()
    expect(later.messages[2]?.content).toContain('[Compacted: showing first')
  })

  it('[DB9] what a provider wrote under the same names stays its own', async () => {
    const thread = await appended({ format: 'openai-chat', ownFields: false })
    const { messages } = await thread.view()
    expect(messages[2]).toEqual({ ...result, ...own })
  })

  it.each(formatNames)('[DB9] parts of %s have lifetimes', async (format) => {
    const part = { type: 'text', text: 'screen', lifetime: { turns: 0 } }
    const said =
      format === 'gemini'
        ? { role: 'user', parts: [{ text: 'look' }, { text: 'screen', lifetime: { turns: 0 } }] }
        : format === 'openai-responses'
          ? { role: 'user', content: [{ ...part, type: 'input_text' }] }
          : { role: 'user', content: [{ type: 'text', text: 'look' }, part] }
    const thread = await open()
    await thread.append(said, { format })
    const { messages } = await thread.view({ format })
    expect(JSON.stringify(messages)).toContain('screen')
    expect(JSON.stringify(messages)).not.toContain('lifetime')
    const log = await thread.log()
    const blocks = log.flatMap((entry) => (entry.type === 'message' ? entry.blocks : []))
    expect(blocks.at(-1)?.lifetime).toEqual({ turns: 0 })
  })
})

describe('fields in the wrong place', () => {
  const text = { type: 'text', text: 'x' }
  const user = (more: object) => ({ role: 'user', content: 'x', ...more })
  const block = (more: object) => ({ role: 'user', content: [{ ...text, ...more }] })

  it.each<[string, object, string]>([
    ['a lifetime of a message', user({ lifetime: { newer: 1 } }), 'lifetime'],
    ["another system's metadata", user({ metadata: { turnAdded: 1 } }), 'metadata'],
    ['a misspelt expiry', user({ expirey: { after: 1, mode: 'remove' } }), 'expirey'],
    ['a misspelt origin', user({ orgin: 'host' }), 'orgin'],
    ['blocks', { role: 'user', blocks: [] }, 'blocks'],
    ['text', user({ text: 'y' }), 'text'],
    ['a position', user({ seq: 4 }), 'seq'],
    ['a turn', user({ turn: 4 }), 'turn'],
    ['an error flag of a message', user({ isError: true }), 'isError'],
    ['an expiry of a block', block({ expiry: { after: 1, mode: 'remove' } }), 'content[0].expiry'],
    ['a kind of a block', block({ kind: 'note' }), 'content[0].kind'],
    ['data of a block', block({ meta: 1 }), 'content[0].meta'],
    ['a misspelt lifetime', block({ lifetme: { newer: 1 } }), 'content[0].lifetme'],
    ['an audience that nobody is', user({ audience: { agent: false } }), 'audience.agent'],
    [
      'a misspelt flag',
      {
        role: 'tool',
        content: [{ type: 'tool-result', callId: 'c', content: 'r', isEror: true }],
      },
      'content[0].isEror',
    ],
  ])('[MT2] %s is refused with its path, and nothing is written', async (_, message, path) => {
    const thread = await open()
    const first = { role: 'user', content: 'go' }
    await expect(thread.append([first, message])).rejects.toMatchObject({
      code: 'invalid-input',
      path: `messages[1].${path}`,
    })
    expect(await thread.log()).toEqual([])
  })

  it.each(formatNames)(
    '[MT2] what is no message of %s is refused with its path',
    async (format) => {
      for (const message of [null, 5, 'x', {}, [], { role: 'nobody', content: 'x' }]) {
        const thread = await open()
        await expect(thread.append([message], { format })).rejects.toMatchObject({
          code: 'invalid-input',
          path: expect.stringMatching(/^messages\[0\]/),
        })
        expect(await thread.log()).toEqual([])
      }
    },
  )

  it('[T44] fields that only a format has make a message one of that format, and are kept', async () => {
    const thread = await open()
    const said = { role: 'user', content: 'hi', name: 'bob' }
    const answer = { role: 'assistant', content: 'hello', refusal: null, annotations: [] }
    const marked = { role: 'user', content: [{ ...text, cache_control: { type: 'ephemeral' } }] }
    await thread.append([said, answer, marked])
    expect((await thread.view()).messages).toEqual([said, answer, marked])
  })
})
