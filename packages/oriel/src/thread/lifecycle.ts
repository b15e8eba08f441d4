// What edits mean for messages, as events: a result that is removed expires first and then leaves; one that is compacted only changes.

import type { Block } from '../core/log/block.ts'
import type { EditEntry } from '../core/log/entry.ts'
import { seqsOf } from '../core/state/edits.ts'
import type { State } from '../core/state/state.ts'
import { editsShown, reduce, shownByPins } from '../core/view/render.ts'
import type { EventFields, EventMessage, MessageEventType } from './events.ts'

export interface Happening extends EventFields {
  readonly type: MessageEventType
  readonly id: string
}

/** Where a message stands, or stood, in the newest view. */
export type ViewIndexOf = (seq: number) => number

/** Rules whose blocks reach the end of a lifetime. */
const expiring: ReadonlySet<string> = new Set(['expiry', 'retention'])

/**
 * Events of edits that were committed together, in the order of document 001: all that expired, what was compacted, what left. A message
 * of which some blocks left was compacted.
 */
export function happeningsOf(
  state: State,
  edits: readonly EditEntry[],
  indexOf: ViewIndexOf = () => 0,
): readonly Happening[] {
  const expired: Happening[] = []
  const compacted: Happening[] = []
  const removed: Happening[] = []
  for (const change of changesOf(state, edits)) {
    const { rule, form, seq, isRemoved, tokensSaved, reason, canExpand } = change
    const message = `${rule}: ${form}`
    const about = (): EventMessage => eventMessage(state, change)
    const fields = { id: change.id, index: indexOf(seq), message, reason, canExpand, about }
    if (!isRemoved) compacted.push({ type: 'message-compacted', ...fields, tokensSaved })
    else {
      // What it saves is told once, when it leaves.
      if (expiring.has(rule)) expired.push({ type: 'message-expired', ...fields })
      removed.push({ type: 'message-removed', ...fields, tokensSaved })
    }
  }
  return [...expired, ...compacted, ...removed]
}

/** A message as an event tells of it: as it is shown, or, of one that left, as it was. */
export function eventMessage(
  state: State,
  { seq, isRemoved = false, isExpired = false, canExpand = false }: Shown,
): EventMessage {
  const entry = state.item(seq)?.entry
  const editOf = editsShown(state, [])
  const blocks = entry?.blocks ?? []
  const content = isRemoved
    ? blocks
    : blocks.flatMap((block, position) => {
        const edit = entry && editOf(entry, position)
        return edit === undefined ? [block] : (reduce(block, edit) ?? [])
      })
  return {
    id: entry?.id ?? state.blockIdAt({ seq, block: 0 }),
    role: entry?.role ?? 'user',
    content,
    ...(entry?.meta === undefined ? {} : { meta: entry.meta }),
    metadata: {
      ...(entry?.kind === undefined ? {} : { messageType: entry.kind }),
      turnAdded: entry?.step ?? 0,
      wasCompacted: !isRemoved && content.some((block, at) => block !== blocks[at]),
      isExpired,
      canExpand,
      originalLength: (state.facts(seq)?.lengths ?? []).reduce((a, b) => a + b, 0),
    },
  }
}

interface Shown {
  readonly seq: number
  readonly isRemoved?: boolean
  readonly isExpired?: boolean
  readonly canExpand?: boolean
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

/** What edits did to one message or to one of its results. */
interface MessageChange extends Required<Shown> {
  readonly id: string
  readonly rule: string
  readonly form: EditEntry['form']
  readonly reason: string
  readonly tokensSaved: number
}

function* changesOf(state: State, edits: readonly EditEntry[]): Generator<MessageChange> {
  const faded = new Map<number, EditEntry[]>()
  for (const edit of edits) {
    const { target, form } = edit
    if ('ranges' in target) yield* messagesOf(state, edit)
    else if (form === 'dropped') faded.set(target.seq, [...(faded.get(target.seq) ?? []), edit])
    else {
      const isRemoved = form === 'omitted' && expiring.has(edit.rule)
      yield changeOf(state, [edit], { ...target, isRemoved })
    }
  }
  for (const [seq, own] of faded) {
    const blocks = state.item(seq)?.entry.blocks ?? []
    const isGone = (_: Block, block: number): boolean =>
      state.blockEdit(seq, block)?.form === 'dropped'
    yield changeOf(state, own, { seq, block: 0, isRemoved: blocks.every(isGone) })
  }
}

function changeOf(
  state: State,
  edits: readonly EditEntry[],
  { seq, block, isRemoved }: { seq: number; block: number; isRemoved: boolean },
): MessageChange {
  const [{ rule, form, reason }] = edits as [EditEntry]
  const tokensSaved = edits.reduce((sum, edit) => sum + savedBy(state, edit), 0)
  const canExpand = edits.every(({ isFinal }) => isFinal !== true)
  const id = state.blockIdAt({ seq, block })
  const isExpired = expiring.has(rule)
  return { id, seq, rule, form, reason, isRemoved, isExpired, canExpand, tokensSaved }
}

/** Tokens that an edit of one block saves beyond those that the edit before it saved. */
function savedBy(state: State, edit: EditEntry): number {
  if (!('seq' in edit.target)) return 0
  const all = state.blockEdits(edit.target.seq, edit.target.block)
  const before = all[all.findIndex(({ id }) => id === edit.id) - 1]
  return (before?.tokensAfter ?? edit.tokensBefore) - edit.tokensAfter
}

/** Each message that an edit drops. */
function* messagesOf(state: State, edit: EditEntry): Generator<MessageChange> {
  const { rule, form, reason, isFinal } = edit
  for (const seq of seqsOf(edit)) {
    const facts = state.facts(seq)
    if (facts === undefined) continue
    const shown = facts.tokens.map(
      (full, block) => state.blockEdit(seq, block)?.tokensAfter ?? full,
    )
    yield {
      id: state.blockIdAt({ seq, block: 0 }),
      seq,
      rule,
      form,
      reason,
      isRemoved: true,
      isExpired: expiring.has(rule),
      canExpand: isFinal !== true,
      tokensSaved: shown.reduce((a, b) => a + b, 0),
    }
  }
}

function fullTokens(state: State, seq: number): number {
  return (state.facts(seq)?.tokens ?? []).reduce((a, b) => a + b, 0)
}
