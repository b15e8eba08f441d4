// The low and high mark of a cache-aware conversation: its size after a checkpoint, and the size at which the next one is due.

import type { Prices } from './cache-rules.ts'

export interface Window {
  /** Tokens of conversation right after a checkpoint. */
  readonly low: number
  /** Tokens of conversation at which the next checkpoint is due. */
  readonly high: number
}

export interface WindowInput {
  /** Tokens of everything ever said. */
  readonly totalTokens: number
  /** Model calls so far. */
  readonly steps: number
  readonly prices: Pick<Prices, 'read' | 'write'>
  /** Tokens that the conversation may have at most. @default no limit */
  readonly limit?: number
  /** Tokens below which the conversation is never folded. @default 0 */
  readonly least?: number
  /** Moves both marks by this factor: above 1 folds later and keeps more. @default 1 */
  readonly scale?: number
}

/** Shorter conversations are never folded: there is nothing to win. */
const leastLow = 5800
/** A model that needs more at once is rare, and every model gets worse with length. */
const mostLow = 48_000
/** What is needed of a conversation grows far more slowly than the conversation. */
const growth = 45
/** What the last few steps brought is needed more often than anything older: where they bring much, so much stays. */
const newestSteps = 4
/** Earlier than the formula says: what stands before the checkpoint is not written again. */
const patience = 0.75

/**
 * The low mark follows the square root of the conversation's length, and holds a few steps. Between the marks, each step reads what is carried, and each
 * checkpoint writes the low mark again: the cost is least where the two are equal, `high = low + sqrt(2 * (w - r) / r * low * inflow)`.
 * `least` moves both marks up by the same factor: who folds later keeps more.
 */
export function windowOf(input: WindowInput): Window {
  const { totalTokens, steps, prices, limit = Infinity, least = 0, scale = 1 } = input
  const { read, write } = prices
  const most = Math.min(mostLow, limit / 2)
  const inflow = totalTokens / Math.max(1, steps)
  const needed = Math.max(growth * Math.sqrt(totalTokens), newestSteps * inflow)
  const low = Math.min(most, Math.max(leastLow, needed))
  const ratio = Math.max(1, (write - read) / Math.max(read, 0.01))
  const high = low + patience * Math.sqrt(2 * ratio * low * inflow)
  const factor = Math.max(scale, Math.min(least, limit) / high)
  return {
    low: Math.round(Math.min(low * factor, limit / 2)),
    high: Math.round(Math.min(high * factor, limit)),
  }
}
