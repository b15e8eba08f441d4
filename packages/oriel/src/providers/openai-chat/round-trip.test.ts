import { describe, expect, test } from 'vitest'
import type { Block } from '../../core/log/block.ts'
import type { Draft, MessageEntry } from '../../core/log/entry.ts'
import { type Json, setField } from '../../core/log/json.ts'
import { prepare } from '../../core/log/prepare.ts'
import { State } from '../../core/state/state.ts'
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

function roundTrip(messages: readonly unknown[]): readonly Json[] {
  return encode(viewOf(draftsOf(messages)))
}

function functionCall(id: string, text = '{}'): Json {
  return { id, type: 'function', function: { name: 'search', arguments: text } }
}

function withProto(fields: Record<string, Json>): Json {
  setField(fields, '__proto__', { polluted: true })
  return fields
}

/** Shapes that come back exactly, without anything kept beside the blocks. */
const plainShapes: Record<string, Json> = {
  'a system text': { role: 'system', content: 'Be brief.' },
  'a developer text': { role: 'developer', content: 'Be brief.', name: 'ops' },
  'system parts': {
    role: 'system',
    content: [
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b' },
    ],
  },
  'a user text': { role: 'user', content: 'Hello' },
  'an empty user text': { role: 'user', content: '' },
  'a named user': { role: 'user', content: 'Hello', name: 'bob' },
  'one part': { role: 'user', content: [{ type: 'text', text: 'Hello' }] },
  'a part with a cache marker': {
    role: 'user',
    content: [{ type: 'text', text: 'Hello', cache_control: { type: 'ephemeral' } }],
  },
  'an image by address': {
    role: 'user',
    content: [
      { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'low' }, x: 1 },
    ],
  },
  'an image as data': {
    role: 'user',
    content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0=' } }],
  },
  'an image as data with parameters': {
    role: 'user',
    content: [{ type: 'image_url', image_url: { url: 'data:image/svg+xml;charset=utf-8,<svg/>' } }],
  },
  'a file as data': {
    role: 'user',
    content: [
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' } },
    ],
  },
  'a file as bare base64': {
    role: 'user',
    content: [{ type: 'file', file: { file_data: 'AAAA' } }],
  },
  'a file by id': { role: 'user', content: [{ type: 'file', file: { file_id: 'file-1' } }] },
  'a file with null fields': {
    role: 'user',
    content: [{ type: 'file', file: { file_id: 'file-1', filename: null, file_data: null } }],
  },
  audio: {
    role: 'user',
    content: [{ type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } }],
  },
  'a part of the future': {
    role: 'user',
    content: [
      { type: 'text', text: 'a' },
      { type: 'hologram', cube: [1] },
    ],
  },
  'an assistant text': { role: 'assistant', content: 'Hi' },
  'an empty assistant text': { role: 'assistant', content: '' },
  'assistant parts': { role: 'assistant', content: [{ type: 'text', text: 'a' }] },
  'a refusal part': {
    role: 'assistant',
    content: [
      { type: 'text', text: 'a' },
      { type: 'refusal', refusal: 'No.' },
    ],
  },
  'what an SDK returns': {
    role: 'assistant',
    content: 'Hi',
    refusal: null,
    annotations: [],
    audio: null,
    function_call: null,
  },
  annotations: {
    role: 'assistant',
    content: 'Hi',
    annotations: [
      { type: 'url_citation', url_citation: { url: 'https://example.com', start_index: 0 } },
    ],
  },
  'a call and null': { role: 'assistant', content: null, tool_calls: [functionCall('a')] },
  'a call and an empty text': { role: 'assistant', content: '', tool_calls: [functionCall('a')] },
  'calls and text': {
    role: 'assistant',
    content: 'Look.',
    tool_calls: [functionCall('a'), functionCall('b')],
  },
  'calls of an SDK': {
    role: 'assistant',
    content: null,
    refusal: null,
    annotations: [],
    tool_calls: [functionCall('a')],
  },
  'arguments that are no JSON': {
    role: 'assistant',
    content: null,
    tool_calls: [functionCall('a', '{"a": tru')],
  },
  'arguments with a huge number': {
    role: 'assistant',
    content: null,
    tool_calls: [functionCall('a', '{ "n": 9007199254740993, "m": 1.0 }')],
  },
  'fields on a call and in its function': {
    role: 'assistant',
    content: null,
    tool_calls: [
      {
        id: 'a',
        type: 'function',
        index: 0,
        extra_content: { google: { thought_signature: 'c2ln' } },
        function: { name: 'search', arguments: '{}', strict: true },
      },
    ],
  },
  'a custom call': {
    role: 'assistant',
    content: null,
    tool_calls: [
      { id: 'a', type: 'custom', custom: { name: 'patch', input: '*** Begin', x: 1 }, y: 2 },
    ],
  },
  'a call of the future': {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'a', type: 'teleport', teleport: { to: 'Oslo' } }],
  },
  'thinking in its own field': {
    role: 'assistant',
    reasoning_content: 'Hmm.',
    content: 'Hi',
    tool_calls: [functionCall('a')],
  },
  'empty thinking': { role: 'assistant', reasoning_content: '', content: 'Hi' },
  'null thinking': { role: 'assistant', reasoning_content: null, content: 'Hi' },
  'thinking details': {
    role: 'assistant',
    content: 'Hi',
    reasoning: 'Hmm.',
    reasoning_details: [{ type: 'reasoning.encrypted', data: 'c2ln' }],
  },
  'a deprecated call': {
    role: 'assistant',
    content: null,
    function_call: { name: 'search', arguments: '{}', x: 1 },
  },
  'a result': { role: 'tool', tool_call_id: 'a', content: 'done' },
  'an empty result': { role: 'tool', tool_call_id: 'a', content: '' },
  'a named result': { role: 'tool', tool_call_id: 'a', content: 'done', name: 'search' },
  'a result in parts': {
    role: 'tool',
    tool_call_id: 'a',
    content: [
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b', x: 1 },
    ],
  },
  'a deprecated result': { role: 'function', name: 'search', content: 'done' },
  'NUL and other control characters': { role: 'user', content: 'a\u0000b\u001f\u2028' },
  '__proto__ as a field': withProto({ role: 'user', content: 'a' }),
  '__proto__ as a field of a part': {
    role: 'user',
    content: [withProto({ type: 'text', text: 'a' })],
  },
  '__proto__ as a field of an unknown part': { role: 'user', content: [withProto({ type: 'x' })] },
  'constructor as a field': {
    role: 'user',
    content: 'a',
    constructor: 'c',
    toString: null,
    length: 3,
  },
}

