// A scripted answer in the format of /v1/responses.

import type { JsonObject } from '../../core/log/json.ts'
import type { MakeId, Measured, Part, Reply, WriteOptions, WrittenAnswer } from '../write.ts'
import { fixedSeconds, pieces } from '../write.ts'

interface Item {
  readonly whole: JsonObject & { readonly id: string }
  readonly start: JsonObject
  /** Events between the item's beginning and its end, without item and output index. */
  readonly inner: readonly JsonObject[]
}

export function writeAnswer(reply: Reply, options: WriteOptions): WrittenAnswer {
  const { request, measured, makeId } = options
  const items = reply.flatMap((part) => itemOf(part, options))
  const body = {
    ...envelope(request, makeId('resp')),
    status: 'completed',
    output: items.map(({ whole }) => whole),
    usage: usageOf(measured),
  }
  const begun = { ...body, status: 'in_progress', output: [], usage: null }
  const events: JsonObject[] = [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    ...items.flatMap(itemEvents),
    { type: 'response.completed', response: body },
  ]
  return {
    body,
    events: events.map((data, index) => ({
      event: String(data.type),
      data: { ...data, sequence_number: index },
    })),
  }
}

function envelope(request: JsonObject, id: string): JsonObject {
  return {
    id,
    object: 'response',
    created_at: fixedSeconds,
    model: request.model ?? 'demo',
    error: null,
    incomplete_details: null,
    instructions: request.instructions ?? null,
    metadata: request.metadata ?? {},
    parallel_tool_calls: true,
    temperature: 1,
    top_p: 1,
    tool_choice: request.tool_choice ?? 'auto',
    tools: request.tools ?? [],
    text: request.text ?? { format: { type: 'text' } },
    store: request.store ?? true,
    previous_response_id: null,
  }
}

/** Redacted reasoning does not exist here: all reasoning is sealed. */
function itemOf(part: Part, { makeId, seal }: WriteOptions): readonly Item[] {
  switch (part.type) {
    case 'reasoning':
      return [reasoningItem(part.text, seal(part.text), makeId)]
    case 'redacted':
      return []
    case 'text':
      return [messageItem(part.text, makeId)]
    case 'call':
      return [callItem(part, makeId)]
  }
}

function reasoningItem(text: string, sealed: string, makeId: MakeId): Item {
  const head = { id: makeId('rs'), type: 'reasoning' }
  const part = { type: 'summary_text', text }
  const at = { summary_index: 0 }
  return {
    whole: { ...head, summary: [part], encrypted_content: sealed },
    start: { ...head, summary: [], encrypted_content: '' },
    inner: [
      { type: 'response.reasoning_summary_part.added', ...at, part: { ...part, text: '' } },
      ...pieces(text).map((delta) => ({
        type: 'response.reasoning_summary_text.delta',
        ...at,
        delta,
      })),
      { type: 'response.reasoning_summary_text.done', ...at, text },
      { type: 'response.reasoning_summary_part.done', ...at, part },
    ],
  }
}

function messageItem(text: string, makeId: MakeId): Item {
  const head = { id: makeId('msg'), type: 'message', role: 'assistant' }
  const part = { type: 'output_text', text, annotations: [], logprobs: [] }
  const at = { content_index: 0 }
  return {
    whole: { ...head, status: 'completed', content: [part] },
    start: { ...head, status: 'in_progress', content: [] },
    inner: [
      { type: 'response.content_part.added', ...at, part: { ...part, text: '' } },
      ...pieces(text).map((delta) => ({
        type: 'response.output_text.delta',
        ...at,
        delta,
        logprobs: [],
      })),
      { type: 'response.output_text.done', ...at, text, logprobs: [] },
      { type: 'response.content_part.done', ...at, part },
    ],
  }
}

function callItem(part: Extract<Part, { type: 'call' }>, makeId: MakeId): Item {
  const { name, arguments: text } = part
  const head = { id: makeId('fc'), type: 'function_call', call_id: makeId('call'), name }
  return {
    whole: { ...head, status: 'completed', arguments: text },
    start: { ...head, status: 'in_progress', arguments: '' },
    inner: [
      ...pieces(text).map((delta) => ({ type: 'response.function_call_arguments.delta', delta })),
      { type: 'response.function_call_arguments.done', arguments: text, name },
    ],
  }
}

function itemEvents(item: Item, outputIndex: number): readonly JsonObject[] {
  const at = { output_index: outputIndex }
  return [
    { type: 'response.output_item.added', ...at, item: item.start },
    ...item.inner.map((inner) => ({ ...inner, item_id: item.whole.id, ...at })),
    { type: 'response.output_item.done', ...at, item: item.whole },
  ]
}

function usageOf({ input, cached, output, reasoning }: Measured): JsonObject {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  }
}
