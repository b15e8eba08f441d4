// What was saved, in dollars: never more than what it must have been.

import { lookupPrices } from 'oriel'

/** Models whose prices are remembered. */
const maxKnown = 200

interface Rates {
  /** Dollars of a token that is read from the provider's cache. */
  readonly read: number
  /** Dollars that a token costs more when it is written to the cache again instead of read from it. */
  readonly again: number
}

const known = new Map<string, Rates | undefined>()

/**
 * Dollars that tokens would have cost which were not sent: at the price of a token from the provider's cache, the least that it can have.
 * Undefined where the price of the model is not known.
 */
export function dollarsSaved(tokens: number, model: string): number | undefined {
  const rates = ratesOf(model)
  return rates === undefined ? undefined : tokens * rates.read
}

/** Dollars that a break of the cache cost: its tokens are written again instead of read. */
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
