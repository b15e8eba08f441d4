// Strength: which of two edits of one block wins.

import type { Edit, EditEntry } from '../log/entry.ts'
import { strongest } from './render.ts'

/** A stronger form, or the same form with fewer tokens; of two placeholders the one that was there first. */
export function isStronger(a: Edit, b: Edit): boolean {
  if (a.form === b.form && a.form === 'omitted')
    return (a.since ?? Infinity) < (b.since ?? Infinity)
  if (a.form === b.form) return a.tokensAfter < b.tokensAfter
  if (a.form === 'summarized' && b.form === 'clipped') return isSummaryStronger(a, b)
  if (a.form === 'clipped' && b.form === 'summarized') return !isSummaryStronger(b, a)
  return strongest(a.form, b.form) === a.form
}

/** Whether a summary replaces a cut text: not where the cut came first and is shorter, so that its limit holds. */
export function isSummaryStronger(summary: Edit | EditEntry, cut: Edit | EditEntry): boolean {
  return summary.tokensAfter < cut.tokensAfter || tookPlace(cut) >= tookPlace(summary)
}

function tookPlace(edit: Edit | EditEntry): number {
  return edit.since ?? ('seq' in edit ? edit.seq : Infinity)
}
