// The provider's own token counts, in one shape whatever the provider calls them.

import { isObject } from '../core/log/json.ts'

/** Tokens of one model call. The three input numbers are disjoint. */
export interface Usage {
  /** Input tokens that were neither read from nor written to the cache. */
  readonly uncached: number
  readonly cacheRead: number
  readonly cacheWrite: number
  readonly output: number
}

/** A number of tokens; 0 for what is none. */
export function count(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0
}

/** The counts of a provider whose input includes what was cached. */
export function inclusiveUsage(counts: {
  readonly input: unknown
  readonly cacheRead?: unknown
  readonly cacheWrite?: unknown
  readonly output: unknown
}): Usage {
  const cacheRead = count(counts.cacheRead)
  const cacheWrite = count(counts.cacheWrite)
  return {
    uncached: Math.max(0, count(counts.input) - cacheRead - cacheWrite),
    cacheRead,
    cacheWrite,
    output: count(counts.output),
  }
}

/** A count among details; undefined where there is none. */
export function tokensIn(details: unknown, name: string): number | undefined {
  const value = isObject(details) ? details[name] : undefined
  return typeof value === 'number' ? value : undefined
}
