// Compactions by providers, mirrored as edits: for the provider that made a compaction block, the block stands for everything before it;
// for any other, and where it was undone, the originals are shown and the block is not sent.

import type { EditEntry, Entry } from '../../core/log/entry.ts'
import { compacting } from '../../core/state/edits.ts'
import type { CompactionPlace, State } from '../../core/state/state.ts'
import { rangesOf, tokensOf } from '../../core/state/units.ts'
import type { Build } from '../journal/batch.ts'
import type { ViewOptions } from './view.ts'

const compactionRule = 'provider-compaction'

/** The kind of a message whose compaction leaves the user's messages before it as they are. */
export const windowKind = 'compaction-window'

type Asked = Pick<ViewOptions, 'format' | 'sendsCompaction'>

/** Whether the log mirrors another compaction than the one that a view is to have. */
export function isMirrored(state: State, asked: Asked): boolean {
  if (state.compactions.length === 0) return true
  const { retracted, dropped, inForce } = changesFor(state, asked)
  return retracted.length === 0 && dropped.length === 0 && inForce === undefined
}

/** The entries that take back what a view is not to have: first of two steps, since they show messages again. */
export function retractingEntries(asked: Asked): Build<Entry> {
  return (state, stamp) => {
    const epoch = `c${(state.version + 1).toString(36)}`
    return changesFor(state, asked).retracted.map(({ edit, reason }) =>
      stamp.entry({ type: 'undo', edit: edit.id, rule: edit.rule, reason, epoch }),
    )
  }
}

/** The entries that put a compaction in force, and leave out the blocks of those that are not. */
export function compactingEntries(asked: Asked): Build<Entry> {
  return (state, stamp) => {
    const epoch = `c${(state.version + 1).toString(36)}`
    const { dropped, inForce } = changesFor(state, asked)
    const edits = [...dropped, ...(inForce === undefined ? [] : [inForce])]
    return edits.map((edit) => stamp.entry({ ...edit, type: 'edit', epoch }))
  }
}

interface Changes {
  readonly retracted: readonly { readonly edit: EditEntry; readonly reason: string }[]
  /** Edits that leave out blocks. */
  readonly dropped: readonly Omit<EditEntry, keyof Stamped>[]
  /** The edit that puts a compaction in force; undefined where none is, or the log has it. */
  readonly inForce: Omit<EditEntry, keyof Stamped> | undefined
}

type Stamped = Pick<EditEntry, 'id' | 'seq' | 'at' | 'by' | 'type' | 'epoch'>

function changesFor(
  state: State,
  { format = 'openai-chat', sendsCompaction = true }: Asked,
): Changes {
  const own = state.compactions.filter((place) => place.format === format)
  const isUsable = ({ seq, block }: CompactionPlace): boolean =>
    sendsCompaction && !state.excluded.has(seq) && !state.isVetoed(seq, block, compacting)
  const wanted = own.findLast(isUsable)
  const live = state.compaction
  const isLive = live !== undefined && isAt(live.compactedBy, wanted)
  const isDue = wanted !== undefined && !isLive && hasCovered(state, wanted)
  const retracted = [
    ...(live !== undefined && !isLive ? [{ edit: live, reason: goneReason(live, format) }] : []),
    ...(isDue ? checkpointsBefore(state, wanted) : []),
    ...(wanted === undefined ? [] : blockEdits(state, [wanted])),
  ]
  const isUnused = ({ seq, format: by }: CompactionPlace): boolean =>
    by !== format || wanted === undefined || seq > wanted.seq
  const unused = state.compactions.filter(isUnused)
  const dropped = unused.flatMap((place) => withoutBlock(state, place, { format, sendsCompaction }))
  return { retracted, dropped, inForce: isDue ? compactionEdit(state, wanted) : undefined }
}

function isAt(place: EditEntry['compactedBy'], wanted: CompactionPlace | undefined): boolean {
  return place?.[0] === wanted?.seq && place?.[1] === wanted?.block
}

function goneReason({ compactedBy = [0, 0] }: EditEntry, format: string): string {
  return `the block at ${compactedBy[0]} is not sent in this view (${format}): the originals are`
}

/** Our own checkpoints are in what the provider summarized. Newest first: only the newest can be taken back. */
function checkpointsBefore(state: State, { seq }: CompactionPlace): Changes['retracted'] {
  return state.dropEdits
    .filter((edit) => edit.text !== undefined && edit.seq < seq)
    .reverse()
    .map((edit) => ({ edit, reason: "the provider's compaction covers it" }))
}

/** Edits of an earlier view that left the block out. */
function blockEdits(state: State, places: readonly CompactionPlace[]): Changes['retracted'] {
  return places.flatMap(({ seq, block }) =>
    state
      .blockEdits(seq, block)
      .filter(({ rule }) => rule === compactionRule)
      .map((edit) => ({ edit, reason: 'the block is sent again' })),
  )
}

/** The edit that leaves a block out. What began elsewhere is only in the block: its provider gets it, another one its summary. */
function withoutBlock(
  state: State,
  { seq, block, format: by }: CompactionPlace,
  { format, sendsCompaction }: Required<Asked>,
): Changes['dropped'] {
  const item = state.item(seq)
  const isChanged = state.blockEdits(seq, block).some(({ rule }) => rule === compactionRule)
  if (item === undefined || isChanged) return []
  const tokensBefore = item.tokens[block] ?? 0
  const edit = { rule: compactionRule, target: { seq, block }, tokensBefore }
  if ((state.firstSpoken ?? seq) < seq) {
    const reason = `${whyUnused(by, { format, sendsCompaction })}: what it stood for is shown again`
    return [{ ...edit, form: 'dropped', reason, tokensAfter: 0 }]
  }
  const own = item.entry.blocks[block]
  const { summary: text } = (own?.type === 'opaque' ? own.compaction : undefined) ?? {}
  if (by === format || text === undefined) return []
  const reason = 'what the block of another provider stood for is not here: its summary is shown'
  return [{ ...edit, form: 'summarized', text, reason, tokensAfter: state.counter.count(text) }]
}

function whyUnused(by: string, { format, sendsCompaction }: Required<Asked>): string {
  if (by !== format) return `only ${by} can read the block`
  return sendsCompaction ? 'the compaction was undone' : 'the upstream takes no compaction blocks'
}

/** Whether anything stands before the block; the messages of a conversation that began elsewhere are not here. */
function hasCovered(state: State, place: CompactionPlace): boolean {
  return coveredBy(state, place).length > 0
}

/** What the block stands for, of what is shown now. System messages stay: they hold whatever was said. */
function coveredBy(state: State, { seq }: CompactionPlace): State['visible'] {
  const keepsUsers = state.item(seq)?.entry.kind === windowKind
  return state.visible.filter(
    ({ entry }) =>
      entry.seq < seq && entry.role !== 'system' && !(keepsUsers && entry.role === 'user'),
  )
}

function compactionEdit(state: State, place: CompactionPlace): NonNullable<Changes['inForce']> {
  const items = coveredBy(state, place)
  const seqs = new Set(items.map(({ entry }) => entry.seq))
  return {
    rule: compactionRule,
    form: 'dropped',
    target: { ranges: rangesOf(state.visible, seqs) },
    compactedBy: [place.seq, place.block],
    reason: `the provider (${place.format}) compacted ${items.length} messages: its block stands for them`,
    tokensBefore: tokensOf(items),
    tokensAfter: 0,
  }
}
