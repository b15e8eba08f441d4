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
  /** Entries that contain the text that is looked for. */
  readonly found: readonly number[] | undefined
}

export interface RowsInput {
  readonly rows: readonly OutlineRow[]
  readonly filter: Filter
  /** Opened runs, by their first seq. */
  readonly open: ReadonlySet<number>
  /** The rows inside runs, as far as they are there. */
  readonly inside: ReadonlyMap<number, readonly BlockRow[]>
}

/** Runs that must be opened: those chosen, and those that hold what is filtered for. */
export function openRuns(
  rows: readonly OutlineRow[],
  filter: Filter,
  chosen: ReadonlySet<number>,
): ReadonlySet<number> {
  const { found, of, show } = filter
  const open = new Set(chosen)
  for (const row of rows) {
    if (row.type !== 'folded') continue
    const isFound = found?.some((seq) => seq >= row.from && seq <= row.to) === true
    const isOf = of !== undefined && row.tools.includes(of)
    if (isFound || isOf || (show === 'errors' && row.errors > 0)) open.add(row.from)
  }
  return open
}

export function rowsOf({ rows, filter, open, inside }: RowsInput): readonly Row[] {
  const list: Row[] = []
  const first = rows.findIndex((row) => 'since' in row && row.since === 'changed')
  let turn = -1
  rows.forEach((row, at) => {
    const isRun = row.type === 'folded'
    const isOpen = isRun && open.has(row.from)
    if (isRun ? !isRunShown(row, filter, isOpen) : !isShown(row, filter)) return
    const own = turnOf(row)
    if (own !== undefined && own[0] !== turn) {
      turn = own[0]
      list.push({ type: 'turn', key: `turn-${turn}-${at}`, turn, lastTurn: own[1] })
    }
    const isFirstChange = at === first
    list.push({ type: 'row', key: keyOf(row), row, isOpen, isInside: false, isFirstChange })
    if (own !== undefined) turn = own[1]
    if (!isOpen) return
    for (const one of inside.get(row.from) ?? []) {
      if (!isShown(one, filter)) continue
      const shared = { isOpen: false, isInside: true, isFirstChange: false }
      list.push({ type: 'row', key: keyOf(one), row: one, ...shared })
    }
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

function isShown(row: OutlineRow, { show, only, of, found }: Filter): boolean {
  if (show === 'changed' && !isChanged(row)) return false
  if (show === 'errors' && !(row.type === 'block' && row.isError === true)) return false
  if (only !== undefined && categoryOf(row) !== only) return false
  if (of !== undefined) {
    const isOf = row.type === 'block' && (row.tool === of || row.rule === of)
    if (!isOf && !(row.type === 'summary' && row.rule === of)) return false
  }
  return found === undefined || (row.type === 'block' && found.includes(row.seq))
}

function isRunShown(
  row: Extract<OutlineRow, { type: 'folded' }>,
  { show, only, of, found }: Filter,
  isOpen: boolean,
): boolean {
  // What fills the window is what is in it.
  if (only !== undefined) return false
  if (show === 'errors') return row.errors > 0
  if (found !== undefined) return found.some((seq) => seq >= row.from && seq <= row.to)
  return of === undefined || row.rule === of || isOpen
}

function categoryOf(row: OutlineRow): string | undefined {
  if (row.type === 'block') return row.shown > 0 ? row.category : undefined
  return row.type === 'summary' ? 'summary' : row.type
}

function turnOf(row: OutlineRow): readonly [number, number] | undefined {
  if (row.type === 'block') return [row.turn, row.turn]
  return row.type === 'folded' ? [row.turn, row.lastTurn] : undefined
}
