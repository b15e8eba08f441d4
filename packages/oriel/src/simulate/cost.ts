// Cost of a sequence of requests with a provider's prefix cache, in base input tokens.

import type { Counter } from '../core/tokens/counter.ts'
import { type Piece, sharedPrefix } from './pieces.ts'

export interface CachePrices {
  /** Price of a cache read, relative to an uncached input token. @default 0.1 */
  readonly read?: number
  /** Price of a cache write. @default 1.25 */
  readonly write?: number
  /** Time to live of a cached prefix, in milliseconds. @default unlimited */
  readonly ttlMs?: number
  /** Minimum length of a cached prefix, in tokens. @default 0 */
  readonly minimumTokens?: number
}

export interface RequestCost {
  /** Tokens of the whole request. */
  readonly tokens: number
  /** Tokens read from the cache. */
  readonly cached: number
  /** In base input tokens. */
  readonly cost: number
  /** Why the cache did not cover the whole previous request, if it did not. */
  readonly broken?: 'edit' | 'ttl'
  /** Tokens of the previous request that were written again or dropped. */
  readonly lost: number
  /** Index of the first piece that is not cached. */
  readonly shared: number
}

/** Memoizes a counter: replays show the same texts repeatedly. */
export function memoizeCounter({ name, count }: Counter): Counter {
  const known = new Map<string, number>()
  return {
    name,
    count(text) {
      let tokens = known.get(text)
      if (tokens === undefined) {
        tokens = count(text)
        known.set(text, tokens)
      }
      return tokens
    },
  }
}

/** Simulated provider cache of one conversation. It holds the newest request. */
export class CacheMeter {
  readonly #counter: Counter
  readonly #prices: Required<CachePrices>
  #before: readonly Piece[] = []
  #beforeAt: number | undefined

  constructor(counter: Counter, prices: CachePrices = {}) {
    const { read = 0.1, write = 1.25, ttlMs = Infinity, minimumTokens = 0 } = prices
    this.#counter = counter
    this.#prices = { read, write, ttlMs, minimumTokens }
  }

  /** Sends a request at time `at`, in milliseconds, if known. */
  send(pieces: readonly Piece[], at?: number): RequestCost {
    const { read, write, ttlMs, minimumTokens } = this.#prices
    const before = this.#before
    const gap = at === undefined || this.#beforeAt === undefined ? 0 : at - this.#beforeAt
    const isLive = gap <= ttlMs
    const shared = sharedPrefix(before, pieces)
    const sharedTokens = this.#sum(pieces, 0, shared)
    const tokens = sharedTokens + this.#sum(pieces, shared, pieces.length)
    const cached = isLive && sharedTokens >= minimumTokens ? sharedTokens : 0
    const isEdited = shared < before.length
    const broken = !isLive ? 'ttl' : isEdited ? 'edit' : undefined
    const lost = isLive
      ? this.#sum(before, shared, before.length)
      : this.#sum(before, 0, before.length)
    this.#before = pieces
    this.#beforeAt = at ?? this.#beforeAt
    return {
      tokens,
      cached,
      cost: read * cached + write * (tokens - cached),
      ...(broken === undefined ? {} : { broken }),
      lost,
      shared,
    }
  }

  #sum(pieces: readonly Piece[], from: number, to: number): number {
    let tokens = 0
    for (let index = from; index < to; index++) {
      const piece = pieces[index] as Piece
      tokens += piece.extraTokens
      for (const text of piece.texts) tokens += this.#counter.count(text)
    }
    return tokens
  }
}
