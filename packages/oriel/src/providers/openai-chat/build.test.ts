import { describe, expect, test } from 'vitest'
import type { Block } from '../../core/log/block.ts'
import type { JsonObject } from '../../core/log/json.ts'
import type { Material } from '../foreign.ts'
import { buildChatMessages, wireName } from './build.ts'

/** What a message of another format gives: no fields of ours. */
const foreign = { isOwn: false, extra: {} }

function functionCall(id: string, fields: JsonObject = {}): JsonObject {
  return { id, type: 'function', function: { name: 'search', arguments: '{}', ...fields } }
}

function call(callId: string, extra?: JsonObject): Block {
  return {
    type: 'tool-call',
    callId,
    name: 'search',
    arguments: '{}',
    ...(extra === undefined ? {} : { extra }),
  }
}

describe('messages of another format', () => {
  const made: Material = {
    ...foreign,
    role: 'assistant',
    blocks: [
      { type: 'reasoning', text: 'Hmm.', signature: 'c2ln' },
      { type: 'text', text: 'One.', extra: { citations: [] } },
      { type: 'tool-call', callId: 'a', name: 'search', arguments: '{}', extra: { caller: {} } },
      { type: 'opaque', format: 'anthropic', value: { type: 'server_tool_use' } },
      { type: 'text', text: 'Two.' },
      { type: 'image', mediaType: 'image/png', data: 'AAAA' },
    ],
  }

  test('what another format made leaves its own fields, reasoning and unknown blocks there', () => {
    expect(buildChatMessages(made)).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'One.' },
          { type: 'text', text: 'Two.' },
        ],
        tool_calls: [functionCall('a')],
      },
    ])
  })

  test('several results in one message are several messages', () => {
    const made: Material = {
      ...foreign,
      role: 'tool',
      blocks: [
        { type: 'tool-result', callId: 'a', content: 'done', isError: true },
        {
          type: 'tool-result',
          callId: 'b',
          content: [
            { type: 'text', text: 'seen' },
            { type: 'image', mediaType: 'image/png', data: 'AAAA' },
          ],
        },
        { type: 'tool-result', callId: 'c', content: [{ type: 'text', text: 'one' }] },
      ],
    }
    expect(buildChatMessages(made)).toEqual([
      { role: 'tool', tool_call_id: 'a', content: 'done' },
      {
        role: 'tool',
        tool_call_id: 'b',
        content: [
          { type: 'text', text: 'seen' },
          { type: 'text', text: '[image image/png]' },
        ],
      },
      { role: 'tool', tool_call_id: 'c', content: 'one' },
    ])
  })

  test('pictures and files of a user go on in this format, addresses of files as text', () => {
    const made: Material = {
      ...foreign,
      role: 'user',
      blocks: [
        { type: 'image', mediaType: 'image/png', data: 'AAAA' },
        { type: 'image', url: 'https://example.com/a.png' },
        { type: 'file', mediaType: 'application/pdf', name: 'a.pdf', data: 'AAAA' },
        { type: 'file', mediaType: 'application/pdf', url: 'https://example.com/a.pdf' },
      ],
    }
    expect(buildChatMessages(made)).toEqual([
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
          {
            type: 'file',
            file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' },
          },
          { type: 'text', text: '[file application/pdf https://example.com/a.pdf]' },
        ],
      },
    ])
  })

  test("other blocks in a tool message go on as the user's, behind the results", () => {
    const blocks: Block[] = [
      { type: 'text', text: 'And now?' },
      { type: 'tool-result', callId: 'a', content: 'done' },
    ]
    const sent = [
      { role: 'tool', tool_call_id: 'a', content: 'done' },
      { role: 'user', content: 'And now?' },
    ]
    expect(buildChatMessages({ ...foreign, role: 'tool', blocks })).toEqual(sent)
    expect(buildChatMessages({ ...foreign, role: 'user', blocks })).toEqual(sent)
  })

  test('several texts are parts, one is a string, none is an empty string', () => {
    const text: Block = { type: 'text', text: 'a' }
    const content = (blocks: readonly Block[]) =>
      buildChatMessages({ ...foreign, role: 'user', blocks }).map((message) => message.content)
    expect(content([])).toEqual([''])
    expect(content([text])).toEqual(['a'])
    expect(content([text, text])).toEqual([
      [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'a' },
      ],
    ])
  })

  test('unknown blocks of this format stay, also in a message of no format', () => {
    const blocks: Block[] = [{ type: 'opaque', format: 'openai-chat', value: { type: 'hologram' } }]
    expect(buildChatMessages({ ...foreign, role: 'user', blocks })).toEqual([
      { role: 'user', content: [{ type: 'hologram' }] },
    ])
  })
})

describe('calls', () => {
  const own = { role: 'assistant', isOwn: true, extra: {} } as const

  test('[O3] a wire id stands in for the call id, by position', () => {
    const made: Material = {
      ...own,
      blocks: [{ type: 'text', text: 'Look.' }, call('a'), call('b')],
      wireIds: new Map([[2, 'wire']]),
    }
    expect(buildChatMessages(made)).toEqual([
      {
        role: 'assistant',
        content: 'Look.',
        tool_calls: [functionCall('a'), functionCall('wire')],
      },
    ])
  })

  test('fields of a call come back only to this format', () => {
    const blocks = [call('a', { index: 0, function: { strict: true } })]
    expect(buildChatMessages({ ...own, blocks })).toEqual([
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ ...functionCall('a', { strict: true }), index: 0 }],
      },
    ])
    expect(buildChatMessages({ ...own, isOwn: false, blocks })).toEqual([
      { role: 'assistant', content: null, tool_calls: [functionCall('a')] },
    ])
  })

  test('a deprecated call is built in either form', () => {
    const blocks = [call('function_call:search', { type: 'function_call' })]
    const called = { name: 'search', arguments: '{}' }
    expect(buildChatMessages({ ...own, blocks })).toEqual([
      { role: 'assistant', content: null, function_call: called },
    ])
    expect(buildChatMessages({ ...own, blocks }, { isLegacy: false })).toEqual([
      { role: 'assistant', content: null, tool_calls: [functionCall('function_call:search')] },
    ])
  })

  test('a deprecated result is built in either form', () => {
    const blocks: Block[] = [
      { type: 'tool-result', callId: 'function_call:search', name: 'search', content: 'done' },
    ]
    const made: Material = {
      role: 'tool',
      isOwn: true,
      blocks,
      extra: { role: 'function', name: 'search', x: 1 },
    }
    expect(buildChatMessages(made)).toEqual([
      { role: 'function', name: 'search', content: 'done', x: 1 },
    ])
    expect(buildChatMessages(made, { isLegacy: false })).toEqual([
      { role: 'tool', tool_call_id: 'function_call:search', content: 'done', x: 1 },
    ])
  })

  test('[O5] a name that the provider would refuse is made acceptable', () => {
    expect(wireName('read_file-2')).toBe('read_file-2')
    expect(wireName('fs.read file')).toBe('fs_read_file')
    expect(wireName('n'.repeat(70))).toBe('n'.repeat(64))
    expect(wireName('')).toBe('unknown')
  })
})
