// How much of a model's window results may take, where the window is known.

import { type Json, lookupPrices, type Policy } from 'oriel'

/** How much of the window is used: counters and providers differ, and the answer needs room too. */
const windowShare = 0.9
/** A few lines may always be read: a request that is nearly full is made smaller. */
const minTokens = 1000

export interface Filled {
  readonly policy: Policy
  readonly model: Json | undefined
  /** Tokens that the newest request had. */
  readonly usedTokens: number
}

/** Tokens that are left for results; infinite where nobody knows the window. */
export function roomTokensOf({ policy, model, usedTokens }: Filled): number {
  const known = lookupPrices(typeof model === 'string' ? { model } : {})
  const window = policy.compaction?.contextWindow ?? known.contextWindow
  if (window === undefined) return Infinity
  return Math.max(minTokens, Math.floor(window * windowShare) - usedTokens)
}
