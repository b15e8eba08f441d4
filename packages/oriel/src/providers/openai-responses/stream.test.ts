import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../core/log/json.ts'
import { answers as openaiResponses } from './stream.ts'

const response = (output: readonly JsonObject[], more: JsonObject = {}): JsonObject => ({
  id: 'resp_1',
  model: 'gpt-5',
  status: 'completed',
  output,
  ...more,
})

function assembled(events: readonly unknown[]) {
  const stream = openaiResponses.stream()
  for (const event of events) stream.take(event)
  return stream
}

/** The events of an item: it is added empty, its pieces come, it is done. */
function eventsOf(
  item: JsonObject,
  at: number,
  cut: (text: string) => readonly string[],
): readonly JsonObject[] {
  const place = { output_index: at, item_id: item.id as Json }
  const grow = (name: string, text: string, more: JsonObject = {}): readonly JsonObject[] =>
    cut(text).map((delta) => ({ type: `response.${name}.delta`, ...place, ...more, delta }))
  const added = (empty: JsonObject): JsonObject => ({
    type: 'response.output_item.added',
    output_index: at,
    item: { ...item, ...empty },
  })
  const parts = (item.content ?? item.summary ?? []) as readonly JsonObject[]
  switch (item.type) {
    case 'function_call':
      return [added({ arguments: '' }), ...grow('function_call_arguments', String(item.arguments))]
    case 'custom_tool_call':
      return [added({ input: '' }), ...grow('custom_tool_call_input', String(item.input))]
    case 'reasoning':
      return [
        added({ summary: [] }),
        ...parts.flatMap((part, index) => [
          {
            type: 'response.reasoning_summary_part.added',
            ...place,
            summary_index: index,
            part: { ...part, text: '' },
          },
          ...grow('reasoning_summary_text', String(part.text), { summary_index: index }),
        ]),
      ]
    default:
      return [
        added({ content: [] }),
        ...parts.flatMap((part, index) => {
          const key = part.type === 'refusal' ? 'refusal' : 'text'
          const annotations = (part.annotations ?? []) as readonly JsonObject[]
          const where = { ...place, content_index: index }
          const empty = { ...part, [key]: '', ...(key === 'text' ? { annotations: [] } : {}) }
          return [
            { type: 'response.content_part.added', ...where, part: empty },
            ...grow(key === 'text' ? 'output_text' : key, String(part[key]), {
              content_index: index,
            }),
            ...annotations.map((annotation, annotation_index) => ({
              type: 'response.output_text.annotation.added',
              ...where,
              ...{ annotation_index, annotation },
            })),
          ]
        }),
      ]
  }
}

const call = { type: 'function_call', id: 'fc_1', call_id: 'a', name: 'look', arguments: '{"x":1}' }
const patch = { type: 'custom_tool_call', id: 'ctc_1', call_id: 'b', name: 'patch', input: '*** B' }
const said = {
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  content: [
    { type: 'output_text', text: 'See this.', annotations: [{ type: 'url_citation', url: 'a' }] },
    { type: 'refusal', refusal: 'Not that.' },
  ],
}
const thought = {
  type: 'reasoning',
  id: 'rs_1',
  summary: [
    { type: 'summary_text', text: 'First.' },
    { type: 'summary_text', text: 'Then.' },
  ],
}
const output = [thought, said, call, patch]
const halves = (text: string): readonly string[] => [text.slice(0, 3), text.slice(3)]
const streamed = output.map((item, at) => eventsOf(item, at, halves))

