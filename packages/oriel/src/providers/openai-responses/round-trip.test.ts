import { describe, expect, test } from 'vitest'
import type { Block } from '../../core/log/block.ts'
import type { Draft, MessageEntry } from '../../core/log/entry.ts'
import { type Json, type JsonObject, setField } from '../../core/log/json.ts'
import { prepare } from '../../core/log/prepare.ts'
import { State } from '../../core/state/state.ts'
import type { ViewMessage } from '../../core/view/view.ts'
import { openaiResponses } from './index.ts'

const counter = { name: 'length', count: (text: string) => text.length }

function draftsOf(items: readonly unknown[]): readonly Draft[] {
  return openaiResponses.decode(items, 'input').map(({ draft }) => draft)
}

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
  return openaiResponses.encode(view).messages
}

function roundTrip(items: readonly unknown[]): readonly Json[] {
  return encode(viewOf(draftsOf(items)))
}

const user = { role: 'user', content: 'Hello' }

function call(id: string, fields: JsonObject = {}): JsonObject {
  return { type: 'function_call', call_id: id, name: 'search', arguments: '{}', ...fields }
}

function output(id: string, fields: JsonObject = {}): JsonObject {
  return { type: 'function_call_output', call_id: id, output: 'done', ...fields }
}

function said(text: string, fields: JsonObject = {}): JsonObject {
  const part = { type: 'output_text', text, annotations: [], logprobs: [] }
  return { type: 'message', role: 'assistant', content: [part], ...fields }
}

function reasoning(id: string, fields: JsonObject = {}): JsonObject {
  return { type: 'reasoning', id, summary: [{ type: 'summary_text', text: 'Hmm.' }], ...fields }
}

function withProto(fields: Record<string, Json>): JsonObject {
  setField(fields, '__proto__', { polluted: true })
  return fields
}

/** Lists that come back exactly, without anything kept beside the blocks. */
const plainShapes: Record<string, Json[]> = {
  'a short message': [user],
  'a whole message': [{ type: 'message', id: 'msg_1', status: 'completed', ...user }],
  'parts of a message': [
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'a', x: 1 },
        { type: 'input_image', image_url: 'https://example.com/a.png', detail: 'auto' },
        {
          type: 'input_image',
          image_url: 'data:image/png;base64,AAAA',
          file_id: null,
          detail: 'low',
        },
        { type: 'input_image', image_url: null, file_id: 'file-1', detail: 'low' },
        { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' },
        { type: 'input_file', file_url: 'https://example.com/a.pdf' },
        { type: 'input_file', file_id: 'file-1' },
        { type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } },
      ],
    },
  ],
  'one part': [{ role: 'user', content: [{ type: 'input_text', text: 'a' }] }],
  'system and developer': [
    { role: 'system', content: 'a' },
    { role: 'developer', content: [{ type: 'input_text', text: 'b' }], type: 'message' },
  ],
  'an answer in short form': [user, { role: 'assistant', content: 'Hi' }],
  'an empty answer': [{ role: 'assistant', content: '' }],
  'two answers in a row': [
    { role: 'assistant', content: 'One.', phase: 'commentary' },
    { role: 'assistant', content: 'Two.', phase: 'final_answer' },
  ],
  'an answer as the provider gives it': [said('Hi', { id: 'msg_1', status: 'completed' })],
  'an answer in several parts': [
    {
      type: 'message',
      role: 'assistant',
      id: 'msg_1',
      content: [
        {
          type: 'output_text',
          text: 'a',
          annotations: [{ type: 'url_citation', url: 'https://example.com' }],
        },
        { type: 'refusal', refusal: 'No.' },
        { type: 'output_smell', smell: 'rose' },
      ],
    },
    said('b'),
  ],
  'an answer that begins with a part of the future': [
    {
      role: 'assistant',
      content: [
        { type: 'output_smell', smell: 'rose' },
        { type: 'output_text', text: 'a' },
      ],
    },
  ],
  'reasoning, words, calls, outputs': [
    user,
    reasoning('rs_1', { encrypted_content: 'c2ln', status: null }),
    said('Look.', { id: 'msg_1', status: 'completed' }),
    call('a', { id: 'fc_1', status: 'completed' }),
    call('b', { id: 'fc_2', namespace: 'tools' }),
    output('b', { id: 'fco_1', status: 'completed' }),
    output('a'),
    said('Done.', { id: 'msg_2' }),
  ],
  'reasoning in many forms': [
    reasoning('rs_1', { summary: [] }),
    reasoning('rs_2', { summary: [], encrypted_content: null }),
    reasoning('rs_3', { summary: [], content: [{ type: 'reasoning_text', text: 'Hmm.' }] }),
    reasoning('rs_4', {
      summary: [
        { type: 'summary_text', text: 'a' },
        { type: 'summary_text', text: 'b' },
      ],
    }),
    reasoning('rs_5', { summary: [{ type: 'summary_text', text: 'a', x: 1 }] }),
    reasoning('rs_6', { summary: [{ type: 'summary_text', text: '' }] }),
    said('Hi'),
  ],
  'reasoning without an id': [
    { type: 'reasoning', summary: [], encrypted_content: 'c2ln' },
    said('Hi'),
  ],
  'hosted calls between reasoning': [
    reasoning('rs_1'),
    {
      type: 'web_search_call',
      id: 'ws_1',
      status: 'completed',
      action: { type: 'search', query: 'q' },
    },
    reasoning('rs_2'),
    said('Hi', { id: 'msg_1' }),
  ],
  'a hosted call with its output': [
    { type: 'computer_call', id: 'cu_1', call_id: 'c', action: { type: 'screenshot' } },
    {
      type: 'computer_call_output',
      call_id: 'c',
      output: { type: 'computer_screenshot', image_url: 'data:x,' },
    },
    said('Hi'),
  ],
  'a call between words': [
    said('a', { id: 'msg_1' }),
    call('a'),
    said('b', { id: 'msg_2' }),
    output('a'),
  ],
  'custom calls': [
    { type: 'custom_tool_call', id: 'ctc_1', call_id: 'a', name: 'patch', input: '*** Begin' },
    { type: 'custom_tool_call_output', call_id: 'a', output: 'done' },
  ],
  'outputs in parts': [
    call('a'),
    output('a', {
      output: [
        { type: 'input_text', text: 'a' },
        { type: 'input_image', image_url: 'https://example.com/a.png' },
      ],
    }),
  ],
  'an output in one part': [
    call('a'),
    output('a', { output: [{ type: 'input_text', text: 'a' }] }),
  ],
  'a compaction and a reference': [
    { type: 'compaction', id: 'cmp_1', encrypted_content: 'c2ln' },
    user,
    { type: 'item_reference', id: 'msg_9' },
    user,
  ],
  'arguments as the model wrote them': [
    call('a', { arguments: '{ "n": 9007199254740993,' }),
    output('a', { output: 'a\u0000b' }),
  ],
  '__proto__ as a field': [
    withProto({ ...user }),
    withProto({ type: 'hologram' }),
    withProto(said('a')),
    withProto(call('a')),
    withProto(output('a')),
    withProto(reasoning('rs_1')),
    { role: 'assistant', content: [withProto({ type: 'output_text', text: 'a' })] },
  ],
}

