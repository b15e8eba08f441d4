// The token counts of a language model's answer, in every version of the SDK's specification.

import { isObject } from '../core/log/json.ts'
import type { CallUsage } from './conversation.ts'

/** Undefined where the model told nothing. */
export function usageOf(usage: unknown): CallUsage | undefined {
  if (!isObject(usage)) return undefined
  const { inputTokens, outputTokens } = usage
  if (isObject(inputTokens)) {
    const cacheRead = count(inputTokens.cacheRead)
    const cacheWrite = count(inputTokens.cacheWrite)
    const total = inputTokens.total
    if (typeof total !== 'number' && typeof inputTokens.noCache !== 'number') return undefined
    const rest = count(total) - cacheRead - cacheWrite
    const uncached = typeof inputTokens.noCache === 'number' ? inputTokens.noCache : rest
    const output = isObject(outputTokens) ? count(outputTokens.total) : 0
    return { uncached: Math.max(0, uncached), cacheRead, cacheWrite, output }
  }
  // Version 2 of the specification: one number each, cached tokens among the input.
  if (typeof inputTokens !== 'number') return undefined
  const cacheRead = count(usage.cachedInputTokens)
  const uncached = Math.max(0, inputTokens - cacheRead)
  return { uncached, cacheRead, cacheWrite: 0, output: count(outputTokens) }
}

function count(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0
}
