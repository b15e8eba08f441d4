// Offline optimum: the minimum cost of clearing old tool results when the whole conversation is
// known. A baseline for schedules.

import { assertOptions, type OptionNames } from '../core/log/options.ts'
import type { Counter } from '../core/tokens/counter.ts'
import type { CachePrices } from './cost.ts'
import { framePieces, type Piece, piecesOf } from './pieces.ts'
import type { Opened, RecordedMessage } from './recording.ts'

export interface OptimumOptions {
  readonly counter: Counter
  readonly prices?: CachePrices
  /** Newest results that are never cleared. @default 4 */
  readonly keep?: number
  /** Tokens of a cleared result's placeholder. @default those of `[Omitted]` */
  readonly placeholderTokens?: number
}

const optimumOptions: OptionNames<OptimumOptions> = {
  counter: true,
  prices: true,
  keep: true,
  placeholderTokens: true,
}

/**
 * Cost, in base input tokens, of the best schedule of this class: results are cleared oldest first,
 * permanently, and the newest `keep` are untouched. Dynamic programming over (request, results
 * cleared so far).
 */
export function optimalCost(recording: Opened, options: OptimumOptions): number {
  assertOptions(options, optimumOptions, 'optimalCost')
  const { prices, keep = 4, counter } = options
  const { read = 0.1, write = 1.25, ttlMs = Infinity, minimumTokens = 0 } = prices ?? {}
  const { placeholderTokens = counter.count('[Omitted]') } = options
  const ledger = new Ledger(recording, counter, placeholderTokens)
  const saved = (cached: number): number => (cached < minimumTokens ? 0 : (write - read) * cached)
  // Minimum cost so far, by number of cleared results.
  let best: readonly number[] = [0]
  let before: number | undefined
  let beforeAt: number | undefined
  for (const answer of recording.answers) {
    const now = ledger.at(answer)
    const at = recording.recorded[answer]?.at
    if (at !== undefined && beforeAt !== undefined && at - beforeAt > ttlMs) before = undefined
    beforeAt = at ?? beforeAt
    const most = Math.max(best.length - 1, now.results - keep)
    const next: number[] = []
    // Minimum cost of a transition from a state with fewer cleared results.
    let breaking = Infinity
    for (let cleared = 0; cleared <= most; cleared++) {
      const stay = best[cleared] ?? Infinity
      const cached = before === undefined ? 0 : before - ledger.gain(cleared)
      const tokens = now.tokens - ledger.gain(cleared)
      next.push(write * tokens + Math.min(stay - saved(cached), breaking))
      const prefix = before === undefined ? 0 : ledger.prefix(cleared, before)
      breaking = Math.min(breaking, stay - saved(prefix))
    }
    best = next
    before = now.tokens
  }
  return recording.answers.length === 0 ? 0 : Math.min(...best)
}

/** Token sums of a conversation, by position and by result. */
class Ledger {
  readonly #tokens: number[] = [0]
  readonly #results: number[] = [0]
  /** Tokens before each result in full, and the gain of clearing it. */
  readonly #places: { readonly before: number; readonly gain: number }[] = []
  readonly #gains: number[] = [0]

  constructor(recording: Opened, counter: Counter, placeholderTokens: number) {
    let total = sum(framePieces(recording.frame), counter)
    this.#tokens[0] = total
    for (const message of recording.recorded) {
      for (const piece of piecesOf(message.foreign)) {
        const tokens = sum([piece], counter)
        const gain = isResult(message, piece)
          ? Math.max(0, tokens - piece.extraTokens - placeholderTokens)
          : undefined
        if (gain !== undefined) {
          this.#places.push({ before: total, gain })
          this.#gains.push((this.#gains.at(-1) as number) + gain)
        }
        total += tokens
      }
      this.#tokens.push(total)
      this.#results.push(this.#places.length)
    }
  }

  /** Tokens before a position with nothing cleared. */
  at(position: number): { readonly tokens: number; readonly results: number } {
    return {
      tokens: this.#tokens[position] as number,
      results: this.#results[position] as number,
    }
  }

  /** Gain of clearing the oldest results. */
  gain(cleared: number): number {
    return this.#gains[cleared] ?? (this.#gains.at(-1) as number)
  }

  /**
   * Tokens that stay cached when the next result is cleared: everything before the first changed
   * result.
   */
  prefix(cleared: number, full: number): number {
    let next = cleared
    while (this.#places[next]?.gain === 0) next += 1
    const before = Math.min(this.#places[next]?.before ?? Infinity, full)
    return before - this.gain(cleared)
  }
}

/** Anthropic has results in user messages. */
const resultTypes: ReadonlySet<string> = new Set(['tool_result'])

/** True for a tool result; other pieces of the same message, such as user text, are not. */
function isResult({ role }: RecordedMessage, piece: Piece): boolean {
  if (role !== 'tool') return false
  return piece.role !== 'user' || piece.identity.some((one) => resultTypes.has(one))
}

function sum(pieces: readonly Piece[], counter: Counter): number {
  let tokens = 0
  for (const { texts, extraTokens } of pieces) {
    tokens += extraTokens
    for (const text of texts) tokens += counter.count(text)
  }
  return tokens
}