describe('a streamed response', () => {
  it('[SA4] that breaks off is what came, for each kind of item', () => {
    for (const [at, item] of output.entries()) {
      const stream = assembled(streamed[at] ?? [])
      expect(stream.isComplete).toBe(false)
      expect(stream.answer()?.messages).toEqual([item])
    }
    // Half of the last one.
    const stream = assembled(streamed.flat().slice(0, -1))
    expect(stream.answer()?.messages).toEqual([thought, said, call, { ...patch, input: '***' }])
  })

  it('[SA3] items that nobody announced begin with their first piece', () => {
    const pieces = streamed.flat().filter(({ type }) => !String(type).endsWith('.added'))
    expect(assembled(pieces).answer()?.messages).toEqual([
      thought,
      { ...said, content: [{ ...said.content[0], annotations: [] }, said.content[1]] },
      { type: 'function_call', id: 'fc_1', arguments: '{"x":1}' },
      { type: 'custom_tool_call', id: 'ctc_1', input: '*** B' },
    ])
  })

  it('[SA3] interleaved items are told apart, by position or by id alone', () => {
    const length = Math.max(...streamed.map((events) => events.length))
    const mixed = Array.from({ length }, (_, at) => at).flatMap((at) =>
      streamed.flatMap((events) => events.slice(at, at + 1)),
    )
    expect(assembled(mixed).answer()?.messages).toEqual(output)
    const byId = mixed.map(({ output_index: _index, ...event }) => event)
    expect(assembled(byId).answer()?.messages).toEqual(output)
  })

  it('[SA3] without positions and ids a piece belongs to the last item', () => {
    const bare = ({ id: _id, ...item }: JsonObject): JsonObject => item
    const events = output.flatMap((item, at) => [
      ...(streamed[at] ?? []).map(
        ({ output_index: _index, item_id: _id, item: added, ...event }) =>
          added === undefined ? event : { ...event, item: bare(added as JsonObject) },
      ),
      { type: 'response.output_item.done', item: bare(item) },
    ])
    const isDone = ({ type }: JsonObject): boolean => type === 'response.output_item.done'
    const items = output.map(bare)
    expect(assembled(events).answer()?.messages).toEqual(items)
    expect(assembled(events.filter((event) => !isDone(event))).answer()?.messages).toEqual(items)
    expect(assembled(events.filter(isDone)).answer()?.messages).toEqual(items)
  })

  it('[SA3] what is done replaces its pieces', () => {
    const events = [
      ...streamed.flat(),
      { type: 'response.function_call_arguments.done', output_index: 2, arguments: '{}' },
      {
        type: 'response.reasoning_summary_text.done',
        output_index: 0,
        summary_index: 1,
        text: 'x',
      },
      { type: 'response.output_item.done', output_index: 3, item: { ...patch, input: 'whole' } },
    ]
    expect(assembled(events).answer()?.messages).toEqual([
      { ...thought, summary: [thought.summary[0], { type: 'summary_text', text: 'x' }] },
      said,
      { ...call, arguments: '{}' },
      { ...patch, input: 'whole' },
    ])
  })

  it('[SA3] pictures are whole when they are done', () => {
    const picture = {
      type: 'image_generation_call',
      id: 'ig_1',
      status: 'completed',
      result: 'iVBO',
    }
    const events = [
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { ...picture, status: 'in_progress', result: null },
      },
      {
        type: 'response.image_generation_call.partial_image',
        output_index: 0,
        item_id: 'ig_1',
        partial_image_b64: 'iV',
      },
      { type: 'response.output_item.done', output_index: 0, item: picture },
    ]
    expect(assembled(events.slice(0, 2)).answer()?.messages).toMatchObject([{ result: null }])
    expect(assembled(events).answer()?.messages).toEqual([picture])
  })

  it('[SA4] the last event says all of it, unless its output was left out', () => {
    const usage = { input_tokens: 3, output_tokens: 2 }
    const facts = { id: 'resp_1', model: 'gpt-5', finish: 'completed' }
    const whole = { type: 'response.completed', response: response([patch], { usage }) }
    const stream = assembled([...streamed.flat(), whole])
    expect(stream.isOver).toBe(true)
    expect(stream.answer()).toEqual({ messages: [patch], usage, response: facts })
    const bare = { type: 'response.completed', response: response([], { usage }) }
    expect(assembled([...streamed.flat(), bare]).answer()).toEqual({
      ...{ messages: output, usage, response: facts },
    })
    const cut = {
      ...{ type: 'response.incomplete' },
      response: response([patch], { incomplete_details: { reason: 'max_output_tokens' } }),
    }
    expect(assembled([cut]).answer()?.response?.finish).toBe('max_output_tokens')
    expect(openaiResponses.answer(response([patch], { usage }))).toEqual({
      ...{ messages: [patch], usage, response: facts },
    })
  })

  it('[SA5] that failed or was cancelled is no answer', () => {
    const error = { code: 'server_error', message: 'gone' }
    const usage = { input_tokens: 3 }
    const failed = { type: 'response.failed', response: response([], { error, usage }) }
    const stream = assembled([...streamed.flat(), failed])
    expect([stream.isComplete, stream.error, stream.answer()?.usage]).toEqual([false, error, usage])
    const event = { type: 'error', ...error }
    expect(assembled([...streamed.flat(), event]).error).toEqual(event)
    for (const status of ['failed', 'cancelled', 'queued', 'in_progress']) {
      expect(openaiResponses.answer(response([patch], { status }))).toBeUndefined()
    }
  })
})

describe('any response', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 12 })
  const item = fc.oneof(
    text.map((given) => ({ ...call, arguments: given })),
    text.map((input) => ({ ...patch, input })),
    fc.array(text, { maxLength: 3 }).map((texts) => ({
      ...thought,
      summary: texts.map((one) => ({ type: 'summary_text', text: one })),
    })),
    fc.array(fc.tuple(fc.boolean(), text), { maxLength: 3 }).map((parts) => ({
      ...said,
      content: parts.map(([isRefusal, one]) =>
        isRefusal
          ? { type: 'refusal', refusal: one }
          : { type: 'output_text', text: one, annotations: [] },
      ),
    })),
  )

  it('[SA1] cut into pieces and assembled is whole again', () => {
    fc.assert(
      fc.property(
        fc.array(item, { minLength: 1, maxLength: 5 }),
        fc.infiniteStream(fc.nat(5)),
        (items, random) => {
          const whole: readonly JsonObject[] = items.map((one, at) => ({ ...one, id: `i${at}` }))
          const cut = (one: string): readonly string[] => {
            const list: string[] = []
            for (let at = 0; at < one.length; ) {
              const end = at + (random.next().value as number)
              list.push(one.slice(at, end))
              at = end
            }
            return list
          }
          const events = whole.flatMap((one, at) => eventsOf(one, at, cut))
          expect(assembled(events).answer()?.messages).toEqual(whole)
          expect(openaiResponses.answer(response(whole))?.messages).toEqual(whole)
        },
      ),
    )
  })

  it('[SA4] never throws, whatever comes', () => {
    const anything = fc.jsonValue({ maxDepth: 3 })
    const types = [...new Set(streamed.flat().map(({ type }) => String(type)))]
    const event = fc.record(
      {
        type: fc.oneof(
          anything,
          fc.constantFrom(
            ...types,
            ...['response.completed', 'response.failed', 'response.__proto__.delta', 'error'],
            ...['response.constructor.delta', 'response.output_item.done'],
          ),
        ),
        ...{ output_index: fc.oneof(fc.nat(3), anything), item_id: anything },
        ...{ content_index: fc.oneof(fc.nat(3), anything), summary_index: anything },
        ...{ item: anything, part: anything, delta: anything, text: anything },
        ...{ annotation: anything, annotation_index: anything, response: anything },
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
