// A scripted answer in the format of /v1/messages.

import type { Json, JsonObject } from '../../core/log/json.ts'
import type { Measured, Part, Reply, WriteOptions, WrittenAnswer, WrittenEvent } from '../write.ts'
import { pieces } from '../write.ts'

interface WireBlock {
  readonly whole: JsonObject
  readonly start: JsonObject
  readonly deltas: readonly JsonObject[]
}

export function writeAnswer(reply: Reply, options: WriteOptions): WrittenAnswer {
  const { request, measured, makeId } = options
  const head = {
    id: makeId('msg'),
    type: 'message',
    role: 'assistant',
    model: request.model ?? 'demo',
  }
  const blocks = reply.map((part) => blockOf(part, options))
  const stopReason = reply.some(({ type }) => type === 'call') ? 'tool_use' : 'end_turn'
  const stop = { stop_reason: stopReason, stop_sequence: null }
  const usage = usageOf(measured)
  const message = {
    ...head,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...usage, output_tokens: 1 },
  }
  const events: WrittenEvent[] = [
    event('message_start', { message }),
    event('ping', {}),
    ...blocks.flatMap(({ start, deltas }, index) => [
      event('content_block_start', { index, content_block: start }),
      ...deltas.map((delta) => event('content_block_delta', { index, delta })),
      event('content_block_stop', { index }),
    ]),
    event('message_delta', { delta: stop, usage }),
    event('message_stop', {}),
  ]
  return { body: { ...head, content: blocks.map(({ whole }) => whole), ...stop, usage }, events }
}

function blockOf(part: Part, { makeId, seal }: WriteOptions): WireBlock {
  switch (part.type) {
    case 'reasoning': {
      const signature = seal(part.text)
      return {
        whole: { type: 'thinking', thinking: part.text, signature },
        start: { type: 'thinking', thinking: '', signature: '' },
        deltas: [
          ...pieces(part.text).map((thinking) => ({ type: 'thinking_delta', thinking })),
          { type: 'signature_delta', signature },
        ],
      }
    }
    case 'redacted': {
      const whole = { type: 'redacted_thinking', data: part.data }
      return { whole, start: whole, deltas: [] }
    }
    case 'text':
      return {
        whole: { type: 'text', text: part.text },
        start: { type: 'text', text: '' },
        deltas: pieces(part.text).map((text) => ({ type: 'text_delta', text })),
      }
    case 'call': {
      const head = { type: 'tool_use', id: makeId('toolu'), name: part.name }
      return {
        whole: { ...head, input: JSON.parse(part.arguments) as Json },
        start: { ...head, input: {} },
        deltas: ['', ...pieces(part.arguments)].map((piece) => ({
          type: 'input_json_delta',
          partial_json: piece,
        })),
      }
    }
  }
}

function event(type: string, fields: JsonObject): WrittenEvent {
  return { event: type, data: { type, ...fields } }
}

/** Here `input_tokens` is what was neither read from the cache nor written to it. */
function usageOf({ input, cached, written, output }: Measured): JsonObject {
  return {
    input_tokens: input - cached - written,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cached,
    output_tokens: output,
    service_tier: 'standard',
  }
}
