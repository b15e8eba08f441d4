// The official SDKs read the same server-sent events over HTTP, with their own accumulators. What they make of an answer is what their users
// send back, so it must be what is assembled here.

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import Anthropic from '@anthropic-ai/sdk'
import { createParser } from 'eventsource-parser'
import fc from 'fast-check'
import OpenAI from 'openai'
import { accumulateResponse } from 'openai/lib/responses/ResponseAccumulator'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../core/log/json.ts'
import { providers } from './index.ts'
import { parseEvent } from './stream.ts'

let server: Server
let url: string
let body = ''
beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume()
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

type Name = 'openai-chat' | 'openai-responses' | 'anthropic'

/** Serves the events, and gives what is assembled of the same bytes. */
function serve(name: Name, events: readonly JsonObject[]): readonly Json[] {
  const texts = events.map((event) => {
    const head = name === 'openai-chat' ? '' : `event: ${String(event.type)}\n`
    return `${head}data: ${JSON.stringify(event)}\n\n`
  })
  body = texts.join('') + (name === 'openai-chat' ? 'data: [DONE]\n\n' : '')
  const stream = providers[name].stream()
  const parser = createParser({ onEvent: ({ data }) => stream.take(parseEvent(data)) })
  parser.feed(body)
  expect(stream.isOver).toBe(true)
  return stream.answer()?.messages ?? []
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

/** A text in pieces of the given lengths. */
function cut(text: string, sizes: readonly number[]): readonly string[] {
  const list: string[] = []
  for (let at = 0; at < text.length; ) {
    const end = at + (sizes[list.length % sizes.length] ?? 1)
    list.push(text.slice(at, end))
    at = end
  }
  return list
}

const text = fc.string({ unit: 'grapheme', maxLength: 10 })
const sizes = fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 4 })
const runs = { numRuns: 60 }

describe('the openai package', () => {
  const client = (): OpenAI => new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 })

  const chunk = (delta: JsonObject, reason: string | null = null): JsonObject => ({
    ...{ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'gpt-5' },
    choices: [{ index: 0, delta, finish_reason: reason }],
  })
  const call = fc.record({
    kind: fc.constantFrom('function', 'custom'),
    text,
    isLate: fc.boolean(),
  })
  const delta = fc.oneof(
    fc.record({ content: text }),
    fc.record({ refusal: text }),
    fc.record({
      audio: fc.record(
        { id: fc.constantFrom('audio_1', 'audio_2'), data: text, transcript: text },
        { requiredKeys: [] },
      ),
    }),
    fc.record({ function_call: fc.record({ name: fc.constant('old'), arguments: text }) }),
    fc.constant({ content: null, refusal: null }),
  )

  it('[SA2] chat.completions.stream() reads the same message', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(delta, { maxLength: 6 }),
        fc.array(call, { maxLength: 3 }),
        sizes,
        async (deltas, calls, lengths) => {
          const pieces = calls.map(({ kind, text: given, isLate }, index) => {
            const field = kind === 'custom' ? 'input' : 'arguments'
            const id = { id: `call_${index}` }
            const first = { type: kind, [kind]: { name: 'look', [field]: '' } }
            const rest = cut(given, lengths).map((one) => ({ [kind]: { [field]: one } }))
            const list = isLate
              ? [first, { ...id, ...rest[0] }, ...rest.slice(1)]
              : [{ ...id, ...first }, ...rest]
            return list.map((one) => chunk({ tool_calls: [{ index, ...one }] }))
          })
          // One piece of each by turns.
          const longest = Math.max(0, ...pieces.map(({ length }) => length))
          const mixed = Array.from({ length: longest }, (_, at) => at).flatMap((at) =>
            pieces.flatMap((list) => list.slice(at, at + 1)),
          )
          const own = deltas.filter((one) => calls.length === 0 || !('function_call' in one))
          const ours = serve('openai-chat', [
            chunk({ role: 'assistant', content: null }),
            ...own.map((one) => chunk(one as JsonObject)),
            ...mixed,
            chunk({}, 'stop'),
          ])
          const theirs = await client()
            .chat.completions.stream({
              model: 'gpt-5',
              messages: [{ role: 'user', content: 'Hi' }],
            })
            .finalChatCompletion()
          expect(lean(ours)).toEqual(lean(theirs.choices.map(({ message }) => message)))
        },
      ),
      runs,
    )
  })

  const response = (output: readonly JsonObject[], status: string): JsonObject => ({
    ...{ id: 'resp_1', object: 'response', created_at: 1, model: 'gpt-5', status, output },
    ...{ error: null, incomplete_details: null, instructions: null, metadata: {}, tools: [] },
    ...{ parallel_tool_calls: true, temperature: 1, top_p: 1, tool_choice: 'auto' },
  })
  const item = fc.oneof(
    text.map((given) => ({ type: 'function_call', call_id: 'c', name: 'look', arguments: given })),
    text.map((input) => ({ type: 'custom_tool_call', call_id: 'c', name: 'patch', input })),
    text.map((one) => ({ type: 'reasoning', summary: [{ type: 'summary_text', text: one }] })),
    fc.tuple(fc.boolean(), text).map(([isRefusal, one]) => ({
      ...{ type: 'message', role: 'assistant' },
      content: [
        isRefusal
          ? { type: 'refusal', refusal: one }
          : { type: 'output_text', text: one, annotations: [] },
      ],
    })),
  )

  it('[SA2] accumulateResponse() reads the same items, wherever the stream stops', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(item, { minLength: 1, maxLength: 3 }),
        sizes,
        fc.nat(),
        async (items, lengths, at) => {
          const output = items.map(
            (one, index): JsonObject => ({
              ...one,
              id: `item_${index}`,
              ...('call_id' in one ? { call_id: `call_${index}` } : {}),
            }),
          )
          const grown = output.flatMap((one, index) => itemEvents(one, index, lengths))
          const shown = grown.slice(0, 1 + (at % grown.length))
          const events = [
            { type: 'response.created', response: response([], 'in_progress') },
            ...shown,
            // With its output left out, both have only the events before it.
            { type: 'response.completed', response: response([], 'completed') },
          ].map((event, index): JsonObject => ({ ...event, sequence_number: index }))
          const ours = serve('openai-responses', events)
          const stream = await client().responses.create({
            model: 'gpt-5',
            input: 'Hi',
            stream: true,
          })
          let theirs: OpenAI.Responses.Response | undefined
          for await (const event of stream) {
            if (event.type !== 'response.completed') theirs = accumulateResponse(event, theirs)
          }
          expect(plain(ours)).toEqual(plain(theirs?.output))
        },
      ),
      runs,
    )
  })
})

