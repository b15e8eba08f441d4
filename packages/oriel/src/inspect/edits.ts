// The edits of a thread, each with whether it is in force.

import type { EditEntry, Entry } from '../core/log/entry.ts'

export type ListedEdit = EditEntry & {
  /** False once it was undone. */
  readonly live: boolean
}

/** Every edit of a log, oldest first. */
export function listEdits(entries: readonly Entry[]): readonly ListedEdit[] {
  const undone = new Set(entries.flatMap((entry) => (entry.type === 'undo' ? [entry.edit] : [])))
  return entries
    .filter((entry) => entry.type === 'edit')
    .map((edit) => ({ ...edit, live: !undone.has(edit.id) }))
}
