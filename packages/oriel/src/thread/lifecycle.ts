// What edits mean for messages, as events: a result that is removed expires first and then leaves; one that is compacted only changes.

import type { EditEntry } from '../core/log/entry.ts'
import { seqsOf } from '../core/state/edits.ts'
import type { State } from '../core/state/state.ts'
import { editsShown, shownByPins } from '../core/view/render.ts'
import type { EventType, ThreadEvent } from './events.ts'

export interface Happening extends Omit<ThreadEvent, 'thread' | 'turn' | 'step'> {
  readonly type: EventType
}

/** Rules whose blocks reach the end of a lifetime. */
const expiring: ReadonlySet<string> = new Set(['expiry', 'retention'])

/** Events of edits that were committed together, in the order of document 001: all that expired, what was compacted, what left. */
export function happeningsOf(state: State, edits: readonly EditEntry[]): readonly Happening[] {
  const expired: Happening[] = []
  const compacted: Happening[] = []
  const removed: Happening[] = []
  for (const edit of edits) {
    const { rule, form } = edit
    const isRemoved = form === 'dropped' || (expiring.has(rule) && form === 'omitted')
    for (const fields of messagesOf(state, edit)) {
      const message = `${rule}: ${form}`
      if (!isRemoved) compacted.push({ type: 'message-compacted', message, ...fields })
      else {
        if (expiring.has(rule)) expired.push({ type: 'message-expired', message, ...fields })
        removed.push({ type: 'message-removed', message, ...fields })
      }
    }
  }
  return [...expired, ...compacted, ...removed]
}

/** Document 001's line for people; its turns are our steps. Undefined when nothing expired. */
export function pruningLine(state: State, edits: readonly EditEntry[]): string | undefined {
  const own = edits.filter(({ rule }) => rule === 'expiry')
  if (own.length === 0) return undefined
  const events = happeningsOf(state, own)
  const compacted = events.filter(({ type }) => type === 'message-compacted')
  const removed = events.filter(({ type }) => type === 'message-removed').length
  const saved = compacted.reduce((sum, { tokensSaved = 0 }) => sum + tokensSaved, 0)
  return `[Turn ${state.step}] Message pruning: ${compacted.length} compacted (saved ~${saved} tokens), ${removed} removed`
}

/** Tokens that edits in force keep out of a view: of each block and message once, by the edit that holds. What pins and expansions show counts as shown. */
export function tokensSaved(state: State): number {
  const dropped = new Set<number>()
  const back = shownByPins(state)
  let saved = 0
  for (const edit of state.dropEdits) {
    for (const seq of seqsOf(edit)) {
      if (dropped.has(seq) || back.has(seq)) continue
      dropped.add(seq)
      saved += fullTokens(state, seq)
    }
  }
  saved -= state.checkpoint?.tokensAfter ?? 0
  const editOf = editsShown(state, [])
  const seen = new Set<string>()
  for (const { target } of state.liveEdits()) {
    if (!('seq' in target) || dropped.has(target.seq)) continue
    const key = `${target.seq}:${target.block}`
    if (seen.has(key)) continue
    seen.add(key)
    const newest = state.blockEdit(target.seq, target.block)
    const entry = state.item(target.seq)?.entry
    const shown = entry === undefined ? newest : editOf(entry, target.block)
    if (newest !== undefined && shown !== undefined)
      saved += newest.tokensBefore - shown.tokensAfter
  }
  return saved
}

type Fields = Omit<Happening, 'type' | 'message'>

/** The block of an edit, or each message that it drops. */
function* messagesOf(state: State, edit: EditEntry): Generator<Fields> {
  const { target, reason, isFinal } = edit
  const canExpand = isFinal !== true
  if ('seq' in target) {
    yield {
      id: state.blockIdAt(target),
      index: state.facts(target.seq)?.index ?? 0,
      reason,
      tokensSaved: edit.tokensBefore - edit.tokensAfter,
      canExpand,
    }
    return
  }
  for (const seq of seqsOf(edit)) {
    const facts = state.facts(seq)
    if (facts === undefined) continue
    const saved = fullTokens(state, seq)
    const id = state.blockIdAt({ seq, block: 0 })
    yield { id, index: facts.index, reason, tokensSaved: saved, canExpand }
  }
}

function fullTokens(state: State, seq: number): number {
  return (state.facts(seq)?.tokens ?? []).reduce((a, b) => a + b, 0)
}
