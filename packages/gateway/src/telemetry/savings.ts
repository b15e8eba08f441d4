// Cost savings in dollars, as lower bounds.

import { lookupPrices } from 'oriel'

/** Maximum cached prices. */
const maxKnown = 200

interface Rates {
  /** Dollars per token read from the provider's cache. */
  readonly read: number
  /** Extra dollars per token written to the cache instead of read. */
  readonly again: number
}

const known = new Map<string, Rates | undefined>()

/**
 * Dollars saved by tokens not sent, at the cache read price, which is the minimum they would have
 * cost. Undefined if the model's price is unknown.
 */
export function dollarsSaved(tokens: number, model: string): number | undefined {
  const rates = ratesOf(model)
  return rates === undefined ? undefined : tokens * rates.read
}

/** Dollars lost by a cache break: its tokens are written again instead of read. */
export function dollarsOfBreak(tokens: number, model: string): number | undefined {
  const rates = ratesOf(model)
  return rates === undefined ? undefined : tokens * rates.again
}

function ratesOf(model: string): Rates | undefined {
  if (known.has(model)) return known.get(model)
  const { inputDollars, read, write } = lookupPrices({ model })
  const rates =
    inputDollars === undefined
      ? undefined
      : {
          read: (inputDollars * read) / 1_000_000,
          again: (inputDollars * Math.max(0, write - read)) / 1_000_000,
        }
  if (known.size < maxKnown) known.set(model, rates)
  return rates
}
