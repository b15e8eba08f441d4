// What calls cost, where the price of the model is known.

import { lookupPrices, type Usage } from 'oriel'

/** Dollars of one call, by the catalogue's prices; undefined for models that it does not know. */
export function dollarsOf(usage: Usage, model: string | undefined): number | undefined {
  if (model === undefined) return undefined
  const { inputDollars, outputDollars, read, write } = lookupPrices({ model })
  if (inputDollars === undefined || outputDollars === undefined) return undefined
  const { uncached, cacheRead, cacheWrite, output } = usage
  const input = uncached + cacheRead * read + cacheWrite * write
  return (input * inputDollars + output * outputDollars) / 1_000_000
}
