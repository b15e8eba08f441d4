// Compaction as the Responses ask for it: from a number of tokens on (`context_management`), at the end of the input
// (`compaction_trigger`), or by a path of its own (`/v1/responses/compact`).

import { isJsonObject as isObject, type Json, type JsonObject } from '../../core/log/json.ts'
import { openCompaction, sealCompaction } from '../compaction.ts'
import type { CompactionFormat, ContextEdits } from '../provider.ts'
import type { WrittenEvent } from '../write.ts'

export const compaction: CompactionFormat = {
  path: '/v1/responses/compact',
  asked({ context_management: asked, input }) {
    const last: Json | undefined = Array.isArray(input) ? input.at(-1) : undefined
    if (isObject(last) && last.type === 'compaction_trigger') {
      return { fromTokens: 0, isAlone: true, isDemanded: true }
    }
    const entry = entriesOf(asked ?? null)?.find(({ type }) => type === 'compaction')
    const { compact_threshold: threshold } = entry ?? {}
    // Without a threshold the provider has one of its own, which nobody else knows.
    if (typeof threshold !== 'number' || threshold <= 0) return undefined
    return { fromTokens: threshold, isAlone: false, isDemanded: false }
  },
  block: ({ id, summary }) => ({
    id: `cmp_${id}`,
    type: 'compaction',
    encrypted_content: sealCompaction(id, summary),
  }),
  answer(block, { request, makeId, now, users }) {
    const body = {
      id: makeId('resp'),
      object: 'response.compaction',
      created_at: Math.floor(now / 1000),
      output: [...users, block],
      usage: noTokens,
    }
    return { body, events: streamOf(block, { request, body }) }
  },
  asText(message) {
    if (!isObject(message) || message.type !== 'compaction') return undefined
    const summary = openCompaction(message.encrypted_content)
    if (summary === undefined) return undefined
    return [{ role: 'user', content: `[Previous conversation summary]\n${summary}` }]
  },
}

/** The provider edits nothing but by compaction. */
export const contextEdits: ContextEdits = {
  key: 'context_management',
  hosts: ['api.openai.com', 'chatgpt.com'],
  supports: (asked) => entriesOf(asked)?.every(({ type }) => type === 'compaction') === true,
  apply: (messages) => ({ messages, applied: [] }),
  answer: () => ({}),
}

/** How an item that was there at once is streamed. */
export function compactionEvents(item: JsonObject, index: number): readonly JsonObject[] {
  return [
    { type: 'response.output_item.added', output_index: index, item },
    { type: 'response.output_item.done', output_index: index, item },
  ]
}

const noTokens = {
  input_tokens: 0,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 0,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 0,
}

/** The stream of a response that has nothing but the item. */
function streamOf(
  item: JsonObject,
  { request, body }: { readonly request: JsonObject; readonly body: JsonObject },
): readonly WrittenEvent[] {
  const { id = '', created_at: at = 0 } = body
  const whole = {
    ...{ id, object: 'response', created_at: at, model: request.model ?? '' },
    ...{ status: 'completed', error: null, incomplete_details: null, output: [item] },
    ...{ instructions: request.instructions ?? null, metadata: request.metadata ?? {} },
    ...{ parallel_tool_calls: true, tool_choice: request.tool_choice ?? 'auto' },
    ...{ tools: request.tools ?? [], temperature: 1, top_p: 1, usage: noTokens },
  }
  const begun = { ...whole, status: 'in_progress', output: [], usage: null }
  const events: readonly JsonObject[] = [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    { type: 'response.compaction.compacting', item_id: item.id ?? '', output_index: 0 },
    ...compactionEvents(item, 0),
    { type: 'response.completed', response: whole },
  ]
  return events.map((data, index) => ({
    event: String(data.type),
    data: { ...data, sequence_number: index },
  }))
}

/** Undefined where the field has not the documented shape: then the upstream says what is wrong with it. */
function entriesOf(asked: Json): readonly JsonObject[] | undefined {
  return Array.isArray(asked) && asked.every(isObject) ? asked : undefined
}