function itemEvents(
  item: JsonObject,
  index: number,
  lengths: readonly number[],
): readonly JsonObject[] {
  const where = { output_index: index, item_id: item.id as Json }
  const pieces = (name: string, whole: Json | undefined, more: JsonObject = {}) =>
    cut(String(whole), lengths).map((delta) => ({
      type: `response.${name}.delta`,
      ...where,
      ...more,
      delta,
    }))
  const added = (empty: JsonObject) => ({
    ...{ type: 'response.output_item.added', output_index: index },
    item: { ...item, ...empty },
  })
  if (item.type === 'function_call') {
    return [added({ arguments: '' }), ...pieces('function_call_arguments', item.arguments)]
  }
  if (item.type === 'custom_tool_call') {
    return [added({ input: '' }), ...pieces('custom_tool_call_input', item.input)]
  }
  const list = item.type === 'reasoning' ? 'summary' : 'content'
  const [part = {}] = item[list] as readonly JsonObject[]
  const key = part.type === 'refusal' ? 'refusal' : 'text'
  const at = { [`${list}_index`]: 0 }
  const name = list === 'summary' ? 'reasoning_summary_part' : 'content_part'
  const grown =
    list === 'summary' ? 'reasoning_summary_text' : key === 'refusal' ? 'refusal' : 'output_text'
  return [
    added({ [list]: [] }),
    { type: `response.${name}.added`, ...where, ...at, part: { ...part, [key]: '' } },
    ...pieces(grown, part[key], at),
  ]
}

describe('the package of Anthropic', () => {
  const block = fc.oneof(
    fc.record({ type: fc.constant('text'), text }),
    fc.record({
      type: fc.constant('thinking'),
      thinking: text,
      signature: fc.constantFrom('a', 'b'),
    }),
    fc.record({ type: fc.constant('redacted_thinking'), data: text }),
    fc.record({
      ...{ type: fc.constantFrom('tool_use', 'server_tool_use'), id: fc.constant('t') },
      ...{ name: fc.constant('look'), isCut: fc.boolean() },
      input: fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.jsonValue({ maxDepth: 2 })),
    }),
  )

  it('[SA2] messages.stream() reads the same content, also of calls that were cut', async () => {
    const client = new Anthropic({ baseURL: url, apiKey: 'none', maxRetries: 0 })
    await fc.assert(
      fc.asyncProperty(
        fc.array(block, { minLength: 1, maxLength: 4 }),
        sizes,
        async (blocks, lengths) => {
          const events = blocks.flatMap((one, index): readonly JsonObject[] => {
            const [start, deltas] = blockEvents(one as JsonObject, lengths)
            return [
              { type: 'content_block_start', index, content_block: start },
              ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
              { type: 'content_block_stop', index },
            ]
          })
          const message = {
            ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'claude', content: [] },
            ...{ stop_reason: null, stop_sequence: null },
            usage: { input_tokens: 1, output_tokens: 1 },
          }
          const ours = serve('anthropic', [
            { type: 'message_start', message },
            ...events,
            {
              type: 'message_delta',
              delta: { stop_reason: 'max_tokens', stop_sequence: null },
              usage: { output_tokens: 2 },
            },
            { type: 'message_stop' },
          ])
          const { role, content } = await client.messages
            .stream({ model: 'claude', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] })
            .finalMessage()
          expect(plain(ours)).toEqual([plain({ role, content })])
        },
      ),
      runs,
    )
  })
})

function blockEvents(
  { isCut = false, ...block }: JsonObject,
  lengths: readonly number[],
): readonly [start: JsonObject, deltas: readonly JsonObject[]] {
  const { type, text: said, thinking, signature, input } = block
  const pieces = (name: string, key: string, whole: Json | undefined): readonly JsonObject[] =>
    cut(String(whole), lengths).map((one) => ({ type: name, [key]: one }))
  if (type === 'text') return [{ ...block, text: '' }, pieces('text_delta', 'text', said)]
  if (type === 'thinking') {
    const signed = { type: 'signature_delta', signature: signature as Json }
    return [
      { ...block, thinking: '', signature: '' },
      [...pieces('thinking_delta', 'thinking', thinking), signed],
    ]
  }
  if (input === undefined) return [block, []]
  const whole = JSON.stringify(input)
  const json = isCut === true ? whole.slice(0, Math.ceil(whole.length / 2)) : whole
  return [{ ...block, input: {} }, pieces('input_json_delta', 'partial_json', json)]
}

/** Without fields that are empty, absent or of the package's own making. */
function lean(messages: readonly unknown[]): unknown {
  return messages.map((message) =>
    Object.fromEntries(
      Object.entries(plain(message) as JsonObject).filter(
        ([key, value]) => value !== null && value !== '' && key !== 'parsed',
      ),
    ),
  )
}
