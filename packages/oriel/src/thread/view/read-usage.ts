// The provider's own numbers, in one shape whatever the provider calls them.

import type { Usage } from '../../core/log/entry.ts'
import { OrielError } from '../../core/log/errors.ts'
import { isJsonObject, isObject, type Json, type JsonObject } from '../../core/log/json.ts'
import { readUsage as readAiSdk } from '../../providers/ai-sdk/usage.ts'
import { readUsage as readLangchain } from '../../providers/langchain/usage.ts'
import type { UsageFormat } from '../../providers/provider.ts'
import { providers } from '../../providers/registry.ts'
import { count } from '../../providers/usage.ts'

export type { Usage }

/**
 * Reads a usage object of a provider, of the AI SDK (of a result and of a model), of LangChain, or of Oriel itself. Throws 'invalid-input'
 * when no input number is in it.
 */
export function readUsage(sample: unknown): Usage {
  if (!isJsonObject(sample)) throw noUsage()
  if ('uncached' in sample) {
    return {
      uncached: count(sample.uncached),
      cacheRead: count(sample.cacheRead),
      cacheWrite: count(sample.cacheWrite),
      output: count(sample.output),
      ...missIn(sample.miss),
    }
  }
  for (const read of readers) {
    const usage = read(sample)
    if (usage !== undefined) return usage
  }
  throw noUsage()
}

function missIn(value: Json | undefined): Pick<Usage, 'miss'> {
  if (!isJsonObject(value ?? null)) return {}
  const { cause, word, tokens } = value as JsonObject
  const known = (['edit', 'tools', 'system', 'model'] as const).find((one) => one === cause)
  if (known === undefined || typeof word !== 'string') return {}
  return { miss: { cause: known, word, ...(typeof tokens === 'number' ? { tokens } : {}) } }
}

/** Those first whose counts nobody else could take for their own. */
const readers: readonly UsageFormat['read'][] = [
  readLangchain,
  readAiSdk,
  ...Object.values(providers).map(({ usage }) => usage.read),
]

/** All input tokens of a recorded call; 0 where none were recorded. */
export function inputTokens(sample: unknown): number {
  if (!isObject(sample)) return 0
  return count(sample.uncached) + count(sample.cacheRead) + count(sample.cacheWrite)
}

function noUsage(): OrielError {
  return new OrielError(
    'invalid-input',
    'A usage sample needs the input tokens of the call, for example { prompt_tokens, completion_tokens }.',
    { path: 'sample' },
  )
}
