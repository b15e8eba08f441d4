// What an action on a block would do to the next request: blocks, tokens, and how much of the cache it costs.

import type { BlockRow, OutlineRow } from '../contract.ts'

export interface Effect {
  readonly blocks: number
  /** Tokens that the next request has more; negative for fewer. */
  readonly tokens: number
  /** Tokens behind the first change: the provider reads them anew. */
  readonly cache: number
}

export type Action = 'undo' | 'expand' | 'pin' | 'exclude'

/** The effect of an action, from the tokens of the rows. */
export function effectOf(rows: readonly OutlineRow[], target: BlockRow, action: Action): Effect {
  const isMeant = (row: OutlineRow): boolean => {
    if (action === 'undo')
      return target.edit !== undefined && 'edit' in row && row.edit === target.edit
    if (row.type !== 'block') return false
    if (action === 'expand') return row.id === target.id
    return row.message === target.message
  }
  const isBack = action !== 'exclude' || target.isExcluded === true
  let [blocks, tokens, first] = [0, 0, -1]
  rows.forEach((row, at) => {
    if (!isMeant(row)) return
    const change = isBack ? row.tokens - row.shown : -row.shown
    if (change === 0) return
    if (row.type === 'block') blocks += 1
    if (row.type === 'folded') blocks += row.blocks
    tokens += change
    if (first === -1) first = at
  })
  // Inside a run, of which the rows are not here.
  const run = rows.findIndex(
    (row) => row.type === 'folded' && target.seq >= row.from && target.seq <= row.to,
  )
  if (first === -1 && run !== -1 && isBack && action !== 'undo') {
    ;[blocks, tokens, first] = [1, target.tokens - target.shown, run]
  }
  const cache = first === -1 ? 0 : rows.slice(first).reduce((sum, { shown }) => sum + shown, 0)
  return { blocks, tokens, cache }
}
