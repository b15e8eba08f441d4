// What a snapshot keeps of a state.

import type { EditIndexData } from './edit-index.ts'
import type { ExchangeIndexData } from './exchange.ts'
import type { ShownAgain } from './expansion.ts'
import type { MovesData } from './moves.ts'

/** What a snapshot keeps: everything but the messages themselves, which stay in the log. */
export interface StateData {
  readonly version: number
  readonly messageCount: number
  readonly assistantCount: number
  readonly totalTokens: number
  readonly turn: number
  readonly newestUser: number | null
  readonly firstSpoken: number | null
  readonly newestAssistant: number | null
  /** The number of messages that bear retention: all, and those that the model has answered. */
  readonly ordinals: readonly [newest: number, answered: number]
  /** Visible messages: seq, index, tokens of each block, ordinal among those that bear retention. */
  readonly visible: readonly (readonly [number, number, readonly number[], (number | null)?])[]
  /** All others: seq, index, tokens and characters of each block, positions of those that no later request may show. */
  readonly hidden: readonly (readonly [
    number,
    number,
    readonly number[],
    readonly number[],
    (readonly number[])?,
  ])[]
  readonly pinned: readonly number[]
  readonly excluded: readonly number[]
  readonly expansions: readonly (readonly [string, ShownAgain])[]
  readonly exchanges: ExchangeIndexData
  readonly edits: EditIndexData
  readonly moves: MovesData
}
