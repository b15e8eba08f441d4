import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../core/log/json.ts'
import { parsePartialJson } from './partial-json.ts'
import { answers as anthropic } from './stream.ts'

const start = {
  type: 'message_start',
  message: {
    ...{ id: 'msg_1', model: 'claude', role: 'assistant', content: [], stop_reason: null },
    usage: { input_tokens: 9, cache_read_input_tokens: 4, output_tokens: 1 },
  },
}
const end = (reason: string): readonly JsonObject[] => [
  {
    type: 'message_delta',
    delta: { stop_reason: reason },
    usage: { output_tokens: 7, input_tokens: null },
  },
  { type: 'message_stop' },
]

function assembled(events: readonly unknown[]) {
  const stream = anthropic.stream()
  for (const event of events) stream.take(event)
  return stream
}

type Cut = (text: string) => readonly string[]

/** The events of a block. */
function eventsOf(block: JsonObject, index: number, cut: Cut): readonly JsonObject[] {
  const { text, thinking, signature, input, citations } = block
  const empty = {
    ...block,
    ...(text === undefined ? {} : { text: '' }),
    ...(thinking === undefined ? {} : { thinking: '', signature: '' }),
    ...(input === undefined ? {} : { input: {} }),
    ...(citations === undefined ? {} : { citations: [] }),
  }
  const cited = (citations ?? []) as readonly JsonObject[]
  const deltas: readonly JsonObject[] = [
    ...cut(String(text ?? '')).map((one) => ({ type: 'text_delta', text: one })),
    ...cut(String(thinking ?? '')).map((one) => ({ type: 'thinking_delta', thinking: one })),
    ...(signature === undefined ? [] : [{ type: 'signature_delta', signature }]),
    ...cited.map((citation) => ({ type: 'citations_delta', citation })),
    ...(input === undefined ? [] : ['', ...cut(JSON.stringify(input))]).map((one) => ({
      type: 'input_json_delta',
      partial_json: one,
    })),
  ]
  return [
    { type: 'content_block_start', index, content_block: empty },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]
}

const halves: Cut = (text) => [text.slice(0, 3), text.slice(3)]

const content: readonly JsonObject[] = [
  { type: 'thinking', thinking: 'Let me look.', signature: 'c2ln' },
  { type: 'redacted_thinking', data: 'c2VjcmV0' },
  { type: 'server_tool_use', id: 'srv_1', name: 'web_search', input: { query: 'x' } },
  { type: 'web_search_tool_result', tool_use_id: 'srv_1', content: [{ url: 'a' }] },
  { type: 'text', text: 'Found it.', citations: [{ url: 'a' }, { url: 'b' }] },
  { type: 'tool_use', id: 'toolu_1', name: 'look', input: { path: 'ü', deep: [{ x: 1 }] } },
  { type: 'tool_use', id: 'toolu_2', name: 'nothing', input: {} },
]
const streamed = content.map((block, index) => eventsOf(block, index, halves))

describe('a streamed message', () => {
  it('[SA3] has every kind of block as the provider gives it whole', () => {
    const stream = assembled([start, ...streamed.flat(), { type: 'ping' }, ...end('tool_use')])
    expect(stream.isOver).toBe(true)
    expect(stream.answer()).toEqual({
      messages: [{ role: 'assistant', content }],
      usage: { input_tokens: 9, cache_read_input_tokens: 4, output_tokens: 7 },
      response: { id: 'msg_1', model: 'claude', finish: 'tool_use' },
    })
  })

  it('[SA3] interleaved blocks, gaps between indexes and blocks without any are told apart', () => {
    const length = Math.max(...streamed.map((events) => events.length))
    const mixed = Array.from({ length }, (_, at) => at).flatMap((at) =>
      streamed.toReversed().flatMap((events) => events.slice(at, at + 1)),
    )
    const gaps = mixed.map((event) => ({ ...event, index: Number(event.index) * 5 + 2 }))
    expect(assembled(gaps).answer()?.messages).toEqual([{ role: 'assistant', content }])
    const bare = streamed.flat().map(({ index: _index, ...event }) => event)
    expect(assembled(bare).answer()?.messages).toEqual([{ role: 'assistant', content }])
  })

  it('[SA3] keeps a compaction, and what message_start says already', () => {
    const said = { type: 'text', text: 'Before.' }
    const events = [
      { type: 'message_start', message: { ...start.message, content: [said] } },
      {
        type: 'content_block_start',
        index: 1,
        content_block: { type: 'compaction', content: null },
      },
      {
        type: 'content_block_delta',
        index: 1,
        delta: JSON.parse('{"type":"compaction_delta","content":"All of it.","__proto__":{"x":1}}'),
      },
    ]
    const answer = JSON.stringify(assembled(events).answer()?.messages)
    expect(answer).toBe(
      '[{"role":"assistant","content":[{"type":"text","text":"Before."},{"type":"compaction","content":"All of it.","__proto__":{"x":1}}]}]',
    )
  })

  it('[SA4] is whole with its reason to stop, and over with its end', () => {
    const [reason, stop] = end('end_turn')
    const stream = assembled([start, ...(streamed[4] ?? [])])
    expect(stream.isComplete).toBe(false)
    stream.take(reason)
    expect([stream.isComplete, stream.isOver]).toEqual([true, false])
    stream.take(stop)
    expect([stream.isComplete, stream.isOver]).toEqual([true, true])
  })

  it('[SA4] that breaks off is what came, with what can be read of a call', () => {
    const begun = { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }
    const pieces = ['{"path":"ü","deep":[{"x"', ':1},{"y":"va']
    const inputs = [
      { path: 'ü', deep: [{}] },
      { path: 'ü', deep: [{ x: 1 }, {}] },
    ]
    const stream = assembled([
      start,
      { type: 'content_block_start', index: 0, content_block: begun },
    ])
    for (const [at, piece] of pieces.entries()) {
      const delta = { type: 'input_json_delta', partial_json: piece }
      stream.take({ type: 'content_block_delta', index: 0, delta })
      const [message] = stream.answer()?.messages ?? []
      expect(message).toEqual({ role: 'assistant', content: [{ ...begun, input: inputs[at] }] })
    }
    expect(stream.isComplete).toBe(false)
    expect(assembled([start]).answer()).toMatchObject({ messages: [], usage: { input_tokens: 9 } })
    expect(assembled([]).answer()).toBeUndefined()
  })

  it('[SA5] with an error is never whole', () => {
    const error = { type: 'overloaded_error', message: 'Overloaded' }
    const stream = assembled([
      start,
      ...streamed.flat(),
      { type: 'error', error },
      ...end('end_turn'),
    ])
    expect([stream.isComplete, stream.isOver, stream.error]).toEqual([false, false, error])
  })

  it('[SA4] empty answers have no message, whole or streamed', () => {
    expect(assembled([start, ...end('end_turn')]).answer()?.messages).toEqual([])
    const { usage } = start.message
    expect(anthropic.answer({ role: 'assistant', content: [], usage })?.messages).toEqual([])
    expect(anthropic.answer({ role: 'assistant', content: [] })).toBeUndefined()
  })
})

