// Why one message or block looks as it does: its form, and the live edits that act on it.

import type { EditEntry, Form } from '../../core/log/entry.ts'
import { OrielError } from '../../core/log/errors.ts'
import { parseId } from '../../core/log/ids.ts'
import { isInRanges } from '../../core/state/edits.ts'
import type { State } from '../../core/state/state.ts'

export interface Explanation {
  readonly id: string
  /** Index among the thread's messages. */
  readonly index: number
  readonly form: Form
  /** The rule and the reason of the edit in force; `exclude` for a message that was excluded. @default nothing changes it */
  readonly rule?: string
  readonly reason?: string
  /** The edit in force: pass it to `undo`. */
  readonly edit?: string
  readonly isPinned: boolean
  readonly isExcluded: boolean
  readonly tokensBefore: number
  readonly tokensAfter: number
  /** All live edits that act on it, oldest first, in force or not. */
  readonly edits: readonly EditEntry[]
}

export function explainBlock(state: State, id: string): Explanation {
  const place = parseId(state.salt, id)
  const facts = place === undefined ? undefined : state.facts(place.seq)
  if (place === undefined || facts === undefined) {
    throw new OrielError('not-found', `No message of this thread has the id ${id.slice(0, 40)}.`)
  }
  const { seq, block } = place
  const isPinned = state.isPinned(seq)
  const isExcluded = state.excluded.has(seq)
  const drops = state.dropEdits.filter((edit) => isInRanges(edit, seq))
  const drop = state.isKeptByPin(seq) ? undefined : drops.findLast(() => true)
  const edit = drop ?? (isPinned ? undefined : state.blockEdit(seq, block))
  const tokensBefore = facts.tokens[block] ?? 0
  const common = { id, index: facts.index, isPinned, isExcluded, tokensBefore }
  const edits = [...drops, ...state.blockEdits(seq, block)].sort((a, b) => a.seq - b.seq)
  if (isExcluded) {
    const why = { rule: 'exclude', reason: 'excluded on request' }
    return { ...common, ...why, form: 'dropped', tokensAfter: 0, edits }
  }
  if (edit === undefined) return { ...common, form: 'full', tokensAfter: tokensBefore, edits }
  const { form, rule, reason } = edit
  const tokensAfter = drop === undefined ? edit.tokensAfter : 0
  return { ...common, form, rule, reason, edit: edit.id, tokensAfter, edits }
}
