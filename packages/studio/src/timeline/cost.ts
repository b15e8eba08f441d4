// What the steps of a thread cost, and what they would have cost with the whole log sent each time.

import type { TimelineStep, Usage } from '../contract.ts'

export interface Prices {
  /** Price of a token read from the cache, in tokens at the base price. */
  readonly read: number
  /** Price of a token written to the cache. */
  readonly write: number
}

/** Where the gateway knows no better: what the provider with explicit caching asks for. */
export const usualPrices: Prices = { read: 0.1, write: 1.25 }

/** Input of a thread so far, in tokens at the base price. */
export function inputCost({ uncached, cacheRead, cacheWrite }: Usage): number {
  return uncached + usualPrices.read * cacheRead + usualPrices.write * cacheWrite
}

export interface StepCost {
  readonly step: number
  /** Input tokens at the base price, this step. */
  readonly withOriel: number
  readonly withoutOriel: number
}

/** Causes of a break that would also have broken the cache of an unchanged log. */
const notOurs: ReadonlySet<string> = new Set([
  'ttl',
  'tools',
  'system',
  'parameters',
  'model',
  'routing',
])

/**
 * Steps without the provider's numbers are left out. The unchanged log is as much longer as our counter says; it is cached up to
 * where the step before ended, unless the cache was lost for a reason that is not an edit.
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

/** Sums from the first step on. */
export function runningSums(values: readonly number[]): readonly number[] {
  let sum = 0
  return values.map((value) => {
    sum += value
    return sum
  })
}
