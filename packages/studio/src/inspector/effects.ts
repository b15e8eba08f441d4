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
  const flat = rows.flatMap((row): readonly OutlineRow[] =>
    row.type === 'folded' ? row.rows : [row],
  )
  const isMeant = (row: OutlineRow): boolean => {
    if (action === 'undo')
      return target.edit !== undefined && 'edit' in row && row.edit === target.edit
    if (row.type !== 'block') return false
    if (action === 'expand') return row.id === target.id
    return row.message === target.message
  }
  const isBack = action !== 'exclude' || target.isExcluded === true
  let [blocks, tokens, first] = [0, 0, -1]
  flat.forEach((row, at) => {
    if (!isMeant(row)) return
    const change = isBack ? row.tokens - row.shown : -row.shown
    if (change === 0) return
    if (row.type === 'block') blocks += 1
    tokens += change
    if (first === -1) first = at
  })
  const cache = first === -1 ? 0 : flat.slice(first).reduce((sum, { shown }) => sum + shown, 0)
  return { blocks, tokens, cache }
}
