// Trace: every block that is not shown in full, with the rule and the reason.

import type { Edit, EditEntry, Form } from '../log/entry.ts'
import { adoptedEpoch, seqsOf, UnvisitedSeqs } from '../state/edits.ts'
import type { State } from '../state/state.ts'
import type { Repair } from './profile.ts'
import { finalIn } from './reduction.ts'
import { type InForce, render, shownByPins } from './render.ts'
import type { Change, ViewMessage } from './view.ts'

export interface TraceInput {
  readonly state: State
  /** Edits that are not logged (yet). */
  readonly planned: readonly Edit[]
  readonly repairs: readonly Repair[]
  /** What live edits and audiences change in the view, as it was when the view was made. @default what the state says now */
  readonly inForce?: () => InForce
  /** Reductions by the budget ladder. */
  readonly fitted: { readonly edits: readonly Edit[]; readonly folded: readonly ViewMessage[] }
  /** Maps the index of a logged message to its index in the caller's input. */
  readonly indexOf: (index: number) => number
  readonly canExpand: boolean
  /** The id of a planned edit, once it is in the log. @default none has one */
  readonly idOf?: (edit: Edit) => string | undefined
}

/**
 * The trace of a view, in log order, computed lazily: a window over a long log drops more than it
 * shows. Captures the state, so that later entries do not change it.
 */
export function traceOf(input: TraceInput): () => readonly Change[] {
  const { state, planned, repairs, fitted } = input
  const { dropEdits } = state
  const dropCount = dropEdits.length
  const { inForce = inForceNow(state, planned) } = input
  const excluded = [...state.excluded]
  const back = shownByPins(state)
  let changes: readonly Change[] | undefined
  return () => {
    if (changes !== undefined) return changes
    const { edits, unshown } = inForce()
    changes = list(input, {
      drops: dropEdits.slice(0, dropCount),
      back,
      edits: newest([...edits, ...planned, ...fitted.edits]),
      folded: fitted.folded,
      excluded,
      unshown,
      repairs,
    })
    return changes
  }
}

function inForceNow(state: State, planned: readonly Edit[]): () => InForce {
  const { inForce } = render(state, state.visible, planned)
  return () => inForce
}

interface Captured {
  readonly drops: readonly Edit[]
  /** Dropped messages that a pin brings back. */
  readonly back: ReadonlySet<number>
  readonly edits: readonly Edit[]
  readonly folded: readonly ViewMessage[]
  readonly excluded: readonly number[]
  readonly unshown: readonly Repair[]
  readonly repairs: readonly Repair[]
}

function list(input: TraceInput, captured: Captured): readonly Change[] {
  const { state, indexOf, canExpand, idOf } = input
  const changes: (Change & { seq: number; block: number })[] = []
  const isLost = finalIn(state, captured.edits)
  const add: Add = (seq, block, { form, rule, reason, tokensAfter, edit }) => {
    const facts = state.facts(seq)
    if (facts === undefined) return
    const isForPeople = facts.forPeople?.includes(block) === true
    const tokensBefore = facts.tokens[block] ?? 0
    changes.push({
      id: state.blockIdAt({ seq, block }),
      index: indexOf(facts.index),
      form,
      rule,
      reason,
      tokensBefore,
      tokensAfter: form === 'dropped' ? 0 : (tokensAfter ?? tokensBefore),
      canExpand: canExpand && !isForPeople && !isLost(seq, block),
      originalLength: facts.lengths[block] ?? 0,
      ...(edit === undefined ? {} : { edit }),
      seq,
      block,
    })
  }
  const drop = (seq: number, rule: string, reason: string): void => {
    each(state, seq, (block) => add(seq, block, { form: 'dropped', rule, reason }))
  }
  const logged = (edit: Edit): string | undefined => (isLogged(edit) ? edit.id : idOf?.(edit))
  // Checkpoints cover again what older ones cover: each message is visited once, for the oldest edit that drops it.
  const unvisited = new UnvisitedSeqs()
  for (const edit of captured.drops) {
    const { form, rule, reason } = edit
    for (const seq of unvisited.take(edit)) {
      if (captured.back.has(seq)) continue
      each(state, seq, (block) => add(seq, block, { form, rule, reason, edit: logged(edit) }))
    }
  }
  for (const edit of captured.edits) addEdit(state, edit, add, logged(edit))
  for (const seq of captured.excluded) drop(seq, 'exclude', 'excluded on request')
  for (const { seq, block, form, reason } of captured.unshown) {
    add(seq, block, { form, rule: 'audience', reason })
  }
  for (const { seq, block, form, reason } of captured.repairs) {
    add(seq, block, { form, rule: 'repair', reason })
  }
  for (const { entry, blocks, positions } of captured.folded) {
    if (entry === undefined) continue
    const reason = 'folded into the digest'
    const shown = blocks.length === 0 ? [0] : blocks.map((_, at) => positions?.[at] ?? at)
    for (const block of shown) add(entry.seq, block, { form: 'dropped', rule: 'budget', reason })
  }
  // A dropped block gets one line: that of the first change that dropped it.
  const gone = new Map<string, Change>()
  for (const change of changes) {
    if (change.form === 'dropped' && !gone.has(change.id)) gone.set(change.id, change)
  }
  return changes
    .filter((change) => (gone.get(change.id) ?? change) === change)
    .sort((a, b) => a.seq - b.seq || a.block - b.block)
    .map(({ seq: _seq, block: _block, ...change }) => change)
}

type Add = (
  seq: number,
  block: number,
  change: {
    form: Form
    rule: string
    reason: string
    tokensAfter?: number
    edit?: string | undefined
  },
) => void

function isLogged(edit: Edit | EditEntry): edit is EditEntry {
  return 'id' in edit && edit.epoch !== adoptedEpoch
}

function addEdit(state: State, edit: Edit, add: Add, id: string | undefined): void {
  const { form, rule, reason, tokensAfter } = edit
  if ('seq' in edit.target) {
    add(edit.target.seq, edit.target.block, { form, rule, reason, tokensAfter, edit: id })
    return
  }
  for (const seq of seqsOf(edit))
    each(state, seq, (block) => add(seq, block, { form, rule, reason, edit: id }))
}

/** The last edit of each block, which determines its form. Edits of whole messages all stay. */
function newest(edits: readonly Edit[]): readonly Edit[] {
  const last = new Map<string, Edit>()
  for (const edit of edits) {
    if ('seq' in edit.target) last.set(`${edit.target.seq}:${edit.target.block}`, edit)
  }
  return edits.filter(
    (edit) =>
      !('seq' in edit.target) || last.get(`${edit.target.seq}:${edit.target.block}`) === edit,
  )
}

/** Visits each block of the message at `seq`. A message without blocks still has one line. */
function each(state: State, seq: number, visit: (block: number) => void): void {
  const facts = state.facts(seq)
  if (facts === undefined) return
  for (let block = 0; block < Math.max(1, facts.lengths.length); block++) visit(block)
}
