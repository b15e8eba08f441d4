import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Block } from '../core/block.ts'
import type { Draft, MessageEntry } from '../core/entry.ts'
import { OrielError } from '../core/errors.ts'
import { type Json, type JsonObject, setField } from '../core/json.ts'
import { prepare } from '../core/prepare.ts'
import { render } from '../core/render.ts'
import { repair } from '../core/repair.ts'
import { State } from '../core/state.ts'
import type { ViewMessage } from '../core/view.ts'
import type { Format } from './format.ts'
import { openaiChat } from './openai-chat.ts'
import { openaiResponses } from './openai-responses.ts'

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

function repaired(drafts: readonly Draft[], { profile }: Format): readonly ViewMessage[] {
  const state = stateOf(drafts)
  return repair(state, render(state, []), profile).messages
}

/** The view of items that make one message, with some of its blocks replaced or left out. */
function edited(items: readonly unknown[], edit: (block: Block) => Block | undefined): ViewMessage {
  const views = viewOf(draftsOf(items))
  expect(views).toHaveLength(1)
  const { entry } = views[0] as Required<ViewMessage>
  return shown(
    entry,
    entry.blocks.flatMap((block) => edit(block) ?? []),
  )
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
    [{ role: 'assistant', content: '[image image/png]' }],
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
      const settled = withoutTrailingReasoning(items)
      expect(JSON.stringify(sorted(encode(viewOf(drafts))))).toBe(JSON.stringify(sorted(settled)))
    },
  )

  test.each(Object.entries(refusedShapes))(
    '%s: kept as it came, sent as accepted',
    (_, [items, sent]) => {
      const natives = draftsOf(items).flatMap(({ native }) => native?.value ?? [])
      expect(items).toEqual(expect.arrayContaining([...natives]))
      expect(natives.length).toBeGreaterThan(0)
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

describe('a step goes back whole or without what binds it', () => {
  const step = [
    reasoning('rs_1', { encrypted_content: 'c2ln' }),
    { type: 'web_search_call', id: 'ws_1', status: 'completed' },
    said('Look.', { id: 'msg_1', status: 'completed' }),
    call('a', { id: 'fc_1', status: 'completed' }),
  ]
  const bare = [said('Look.', { status: 'completed' }), call('a', { status: 'completed' })]

  test('[R3] without its reasoning, no item keeps its id', () => {
    const view = edited(step, (block) => (block.type === 'reasoning' ? undefined : block))
    expect(encode([view])).toEqual(bare)
  })

  test('[R2] with a changed call, its reasoning is left out', () => {
    const view = edited(step, (block) =>
      block.type === 'tool-call' ? { ...block, arguments: '[]' } : block,
    )
    expect(encode([view])).toEqual([bare[0], { ...bare[1], arguments: '[]' }])
  })

  test('[R2] with another call id, its reasoning is left out', () => {
    const [view] = viewOf(draftsOf(step)) as [ViewMessage]
    expect(encode([{ ...view, wireIds: new Map([[3, 'wire']]) }])).toEqual([
      bare[0],
      { ...bare[1], call_id: 'wire' },
    ])
  })

  test('[R2] reasoning with nothing behind it is left out', () => {
    expect(roundTrip([user, reasoning('rs_1')])).toEqual([user])
    expect(roundTrip([reasoning('rs_1'), user])).toEqual([user])
    expect(roundTrip([call('a'), reasoning('rs_1'), output('a')])).toEqual([call('a'), output('a')])
  })

  test('[R2] reasoning and what it led to may have been logged one by one', () => {
    const view = viewOf([
      ...draftsOf([reasoning('rs_1')]),
      ...draftsOf([call('a', { id: 'fc_1' })]),
    ])
    expect(encode(view)).toEqual([reasoning('rs_1'), call('a', { id: 'fc_1' })])
  })

  test('[R3] a call before the reasoning of its run goes without its id', () => {
    expect(
      roundTrip([call('a', { id: 'fc_1' }), reasoning('rs_1'), said('b', { id: 'msg_1' })]),
    ).toEqual([call('a'), reasoning('rs_1'), said('b', { id: 'msg_1' })])
  })

  test('[R5] an item that is there twice has its id once, and its reasoning once', () => {
    const items = [reasoning('rs_1'), said('a', { id: 'msg_1' })]
    expect(roundTrip([...items, user, ...items])).toEqual([...items, user, said('a')])
  })

  test('a compaction stays, whatever happens to the rest', () => {
    const compaction = { type: 'compaction', id: 'cmp_1', encrypted_content: 'c2ln' }
    const view = edited([compaction, ...step], (block) =>
      block.type === 'reasoning' ? undefined : block,
    )
    expect(encode([view])).toEqual([compaction, ...bare])
  })

  test('an answer of which nothing is left is an empty text', () => {
    const view = edited([reasoning('rs_1'), said('a')], (block) =>
      block.type === 'reasoning' ? block : undefined,
    )
    expect(encode([view])).toEqual([{ role: 'assistant', content: '' }])
  })
})

describe('encode', () => {
  test('an edited text keeps the fields around it', () => {
    const view = edited(
      [{ ...user, type: 'message', id: 'msg_1' }],
      (block) => ({ ...block, text: 'H' }) as Block,
    )
    expect(encode([view])).toEqual([{ role: 'user', content: 'H', type: 'message', id: 'msg_1' }])
    const answer = edited(
      [said('long', { id: 'msg_1' })],
      (block) => ({ ...block, text: 's' }) as Block,
    )
    expect(encode([answer])).toEqual([said('s')])
  })

  test('an edited output is a text', () => {
    const parts = [{ type: 'input_text', text: 'a' }]
    const view = edited(
      [output('a', { output: parts, id: 'fco_1' })],
      (block) => ({ ...block, content: '-' }) as Block,
    )
    expect(encode([view])).toEqual([output('a', { output: '-', id: 'fco_1' })])
  })

  test('a result that Oriel wrote has the type that its call asks for', () => {
    const custom = { type: 'custom_tool_call', call_id: 'a', name: 'patch', input: 'x' }
    const sent = encode(repaired(draftsOf([custom, user]), openaiResponses))
    expect(sent).toMatchObject([custom, { type: 'custom_tool_call_output', call_id: 'a' }, user])
    expect(openaiResponses.validate(sent)).toEqual([])
  })

  test('what another format made: words first, then calls, nothing of its own', () => {
    const foreign: Draft = {
      role: 'assistant',
      source: { format: 'openai-chat' },
      extra: { refusal: null },
      content: [
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
    expect(encode(viewOf([foreign]))).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'output_text', text: 'One.' },
          { type: 'output_text', text: '[image image/png]' },
        ],
      },
      call('a', { name: 'fs_read' }),
    ])
  })

  test('results of another format: one item each, pictures and files included', () => {
    const foreign: Draft = {
      role: 'tool',
      source: { format: 'anthropic' },
      content: [
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
    expect(encode(viewOf([foreign]))).toEqual([
      output('a', { output: 'one' }),
      output('b', {
        output: [
          { type: 'input_image', image_url: 'data:image/png;base64,AAAA' },
          { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' },
        ],
      }),
    ])
  })
})

