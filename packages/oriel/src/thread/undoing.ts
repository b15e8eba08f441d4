// Which edits can be taken back together.

import type { EditEntry } from '../core/entry.ts'
import { OrielError } from '../core/errors.ts'
import type { State } from '../core/state.ts'

/**
 * The live edits of an id or an epoch, without those that did not preserve the original. Throws 'cannot-undo' where there are only such,
 * and where a newer checkpoint goes on from one of them.
 */
export function undoable(state: State, id: string): readonly EditEntry[] {
  const named = [...state.liveEdits()].filter((edit) => edit.id === id || edit.epoch === id)
  const edits = named.filter(({ isFinal }) => isFinal !== true)
  if (named.length > 0 && edits.length === 0) {
    throw new OrielError('cannot-undo', 'The original was not kept: it cannot be shown again.')
  }
  const isCheckpoint = ({ target, text }: EditEntry): boolean =>
    'ranges' in target && text !== undefined
  const oldest = edits.find(isCheckpoint)
  if (oldest === undefined) return edits
  const newer = state.dropEdits.filter(
    (edit) => isCheckpoint(edit) && edit.seq > oldest.seq && !edits.includes(edit),
  )
  if (newer.length === 0) return edits
  const newest = newer.at(-1)?.id
  throw new OrielError(
    'cannot-undo',
    `A newer checkpoint goes on from this one. Undo ${newest} first.`,
    { details: { newer: newer.map((edit) => edit.id) } },
  )
}
