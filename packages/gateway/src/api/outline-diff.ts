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
  if (a === undefined || b === undefined) return false
  const [one, other] = [a, b].map((row) =>
    Object.entries(row).filter(([, value]) => !Array.isArray(value)),
  )
  if (one === undefined || other === undefined || one.length !== other.length) return false
  const fields = new Map<string, unknown>(other)
  return one.every(([name, value]) => fields.get(name) === value)
}
