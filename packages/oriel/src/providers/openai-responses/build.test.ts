import { describe, expect, test } from 'vitest'
import type { Block } from '../../core/log/block.ts'
import type { JsonObject } from '../../core/log/json.ts'
import type { Material } from '../foreign.ts'
import { buildItems } from './build.ts'

/** What a message of another format gives: no fields of ours. */
const foreign = { isOwn: false, extra: {} }

function call(id: string, fields: JsonObject = {}): JsonObject {
  return { type: 'function_call', call_id: id, name: 'search', arguments: '{}', ...fields }
}

function output(id: string, fields: JsonObject = {}): JsonObject {
  return { type: 'function_call_output', call_id: id, output: 'done', ...fields }
}

describe('messages of another format', () => {
  test('what another format made: words first, then calls, nothing of its own', () => {
    const made: Material = {
      ...foreign,
      role: 'assistant',
      blocks: [
        { type: 'reasoning', text: 'Hmm.' },
        {
          type: 'tool-call',
          callId: 'a',
          name: 'fs.read',
          arguments: '{}',
          extra: { type: 'custom' },
        },
        { type: 'text', text: 'One.', extra: { type: 'text' } },
        { type: 'opaque', format: 'openai-chat', value: { type: 'hologram' } },
        { type: 'image', mediaType: 'image/png', data: 'AAAA' },
      ],
    }
    expect(buildItems(made)).toEqual([
      { role: 'assistant', content: 'One.' },
      call('a', { name: 'fs_read' }),
    ])
  })

  test('results of another format: one item each, pictures and files included', () => {
    const made: Material = {
      ...foreign,
      role: 'tool',
      blocks: [
        { type: 'tool-result', callId: 'a', content: [{ type: 'text', text: 'one' }] },
        {
          type: 'tool-result',
          callId: 'b',
          content: [
            { type: 'image', mediaType: 'image/png', data: 'AAAA' },
            { type: 'file', name: 'a.pdf', mediaType: 'application/pdf', data: 'AAAA' },
          ],
        },
      ],
    }
    expect(buildItems(made)).toEqual([
      output('a', { output: 'one' }),
      output('b', {
        output: [
          { type: 'input_image', image_url: 'data:image/png;base64,AAAA' },
          { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' },
        ],
      }),
    ])
  })

  test('a message with nothing to send is an empty text', () => {
    const blocks: Block[] = [{ type: 'reasoning', text: 'Hmm.' }]
    expect(buildItems({ ...foreign, role: 'assistant', blocks })).toEqual([
      { role: 'assistant', content: '' },
    ])
    expect(buildItems({ ...foreign, role: 'user', blocks: [] })).toEqual([
      { role: 'user', content: '' },
    ])
  })

  test('several texts are parts of their side', () => {
    const blocks: Block[] = [
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b' },
    ]
    const parts = (type: string) => [
      { type, text: 'a' },
      { type, text: 'b' },
    ]
    expect(buildItems({ ...foreign, role: 'user', blocks })).toEqual([
      { role: 'user', content: parts('input_text') },
    ])
    expect(buildItems({ ...foreign, role: 'assistant', blocks })).toEqual([
      { role: 'assistant', content: parts('output_text') },
    ])
  })

  test("other blocks in a tool message go on as the user's, behind the outputs", () => {
    const blocks: Block[] = [
      { type: 'text', text: 'And now?' },
      { type: 'tool-result', callId: 'a', content: 'done' },
    ]
    const sent = [output('a'), { role: 'user', content: 'And now?' }]
    expect(buildItems({ ...foreign, role: 'tool', blocks })).toEqual(sent)
    expect(buildItems({ ...foreign, role: 'user', blocks })).toEqual(sent)
  })

  test('an unknown block of this format is left out of a run that it did not come in', () => {
    const opaque: Block = {
      type: 'opaque',
      format: 'openai-responses',
      value: { type: 'web_search_call' },
    }
    const blocks: Block[] = [opaque, { type: 'text', text: 'a' }]
    expect(buildItems({ ...foreign, role: 'assistant', blocks })).toEqual([
      { role: 'assistant', content: 'a' },
    ])
  })
})

test('a text that lost its place goes on in the message before it, or in one of its own', () => {
  const item = { type: 'message', role: 'assistant', id: 'msg_1' }
  const first: Block = { type: 'text', text: 'a', extra: { item, type: 'output_text' } }
  const lost: Block = { type: 'text', text: '[Omitted]' }
  const own = { role: 'assistant', isOwn: true, extra: {} } as const
  expect(buildItems({ ...own, blocks: [first, lost] })).toEqual([
    {
      ...item,
      content: [
        { type: 'output_text', text: 'a' },
        { type: 'output_text', text: '[Omitted]' },
      ],
    },
  ])
  expect(buildItems({ ...own, blocks: [lost, first] })).toEqual([
    { role: 'assistant', content: '[Omitted]' },
    { ...item, content: [{ type: 'output_text', text: 'a' }] },
  ])
})
