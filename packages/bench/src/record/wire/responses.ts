// The scripted answer in the format of /v1/responses.

import type { MakeId, Reply, ScriptedCall, WireAnswer, WireEvent } from '../reply.ts'
import { fixedSeconds, pieces, sealed } from '../reply.ts'

type Fields = Readonly<Record<string, unknown>>
interface Item {
  readonly whole: Fields & { readonly id: string }
  readonly start: Fields
  /** Events between the item's beginning and its end, without item and output index. */
  readonly inner: readonly Fields[]
}

export function responsesAnswer(reply: Reply, request: Fields, makeId: MakeId): WireAnswer {
  const items: Item[] = []
  if (reply.reasoning !== undefined) items.push(reasoningItem(reply.reasoning, makeId))
  if (reply.text !== undefined) items.push(messageItem(reply.text, makeId))
  for (const call of reply.calls ?? []) {
    items.push(call.isCustom === true ? customItem(call, makeId) : callItem(call, makeId))
  }
  const output = items.map((item) => item.whole)
  const usage = usageOf(reply)
  const body = { ...envelope(request, makeId('resp')), status: 'completed', output, usage }
  const begun = { ...body, status: 'in_progress', output: [], usage: null }
  const events: Fields[] = [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    ...items.flatMap(itemEvents),
    { type: 'response.completed', response: body },
  ]
  return {
    body,
    events: events.map(
      (data, index): WireEvent => ({
        event: String(data.type),
        data: { ...data, sequence_number: index },
      }),
    ),
  }
}

function envelope(request: Fields, id: string): Fields {
  return {
    id,
    object: 'response',
    created_at: fixedSeconds,
    model: request.model,
    error: null,
    incomplete_details: null,
    instructions: request.instructions ?? null,
    metadata: {},
    parallel_tool_calls: true,
    temperature: 1,
    top_p: 1,
    tool_choice: 'auto',
    tools: request.tools ?? [],
    text: request.text ?? { format: { type: 'text' } },
    store: request.store ?? true,
    previous_response_id: request.previous_response_id ?? null,
  }
}

function reasoningItem(text: string, makeId: MakeId): Item {
  const head = { id: makeId('rs'), type: 'reasoning' }
  const part = { type: 'summary_text', text }
  const at = { summary_index: 0 }
  return {
    whole: { ...head, summary: [part], encrypted_content: sealed(text) },
    start: { ...head, summary: [] },
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

function callItem(call: ScriptedCall, makeId: MakeId): Item {
  const { name, arguments: args } = call
  const head = { id: makeId('fc'), type: 'function_call', call_id: makeId('call'), name }
  return {
    whole: { ...head, status: 'completed', arguments: args },
    start: { ...head, status: 'in_progress', arguments: '' },
    inner: [
      ...pieces(args).map((delta) => ({ type: 'response.function_call_arguments.delta', delta })),
      { type: 'response.function_call_arguments.done', arguments: args, name },
    ],
  }
}

function customItem(call: ScriptedCall, makeId: MakeId): Item {
  const { name, arguments: input } = call
  const head = { id: makeId('ctc'), type: 'custom_tool_call', call_id: makeId('call'), name }
  return {
    whole: { ...head, status: 'completed', input },
    start: { ...head, status: 'in_progress', input: '' },
    inner: [
      ...pieces(input).map((delta) => ({ type: 'response.custom_tool_call_input.delta', delta })),
      { type: 'response.custom_tool_call_input.done', input },
    ],
  }
}

function itemEvents(item: Item, outputIndex: number): readonly Fields[] {
  const at = { output_index: outputIndex }
  return [
    { type: 'response.output_item.added', ...at, item: item.start },
    ...item.inner.map((inner) => ({ ...inner, item_id: item.whole.id, ...at })),
    { type: 'response.output_item.done', ...at, item: item.whole },
  ]
}

function usageOf({ inputTokens = 100 }: Reply): Fields {
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 20,
    output_tokens_details: { reasoning_tokens: 5 },
    total_tokens: inputTokens + 20,
  }
}
