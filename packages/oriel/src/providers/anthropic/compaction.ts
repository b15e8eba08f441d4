// Compaction as Anthropic's Messages ask for it: from a number of tokens on (`compact_20260112`), or now (`compaction`).

import { isJsonObject as isObject, type Json, type JsonObject } from '../../core/log/json.ts'
import { sealCompaction } from '../compaction.ts'
import type { CompactionFormat } from '../provider.ts'
import type { WrittenEvent } from '../write.ts'

export const compacting = 'compact_20260112'
/** Words of the header `anthropic-beta` that turn it on. */
export const compactionFlags = ['compact-2026-01-12', 'compact-2026-09-04'] as const

/** The provider's own default. */
const defaultTrigger = 150_000

export const compaction: CompactionFormat = {
  keys: ['compaction'],
  asked({ context_management: asked, compaction: now }) {
    if (isObject(now) && now.type === 'summarize') {
      return { fromTokens: 0, ...instructionsIn(now), isAlone: true, isDemanded: true }
    }
    const edit = editsOf(asked ?? null)?.find(({ type }) => type === compacting)
    if (edit === undefined) return undefined
    const { trigger, pause_after_compaction: pauses } = edit
    const value = isObject(trigger) ? trigger.value : undefined
    const fromTokens = typeof value === 'number' && value > 0 ? value : defaultTrigger
    return { fromTokens, ...instructionsIn(edit), isAlone: pauses === true, isDemanded: false }
  },
  block: ({ id, summary, isSigned }) => ({
    type: 'compaction',
    content: summary,
    encrypted_content: sealCompaction(id, ''),
    ...(isSigned ? { signature: id } : {}),
  }),
  answer(block, { request, makeId }) {
    const message = {
      id: makeId('msg'),
      type: 'message',
      role: 'assistant',
      model: request.model ?? '',
    }
    const stop = { stop_reason: 'compaction', stop_sequence: null }
    const none = { input_tokens: 0, output_tokens: 0 }
    const usage = { ...noTokens, iterations: [iteration] }
    const begun = {
      ...message,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { ...noTokens, ...none },
    }
    const events: readonly JsonObject[] = [
      { type: 'message_start', message: begun },
      ...compactionEvents(block, 0),
      { type: 'message_delta', delta: stop, usage },
      { type: 'message_stop' },
    ]
    return {
      body: { ...message, content: [block], ...stop, usage },
      events: events.map((data): WrittenEvent => ({ event: String(data.type), data })),
    }
  },
  asText(message) {
    const [first, ...rest] = blocksOf(message)
    const summary = first?.type === 'compaction' ? first.content : undefined
    if (typeof summary !== 'string' || summary === '' || !isObject(message)) return undefined
    const said = { role: 'user', content: `[Previous conversation summary]\n${summary}` }
    return rest.length === 0 ? [said] : [said, { ...message, content: rest }]
  },
}

/** The edits of a request; undefined where the field has not the documented shape: then the upstream says what is wrong with it. */
export function editsOf(asked: Json): readonly JsonObject[] | undefined {
  const edits = isObject(asked) ? (asked.edits ?? []) : undefined
  return Array.isArray(edits) && edits.every(isObject) ? edits : undefined
}

const noTokens = {
  input_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: 0,
}

/** What a compaction that the provider did not make costs the caller there. */
const iteration = { type: 'compaction', ...noTokens, cache_creation: null }

/** The counts of an answer with those of a compaction before it, in the provider's list of both. */
export function withIteration(usage: JsonObject): JsonObject {
  const { iterations, ...counts } = usage
  const before = Array.isArray(iterations) ? iterations : [{ type: 'message', ...counts }]
  return { ...usage, iterations: [iteration, ...before] }
}

/** How a compaction is streamed: one event has all of it; one that is signed comes whole. */
export function compactionEvents(block: JsonObject, index: number): readonly JsonObject[] {
  const isWhole = block.signature !== undefined
  const { content = null, encrypted_content: sealed = null } = block
  const start = isWhole ? block : { type: 'compaction', content: null, encrypted_content: null }
  const delta = { type: 'compaction_delta', content, encrypted_content: sealed }
  return [
    { type: 'content_block_start', index, content_block: start },
    ...(isWhole ? [] : [{ type: 'content_block_delta', index, delta }]),
    { type: 'content_block_stop', index },
  ]
}

function instructionsIn({ instructions }: JsonObject): { readonly instructions?: string } {
  const isGiven = typeof instructions === 'string' && instructions.trim() !== ''
  return isGiven ? { instructions } : {}
}

function blocksOf(message: Json): readonly JsonObject[] {
  if (!isObject(message) || !Array.isArray(message.content)) return []
  return message.content.filter(isObject)
}