/** Lists that the provider refuses for the shape of an item: kept in the log, sent in the nearest accepted shape. */
const refusedShapes: Record<string, [Json[], Json[]]> = {
  'a message without content': [[{ role: 'user', content: [] }], [{ role: 'user', content: '' }]],
  'an answer without content': [[said('', { content: [] })], [{ role: 'assistant', content: '' }]],
  'a part of the chat format': [
    [{ role: 'user', content: [{ type: 'text', text: 'a' }] }],
    [{ role: 'user', content: [{ type: 'input_text', text: 'a' }] }],
  ],
  'input text of the model': [
    [{ role: 'assistant', content: [{ type: 'input_text', text: 'a' }] }],
    [{ role: 'assistant', content: [{ type: 'output_text', text: 'a' }] }],
  ],
  'a picture of the model': [
    [
      {
        role: 'assistant',
        content: [{ type: 'input_image', image_url: 'data:image/png;base64,AA' }],
      },
    ],
    [{ role: 'assistant', content: '' }],
  ],
  'a part without a type': [
    [{ role: 'user', content: [{ a: 1 }] }],
    [{ role: 'user', content: '[unknown part]' }],
  ],
  'arguments that are an object': [
    [call('a', { arguments: { q: 1 } })],
    [call('a', { arguments: '{"q":1}' })],
  ],
  'an output that is an object': [
    [call('a'), output('a', { output: { ok: true } })],
    [call('a'), output('a', { output: '{"ok":true}' })],
  ],
  'reasoning without a summary': [
    [{ type: 'reasoning', id: 'rs_1', encrypted_content: 'c2ln' }, said('a')],
    [{ type: 'reasoning', id: 'rs_1', encrypted_content: 'c2ln', summary: [] }, said('a')],
  ],
}

describe('round trip', () => {
  test.each(Object.entries(plainShapes))(
    '%s: comes back exactly, from blocks alone',
    (_, items) => {
      const drafts = draftsOf(items)
      expect(drafts.filter(({ native }) => native !== undefined)).toEqual([])
      expect(JSON.stringify(sorted(encode(viewOf(drafts))))).toBe(JSON.stringify(sorted(items)))
    },
  )

  test.each(Object.entries(refusedShapes))(
    '%s: kept as it came, sent as accepted',
    (_, [items, sent]) => {
      const natives: readonly unknown[] = draftsOf(items).flatMap(
        ({ native }) => native?.value ?? [],
      )
      expect(natives.length).toBeGreaterThan(0)
      expect(items).toEqual(expect.arrayContaining([...natives]))
      expect(roundTrip(items)).toEqual(sent)
      expect(openaiResponses.validate(sent).filter(({ rule }) => rule !== 'R1')).toEqual([])
    },
  )

  test('an original that is accepted comes back whole, whatever its blocks say', () => {
    const items = [{ role: 'user', content: [{ type: 'input_image', detail: 'auto' }] }]
    expect(draftsOf(items)[0]?.native).toEqual({ format: 'openai-responses', value: items })
    expect(roundTrip(items)).toEqual(items)
  })

  test('lone surrogates stay in the log and are replaced on the wire', () => {
    const items = [{ role: 'user', content: 'a\ud800' }, call('a', { id: '\udc00' })]
    expect(draftsOf(items)).toMatchObject([
      { content: [{ text: 'a\ud800' }] },
      { content: [{ extra: { id: '\udc00' } }] },
    ])
    expect(roundTrip(items)).toEqual([
      { role: 'user', content: 'a\ufffd' },
      call('a', { id: '\ufffd' }),
    ])
  })
})

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