describe('any message', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 12 })
  const block = fc.oneof(
    fc.record({ type: fc.constant('text'), text }),
    fc.record({ type: fc.constant('thinking'), thinking: text, signature: fc.constant('c2ln') }),
    fc.record({ type: fc.constant('redacted_thinking'), data: text }),
    fc.record({
      type: fc.constantFrom('tool_use', 'server_tool_use', 'mcp_tool_use'),
      id: fc.constant('t'),
      name: fc.constant('look'),
      input: fc.dictionary(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 2 })),
    }),
  )

  it('[SA1] cut into pieces and assembled is whole again', () => {
    fc.assert(
      fc.property(
        fc.array(block, { minLength: 1, maxLength: 5 }),
        fc.infiniteStream(fc.nat(5)),
        (blocks, random) => {
          const cut: Cut = (whole) => {
            const list: string[] = []
            for (let at = 0; at < whole.length; ) {
              const size = random.next().value as number
              list.push(whole.slice(at, at + size))
              at += size
            }
            return list
          }
          // As it comes over the network.
          const whole = JSON.parse(JSON.stringify(blocks)) as readonly JsonObject[]
          const events = whole.flatMap((one, index) => eventsOf(one, index, cut))
          const { messages } = assembled([start, ...events, ...end('end_turn')]).answer() ?? {}
          expect(messages).toEqual([{ role: 'assistant', content: whole }])
          const body = { role: 'assistant', content: whole }
          expect(anthropic.answer(body)?.messages).toEqual([body])
        },
      ),
    )
  })

  it('[SA2] input that was cut anywhere is what the SDK reads of it', async () => {
    const entry = createRequire(import.meta.url).resolve('@anthropic-ai/sdk')
    const parser = join(dirname(entry), '_vendor/partial-json-parser/parser.mjs')
    const { partialParse } = (await import(parser)) as { partialParse: (text: string) => Json }
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ maxLength: 6 }), fc.jsonValue({ maxDepth: 3 })),
        fc.constantFrom(undefined, 1),
        fc.nat(),
        (value, indent, at) => {
          const text = JSON.stringify(value, undefined, indent)
          const cut = text.slice(0, 1 + (at % text.length))
          expect(parsePartialJson(cut)).toEqual(partialParse(cut))
        },
      ),
      { numRuns: 2000 },
    )
  })

  it('[SA4] never throws, whatever comes', () => {
    const anything = fc.jsonValue({ maxDepth: 3 })
    const delta = fc.record(
      {
        type: fc.constantFrom(
          ...['text_delta', 'thinking_delta', 'signature_delta', 'input_json_delta'],
          ...['citations_delta', 'compaction_delta', '__proto__'],
        ),
        ...{ text: anything, thinking: anything, signature: anything, citation: anything },
        partial_json: fc.oneof(fc.string(), anything),
      },
      { requiredKeys: ['type'] },
    )
    const event = fc.record(
      {
        type: fc.oneof(
          anything,
          fc.constantFrom(
            ...['message_start', 'content_block_start', 'content_block_delta', 'message_delta'],
            ...['message_stop', 'error'],
          ),
        ),
        index: fc.oneof(fc.nat(2), anything),
        content_block: anything,
        message: fc.oneof(anything, fc.record({ content: anything, usage: anything })),
        delta: fc.oneof(delta, anything),
        usage: anything,
      },
      { requiredKeys: ['type'] },
    )
    fc.assert(
      fc.property(fc.array(fc.oneof(event, anything)), (events) => {
        const stream = assembled(events)
        expect(() => JSON.stringify([stream.answer(), stream.isOver, stream.error])).not.toThrow()
      }),
    )
  })
})