/** Shapes that come back exactly because the original is kept. */
const nativeShapes: Record<string, Json> = {
  'a call without content': { role: 'assistant', tool_calls: [functionCall('a')] },
  'a refusal instead of content': { role: 'assistant', content: null, refusal: 'No.' },
  'audio instead of content': { role: 'assistant', audio: { id: 'audio_1', transcript: 'Hi' } },
}

/** Shapes that the provider refuses: kept in the log, sent in the nearest accepted shape. */
const refusedShapes: Record<string, [Json, Json]> = {
  'an empty list of calls': [
    { role: 'assistant', content: 'Hi', tool_calls: [] },
    { role: 'assistant', content: 'Hi' },
  ],
  'null in place of calls': [
    { role: 'assistant', content: 'Hi', tool_calls: null },
    { role: 'assistant', content: 'Hi' },
  ],
  'no content and no calls': [
    { role: 'assistant', content: null },
    { role: 'assistant', content: '' },
  ],
  'no content of a user': [{ role: 'user' }, { role: 'user', content: '' }],
  'no parts': [
    { role: 'user', content: [] },
    { role: 'user', content: '' },
  ],
  'null in place of a result': [
    { role: 'tool', tool_call_id: 'a', content: null },
    { role: 'tool', tool_call_id: 'a', content: '' },
  ],
  'arguments that are an object': [
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        { id: 'a', type: 'function', function: { name: 'search', arguments: { q: 1 } } },
      ],
    },
    { role: 'assistant', content: null, tool_calls: [functionCall('a', '{"q":1}')] },
  ],
  'a call without a type': [
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'a', function: { name: 'search', arguments: '{}' } }],
    },
    { role: 'assistant', content: null, tool_calls: [functionCall('a')] },
  ],
  'a name with other characters': [
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        { id: 'a', type: 'function', function: { name: 'fs.read file', arguments: '{}' } },
      ],
    },
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        { id: 'a', type: 'function', function: { name: 'fs_read_file', arguments: '{}' } },
      ],
    },
  ],
  'an image in a result': [
    {
      role: 'tool',
      tool_call_id: 'a',
      content: [
        { type: 'text', text: 'seen:' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
        { type: 'hologram' },
      ],
    },
    {
      role: 'tool',
      tool_call_id: 'a',
      content: [
        { type: 'text', text: 'seen:' },
        { type: 'text', text: '[image image/png]' },
        { type: 'text', text: '[hologram]' },
      ],
    },
  ],
  'a part without a type': [
    { role: 'user', content: [{ text: 'a' }] },
    { role: 'user', content: '[unknown part]' },
  ],
  'lone surrogates': [
    { role: 'user', content: 'a\ud800', x: { 'k\udfff': '\ud83d' } },
    { role: 'user', content: 'a\ufffd', x: { 'k\ufffd': '\ufffd' } },
  ],
}

