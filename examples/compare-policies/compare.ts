// Which policy would have been cheapest on recorded conversations without hiding anything that the agent later used?

import type { Policy } from 'oriel'
import { lookupPrices, type Recording, simulate } from 'oriel/simulate'

/** What one policy would have done. */
export interface Row {
  readonly name: string
  readonly dollars: number
  /** Share of the facts that the agent used and that the model could see when it used them. */
  readonly recall: number
}

/** Compares ways to treat old tool results, cheapest first, doing nothing included. */
export async function compare(recordings: readonly Recording[]): Promise<readonly Row[]> {
  const keep = (max: number): Policy => ({
    toolResults: { strategy: 'keepRecent', max, cutoff: 0 },
  })
  const {
    none,
    outcomes,
    inputDollars = 0,
  } = await simulate(recordings, {
    policies: [
      { name: 'keep 4 results', policy: keep(4) },
      { name: 'keep 4, cache-aware', policy: { ...keep(4), schedule: 'cache-aware' } },
      { name: 'recommended', policy: 'recommended' },
    ],
    prices: lookupPrices({ model: 'claude-sonnet-4-6' }),
  })
  return [none, ...outcomes]
    .map(({ name, totals }): Row => {
      const { needed, visible } = totals.arguments
      return {
        name,
        dollars: (totals.cost * inputDollars) / 1e6,
        recall: needed === 0 ? 1 : visible / needed,
      }
    })
    .sort((a, b) => a.dollars - b.dollars)
}
