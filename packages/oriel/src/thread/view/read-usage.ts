// The provider's own numbers, in one shape whatever the provider calls them.

import { OrielError } from '../../core/log/errors.ts'
import { isObject } from '../../core/log/json.ts'

/** Tokens of one model call. The three input numbers are disjoint. */
export interface Usage {
  /** Input tokens that were neither read from nor written to the cache. */
  readonly uncached: number
  readonly cacheRead: number
  readonly cacheWrite: number
  readonly output: number
}

/**
 * Reads a usage object of OpenAI (chat and responses: cached tokens are part of the input), Anthropic (three disjoint numbers), the
 * AI SDK (of a result and of a model), LangChain, Gemini (`usageMetadata`), or Oriel itself. Throws 'invalid-input' when no input number is in it.
 */
export function readUsage(sample: unknown): Usage {
  if (!isObject(sample)) throw noUsage()
  if ('uncached' in sample) {
    return {
      uncached: count(sample.uncached),
      cacheRead: count(sample.cacheRead),
      cacheWrite: count(sample.cacheWrite),
      output: count(sample.output),
    }
  }
  if ('cache_read_input_tokens' in sample || 'cache_creation_input_tokens' in sample) {
    return {
      uncached: count(sample.input_tokens),
      cacheRead: count(sample.cache_read_input_tokens),
      cacheWrite: count(sample.cache_creation_input_tokens),
      output: count(sample.output_tokens),
    }
  }
  if (isObject(sample.inputTokens)) return modelUsage(sample.inputTokens, sample.outputTokens)
  if ('promptTokenCount' in sample) return geminiUsage(sample)
  const input = sample.prompt_tokens ?? sample.input_tokens ?? sample.inputTokens
  if (typeof input !== 'number') throw noUsage()
  const details = firstObject(sample, [
    'prompt_tokens_details',
    'input_tokens_details',
    'inputTokenDetails',
    'input_token_details',
  ])
  const cacheRead = count(
    details.cached_tokens ??
      details.cacheReadTokens ??
      details.cache_read ??
      sample.cachedInputTokens,
  )
  const cacheWrite = count(
    details.cacheWriteTokens ?? details.cache_write_tokens ?? details.cache_creation,
  )
  const output = sample.completion_tokens ?? sample.output_tokens ?? sample.outputTokens ?? 0
  return {
    uncached: Math.max(0, count(input) - cacheRead - cacheWrite),
    cacheRead,
    cacheWrite,
    output: count(output),
  }
}

/** The AI SDK's usage of a language model: the input in parts, each of which may be missing. */
function modelUsage(input: Readonly<Record<string, unknown>>, output: unknown): Usage {
  const { total, noCache } = input
  if (typeof total !== 'number' && typeof noCache !== 'number') throw noUsage()
  const cacheRead = count(input.cacheRead)
  const cacheWrite = count(input.cacheWrite)
  const uncached =
    typeof noCache === 'number' ? count(noCache) : count(count(total) - cacheRead - cacheWrite)
  return {
    uncached,
    cacheRead,
    cacheWrite,
    output: count(isObject(output) ? output.total : output),
  }
}

/** Gemini's `usageMetadata`: cached tokens are part of the prompt, the results of its own tools and thoughts are not part of the rest. */
function geminiUsage(sample: Readonly<Record<string, unknown>>): Usage {
  const cacheRead = count(sample.cachedContentTokenCount)
  const input = count(sample.promptTokenCount) + count(sample.toolUsePromptTokenCount)
  return {
    uncached: Math.max(0, input - cacheRead),
    cacheRead,
    cacheWrite: 0,
    output: count(sample.candidatesTokenCount) + count(sample.thoughtsTokenCount),
  }
}

/** All input tokens of a recorded call; 0 where none were recorded. */
export function inputTokens(sample: unknown): number {
  if (!isObject(sample)) return 0
  return count(sample.uncached) + count(sample.cacheRead) + count(sample.cacheWrite)
}

function firstObject(
  sample: Readonly<Record<string, unknown>>,
  keys: readonly string[],
): Readonly<Record<string, unknown>> {
  for (const key of keys) {
    const value = sample[key]
    if (isObject(value)) return value
  }
  return {}
}

function count(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0
}

function noUsage(): OrielError {
  return new OrielError(
    'invalid-input',
    'A usage sample needs the input tokens of the call, for example { prompt_tokens, completion_tokens }.',
    { path: 'sample' },
  )
}