describe('round trip', () => {
  test.each(Object.entries(plainShapes))(
    '%s comes back exactly, from blocks alone',
    (_, message) => {
      expect(draftOf(message).native).toBeUndefined()
      expect(JSON.stringify(sorted(roundTrip([message])))).toBe(JSON.stringify(sorted([message])))
    },
  )

  test.each(Object.entries(nativeShapes))(
    '%s comes back exactly, from the original',
    (_, message) => {
      expect(draftOf(message).native).toEqual({ format: 'openai-chat', value: [message] })
      expect(roundTrip([message])).toEqual([message])
    },
  )

  test.each(Object.entries(refusedShapes))(
    '%s is kept as it came and sent as accepted',
    (_, [message, sent]) => {
      const draft = draftOf(message)
      const kept = draft.native?.value ?? roundTripOfLog(draft)
      expect(kept).toEqual([message])
      expect(roundTrip([message])).toEqual([sent])
      expect(
        openaiChat.validate([sent]).filter(({ rule }) => rule !== 'O1' && rule !== 'O2'),
      ).toEqual([])
    },
  )

  test('one draft for each message, with its place', () => {
    const messages = [plainShapes['a user text'], plainShapes['an assistant text']]
    expect(openaiChat.decode(messages, 'messages').map(({ from, to }) => [from, to])).toEqual([
      [0, 1],
      [1, 2],
    ])
  })

  test('the input is not changed and shares nothing with the drafts', () => {
    const message = { role: 'user', content: [{ type: 'hologram', cube: [1] }], x: { y: [1] } }
    const before = structuredClone(message)
    const draft = draftOf(message)
    message.x.y.push(2)
    ;(message.content[0] as { cube: number[] }).cube.push(2)
    expect(draft.extra).toEqual(before.x === undefined ? {} : { x: before.x })
    expect(draft.content).toEqual([
      { type: 'opaque', format: 'openai-chat', value: before.content[0] },
    ])
  })
})

/** Where no original was kept, the blocks and extra fields hold it, lone surrogates included. */
function roundTripOfLog(draft: Draft): Json {
  const [block] = draft.content as readonly [Block & { type: 'text' }]
  return [{ role: draft.role, content: block.text, ...draft.extra }]
}

/** Keys in one order, so that whole texts can be compared: `toEqual` does not look at `__proto__`. */
function sorted(value: Json | undefined): Json {
  if (typeof value !== 'object' || value === null) return value ?? null
  if (Array.isArray(value)) return value.map(sorted)
  const result: Record<string, Json> = {}
  for (const [key, field] of Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) {
    setField(result, key, sorted(field))
  }
  return result
}
