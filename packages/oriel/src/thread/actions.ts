// What a person does to a block: undo, pin, exclude, expand. Done to the log, or to a copy of it in order to see what comes of it.

import type { EditEntry, Entry, MarkEntry } from '../core/log/entry.ts'
import { OrielError } from '../core/log/errors.ts'
import { parseId } from '../core/log/ids.ts'
import { isInRanges } from '../core/state/edits.ts'
import type { State } from '../core/state/state.ts'
import { expandIn } from './expand/show-again.ts'
import { findMessage } from './find-message.ts'
import type { Journal } from './journal/journal.ts'
import type { BuiltView, View } from './view/view.ts'

/** An action on a block or a message; `undo` takes the ids that `Thread.undo` takes. */
export interface ThreadAction {
  readonly type: 'undo' | 'expand' | MarkName
  readonly id: string
}

/** Marks that a person sets. */
export type MarkName = 'pin' | 'unpin' | 'exclude' | 'include'

/** The next view as it is and as an action would make it, or why the action would be refused. */
export type Rehearsal =
  | { readonly ok: true; readonly before: View; readonly after: View }
  | { readonly ok: false; readonly reason: string }

/** Does an action to a log, or to a copy of it; answers why it is refused. */
export async function act(
  journal: Journal,
  { type, id }: ThreadAction,
  lastView: () => Promise<BuiltView | undefined>,
): Promise<string | undefined> {
  try {
    if (type === 'undo') await undoEdits(journal, id)
    else if (type === 'expand') {
      const thread = { journal, find: (own: string) => findMessage(journal, own), lastView }
      const shown = await expandIn(thread, id, { inPlace: true })
      return shown.ok ? undefined : shown.reason
    } else await markMessage(journal, id, type)
    return undefined
  } catch (error) {
    if (OrielError.is(error, 'cannot-undo')) return error.message
    throw error
  }
}

/** Sets a mark on the message of an id. The journal must be complete: what was dropped may have to come back. */
export async function markMessage(
  journal: Journal,
  id: string,
  mark: MarkEntry['mark'],
): Promise<void> {
  const found = await findMessage(journal, id)
  if (found === undefined) {
    throw new OrielError('not-found', `Nothing in this thread has the id ${id.slice(0, 40)}.`)
  }
  const target = found.entry.seq
  await journal.commit((_, stamp) => [stamp.entry({ type: 'mark', mark, target })])
}

/** Takes edits back; answers how many. The journal must be complete. */
export async function undoEdits(journal: Journal, id: string): Promise<number> {
  const undone = await journal.commit((state, stamp) =>
    undoable(state, id).map((edit): Entry => stamp.entry({ type: 'undo', edit: edit.id })),
  )
  if (undone.length === 0) throw new OrielError('cannot-undo', whyNothing(journal.state, id))
  return undone.length
}

/** Why an id names nothing that can be undone. */
function whyNothing(state: State, id: string): string {
  const place = parseId(state.salt, id)
  const isCompaction = state.compactions.some(({ seq }) => seq === place?.seq)
  return isCompaction
    ? 'The provider made this compaction of messages that were never in this thread: they cannot be shown.'
    : `No live edit has the id ${id.slice(0, 40)}.`
}

/** The edit that makes a block, or the first one of a message, appear as it does: what the trace tells under that id. */
function changeOf(state: State, id: string): readonly EditEntry[] {
  const place = parseId(state.salt, id)
  if (place === undefined) return []
  const { seq, block } = place
  const edit =
    state.dropEdits.findLast((drop) => isInRanges(drop, seq)) ?? state.blockEdit(seq, block)
  return edit === undefined ? [] : [edit]
}

/**
 * The live edits of an id, of an epoch or of a block, without those that did not preserve the original. Throws 'cannot-undo' where there are only such,
 * and where a newer checkpoint continues from one of them.
 */
function undoable(state: State, id: string): readonly EditEntry[] {
  const live = [...state.liveEdits()].filter((edit) => edit.id === id || edit.epoch === id)
  const named = live.length > 0 ? live : changeOf(state, id)
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
