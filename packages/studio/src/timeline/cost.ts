// Cost of a thread's steps, actual and with the whole log sent each time.

import type { TimelineStep, Usage } from '../contract.ts'

export interface Prices {
  /** Price of a cache read, relative to the base price of an input token. */
  readonly read: number
  /** Price of a cache write, relative to the base price. */
  readonly write: number
}

/** Fallback prices: those of the provider with explicit caching. */
export const usualPrices: Prices = { read: 0.1, write: 1.25 }

/** Input cost of a thread so far, in tokens at the base price. */
export function inputCost({ uncached, cacheRead, cacheWrite }: Usage): number {
  return uncached + usualPrices.read * cacheRead + usualPrices.write * cacheWrite
}

export interface StepCost {
  readonly step: number
  /** Input cost of this step, in tokens at the base price. */
  readonly withOriel: number
  readonly withoutOriel: number
}

/** Causes that would have broken the cache of an unchanged log as well. */
const notOurs: ReadonlySet<string> = new Set([
  'ttl',
  'tools',
  'system',
  'parameters',
  'model',
  'routing',
])

/**
 * Skips steps without provider usage. The unchanged log is longer by the ratio of our own count. It
 * is cached up to the end of the previous step, unless the cache was lost for a reason other than
 * an edit.
 */
export function costsOf(
  steps: readonly TimelineStep[],
  { read, write }: Prices,
): readonly StepCost[] {
  const usages = steps.flatMap(({ usage }) => (usage === undefined ? [] : [usage]))
  const isCached = usages.some(({ cacheRead, cacheWrite }) => cacheRead + cacheWrite > 0)
  const isWritten = usages.some(({ cacheWrite }) => cacheWrite > 0)
  const fresh = isWritten ? write : 1
  const costs: StepCost[] = []
  let before = 0
  for (const { step, usage, tokens, cacheBreak } of steps) {
    if (usage === undefined) continue
    const input = usage.uncached + usage.cacheRead + usage.cacheWrite
    const whole = input + Math.max(0, tokens.log - tokens.view)
    const isLost = cacheBreak !== undefined && notOurs.has(cacheBreak.cause)
    const cached = isCached && !isLost ? Math.min(before, whole) : 0
    costs.push({
      step,
      withOriel: usage.uncached + read * usage.cacheRead + write * usage.cacheWrite,
      withoutOriel: read * cached + fresh * (whole - cached),
    })
    before = whole
  }
  return costs
}

/** Cumulative sums. */
export function runningSums(values: readonly number[]): readonly number[] {
  let sum = 0
  return values.map((value) => {
    sum += value
    return sum
  })
}
