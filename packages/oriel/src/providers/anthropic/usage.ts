// Token counts of Anthropic's Messages: what was read from the cache and written to it is not part of the input.

import type { ReportedMiss } from '../../core/log/entry.ts'
import { isObject, type Json, type JsonObject } from '../../core/log/json.ts'
import type { UsageFormat } from '../provider.ts'
import { count, tokensIn } from '../usage.ts'

export const usage: UsageFormat = {
  read(sample) {
    const {
      input_tokens: input,
      cache_read_input_tokens: cacheRead,
      cache_creation_input_tokens: cacheWrite,
    } = sample
    if (typeof input !== 'number' && cacheRead === undefined && cacheWrite === undefined) {
      return undefined
    }
    return {
      uncached: count(input),
      cacheRead: count(cacheRead),
      cacheWrite: count(cacheWrite),
      output: count(sample.output_tokens),
      ...missOf(sample.diagnostics),
    }
  },
  reasoning: (sample) => tokensIn(sample.output_tokens_details, 'thinking_tokens'),
}

/** What the provider says of the request that `diagnostics.previous_message_id` names. Other reasons say that it does not know. */
const causes: Readonly<Record<string, ReportedMiss['cause']>> = {
  messages_changed: 'edit',
  tools_changed: 'tools',
  system_changed: 'system',
  model_changed: 'model',
}

function missOf(diagnostics: Json | undefined): { readonly miss?: ReportedMiss } {
  const { type, cache_missed_input_tokens: tokens } = fieldsOf(
    fieldsOf(diagnostics).cache_miss_reason,
  )
  const cause = typeof type === 'string' ? causes[type] : undefined
  if (cause === undefined) return {}
  const missed = typeof tokens === 'number' ? { tokens: count(tokens) } : {}
  return { miss: { cause, word: String(type), ...missed } }
}

/** The counts of an answer with what it says of its cache beside them. */
export function withDiagnostics(
  usage: Json | undefined,
  diagnostics: Json | undefined,
): Json | undefined {
  const isTold = isObject(usage) && isObject(diagnostics)
  return isTold ? { ...fieldsOf(usage), diagnostics: diagnostics as Json } : usage
}

function fieldsOf(value: Json | undefined): JsonObject {
  return isObject(value) ? (value as JsonObject) : {}
}
