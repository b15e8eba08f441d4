// Rows of the inspector: what the outline has, filtered, grouped by turn, with opened runs unfolded.

import type { BlockRow, OutlineRow } from '../contract.ts'

export type Row =
  | {
      readonly type: 'turn'
      readonly key: string
      readonly turn: number
      readonly lastTurn: number
    }
  | {
      readonly type: 'row'
      readonly key: string
      readonly row: OutlineRow
      readonly isOpen: boolean
      /** Inside an opened run. */
      readonly isInside: boolean
      /** The first row that the request does not show as the one before did. */
      readonly isFirstChange: boolean
    }

export interface Filter {
  /** Only what is not shown as it was said. */
  readonly show: 'all' | 'changed' | 'errors'
  /** A category of the context bar. */
  readonly only: string | undefined
  /** A tool's or a rule's name. */
  readonly of: string | undefined
  /** Text; `has` tells whether an original contains it. */
  readonly has: ((row: BlockRow) => boolean) | undefined
}

export interface RowsInput {
  readonly rows: readonly OutlineRow[]
  readonly filter: Filter
  /** Keys of opened runs. */
  readonly open: ReadonlySet<string>
}

export function rowsOf({ rows, filter, open }: RowsInput): readonly Row[] {
  const list: Row[] = []
  const first = rows.findIndex((row) => 'since' in row && row.since === 'changed')
  let turn = -1
  rows.forEach((row, at) => {
    const isSearching =
      filter.has !== undefined || filter.of !== undefined || filter.show === 'errors'
    const inside = row.type === 'folded' ? row.rows.filter((one) => isShown(one, filter)) : []
    const isHere =
      row.type === 'folded' ? isRunShown(row, filter, inside.length) : isShown(row, filter)
    if (!isHere) return
    const own = turnOf(row)
    if (own !== undefined && own[0] !== turn) {
      turn = own[0]
      list.push({ type: 'turn', key: `turn-${turn}`, turn, lastTurn: own[1] })
    }
    const key = keyOf(row)
    const isOpen = row.type === 'folded' && (open.has(key) || (isSearching && inside.length > 0))
    list.push({ type: 'row', key, row, isOpen, isInside: false, isFirstChange: at === first })
    if (!isOpen) return
    for (const one of inside) {
      list.push({
        type: 'row',
        key: keyOf(one),
        row: one,
        isOpen: false,
        isInside: true,
        isFirstChange: false,
      })
    }
    if (own !== undefined) turn = own[1]
  })
  return list
}

export function keyOf(row: OutlineRow): string {
  switch (row.type) {
    case 'block':
      return `${row.seq}/${row.index}`
    case 'folded':
      return `run-${row.from}`
    case 'summary':
      return `summary-${row.edit ?? row.text.slice(0, 40)}`
    default:
      return row.type
  }
}

/** Whether the request shows it otherwise than it was said, or it was marked by a person. */
export function isChanged(row: OutlineRow): boolean {
  if (row.type === 'folded' || row.type === 'summary') return true
  if (row.type !== 'block') return false
  return (
    row.form !== 'full' ||
    row.isPinned === true ||
    row.isExcluded === true ||
    row.since === 'changed'
  )
}

function isShown(row: OutlineRow, { show, only, of, has }: Filter): boolean {
  if (show === 'changed' && !isChanged(row)) return false
  if (show === 'errors' && !(row.type === 'block' && row.isError === true)) return false
  if (only !== undefined && categoryOf(row) !== only) return false
  if (of !== undefined) {
    const isOf = row.type === 'block' && (row.tool === of || row.rule === of)
    if (!isOf && !(row.type === 'summary' && row.rule === of)) return false
  }
  if (has === undefined) return true
  return row.type === 'block' && has(row)
}

function isRunShown(
  row: Extract<OutlineRow, { type: 'folded' }>,
  { show, only, of, has }: Filter,
  inside: number,
): boolean {
  // What fills the window is what is in it.
  if (only !== undefined) return false
  if (show === 'errors' || has !== undefined) return inside > 0
  return of === undefined || row.rule === of || inside > 0
}

function categoryOf(row: OutlineRow): string | undefined {
  if (row.type === 'block') return row.shown > 0 ? row.category : undefined
  return row.type === 'summary' ? 'summary' : row.type
}

function turnOf(row: OutlineRow): readonly [number, number] | undefined {
  if (row.type === 'block') return [row.turn, row.turn]
  return row.type === 'folded' ? [row.turn, row.lastTurn] : undefined
}
