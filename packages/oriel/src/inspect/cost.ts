// Dollars: what a call cost, what tokens that were not sent would have cost at least, what a cache break cost.

import type { Usage } from '../core/log/entry.ts'
import { lookupPrices } from '../schedule/prices.ts'

const million = 1_000_000
/** Models whose prices are memoized. */
const maxKnown = 200

/** Dollars for a million tokens of each kind. */
export interface Rates {
  readonly input: number
  readonly read: number
  readonly write: number
  readonly output: number | undefined
}

const known = new Map<string, Rates | undefined>()

/** Dollars of one call, by the catalogue's prices; undefined for a model that the catalogue does not know. */
export function dollarsOf(usage: Usage, model: string | undefined): number | undefined {
  const rates = ratesOf(model)
  if (rates?.output === undefined) return undefined
  const { uncached, cacheRead, cacheWrite, output } = usage
  const input = uncached * rates.input + cacheRead * rates.read + cacheWrite * rates.write
  return (input + output * rates.output) / million
}

/**
 * Dollars that tokens would have cost which were not sent: at the price of a cache read, a lower bound. Undefined for a model that the
 * catalogue does not know.
 */
export function dollarsSaved(tokens: number, model: string | undefined): number | undefined {
  const rates = ratesOf(model)
  return rates === undefined ? undefined : (tokens * rates.read) / million
}

/** Dollars that a cache break cost: its tokens are written again instead of read. */
export function dollarsOfBreak(tokens: number, model: string | undefined): number | undefined {
  const rates = ratesOf(model)
  return rates === undefined
    ? undefined
    : (tokens * Math.max(0, rates.write - rates.read)) / million
}

/** The prices of a model by the catalogue; undefined for one that it does not know. */
export function ratesOf(model: string | undefined): Rates | undefined {
  if (model === undefined) return undefined
  if (known.has(model)) return known.get(model)
  const { inputDollars, outputDollars, read, write } = lookupPrices({ model })
  const rates =
    inputDollars === undefined
      ? undefined
      : {
          input: inputDollars,
          read: inputDollars * read,
          write: inputDollars * write,
          output: outputDollars,
        }
  if (known.size < maxKnown) known.set(model, rates)
  return rates
}
