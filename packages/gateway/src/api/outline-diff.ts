// The difference of two outlines: the rows at both ends that are the same stay with the page.

import type { OutlineRow } from 'oriel/inspect'

export interface SameEnds {
  /** Rows that are the same at the beginning, and at the end. They do not overlap in either list. */
  readonly start: number
  readonly end: number
}

export function sameEnds(before: readonly OutlineRow[], after: readonly OutlineRow[]): SameEnds {
  const shorter = Math.min(before.length, after.length)
  let start = 0
  while (start < shorter && isSame(before[start], after[start])) start += 1
  let end = 0
  while (end < shorter - start && isSame(before.at(-1 - end), after.at(-1 - end))) end += 1
  return { start, end }
}

/** Rows of the same fields; of a run its first and last entry and its sums say what is inside. */
function isSame(a: OutlineRow | undefined, b: OutlineRow | undefined): boolean {
  if (a === b) return true
  return a !== undefined && b !== undefined && hasFieldsOf(a, b) && hasFieldsOf(b, a)
}

/** Whether all fields of one row are those of the other. Lists are left out; the rows inside a run are not even made. */
function hasFieldsOf(row: OutlineRow, other: OutlineRow): boolean {
  for (const name in row) {
    if (name === 'rows') continue
    const value = row[name as keyof OutlineRow]
    if (value !== other[name as keyof OutlineRow] && !Array.isArray(value)) return false
  }
  return true
}
