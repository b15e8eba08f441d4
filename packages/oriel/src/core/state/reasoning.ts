// Reasoning bound to its prefix: if the prefix changes, the reasoning must leave the view whole, or
// the provider rejects the request.

import type { Block, ReasoningBlock } from '../log/block.ts'
import type { Edit, EditEntry } from '../log/entry.ts'
import type { Repair } from '../view/profile.ts'
import type { ViewMessage } from '../view/view.ts'
import { firstOf, takesEffect } from './edits.ts'
import { endsLoop, loopStart } from './open-loop.ts'
import type { Item, State } from './state.ts'

/** A prefix change: the first seq it affects, and the log length when it took effect. */
interface Cut {
  readonly first: number
  readonly since: number
}

export interface BindOptions {
  /** The provider's rule id, for the trace. */
  readonly rule: string
  readonly isBound: (block: ReasoningBlock) => boolean
  /** True if some of the changes apply to this view only. */
  readonly isFitted: boolean
}

/**
 * Drops reasoning whose prefix changed after it was produced. The trace names the provider's rule.
 */
export function withoutUnboundReasoning(
  state: State,
  messages: readonly ViewMessage[],
  planned: readonly Edit[],
  { rule, isBound, isFitted }: BindOptions,
): {
  readonly messages: readonly ViewMessage[]
  readonly repairs: readonly Repair[]
  /** Seqs of messages that lost signed reasoning. */
  readonly cut: ReadonlySet<number>
} {
  const cut = new Set<number>()
  const repairs: Repair[] = []
  const isCuttable = (block: Block): block is ReasoningBlock =>
    block.type === 'reasoning' && isBound(block)
  const unbound = unboundIn(state, messages, planned, isCuttable)
  // A later view may restore an earlier prefix. Providers accept missing reasoning only at the
  // start, so drop all of it up to the last such message.
  const isAgain = ({ entry }: ViewMessage): boolean => {
    if (entry === undefined || !unbound.has(entry.seq)) return false
    return isFitted || hasMoved(state, entry.seq, planned)
  }
  const last = messages.findLastIndex(isAgain)
  const bound = messages.map((message, at) => {
    const { entry } = message
    if (entry === undefined || !message.blocks.some(isCuttable)) return message
    const isUnbound = unbound.has(entry.seq)
    if (!isUnbound && at >= last) return message
    const kept: number[] = []
    message.blocks.forEach((block, index) => {
      const position = message.positions?.[index] ?? index
      if (!isCuttable(block)) kept.push(index)
      else {
        if (block.signature !== undefined) cut.add(entry.seq)
        const reason = `${rule}: ${isUnbound ? changed : leftLater}`
        repairs.push({ seq: entry.seq, block: position, form: 'dropped', reason })
      }
    })
    return {
      ...message,
      blocks: kept.map((index) => message.blocks[index] as (typeof message.blocks)[number]),
      positions: kept.map((index) => message.positions?.[index] ?? index),
      ...(message.wireIds === undefined ? {} : { wireIds: remap(message.wireIds, kept) }),
    }
  })
  return { messages: bound, repairs, cut }
}

const changed = 'what came before this reasoning has changed since'
const leftLater = 'later reasoning is left out, and none may be missing in the middle'

/** Seqs of messages whose reasoning has lost its prefix. */
function unboundIn(
  state: State,
  messages: readonly ViewMessage[],
  planned: readonly Edit[],
  isCuttable: (block: Block) => boolean,
): ReadonlySet<number> {
  const cuts = cutsOf(state, planned)
  const unbound = new Set<number>()
  for (const { entry, blocks } of messages) {
    if (entry === undefined || !blocks.some(isCuttable)) continue
    const seq = state.moves.firstSeenAt(entry.seq)
    const isCut = ({ first, since }: Cut): boolean => first < seq && since >= seq
    const isUnbound =
      cuts.some(isCut) || wasDroppedBefore(state, seq) || hasMoved(state, entry.seq, planned)
    if (isUnbound) unbound.add(entry.seq)
  }
  return unbound
}

/** True if the request for this answer showed something that later requests do not. */
function hasMoved(state: State, seq: number, planned: readonly Edit[]): boolean {
  const { moves } = state
  const first = moves.firstSeenAt(seq)
  const isOver = seq <= (loopStart(state, planned) ?? Infinity)
  return moves.haveChangedBefore(first) || (isOver && moves.hasSeenRecord(first))
}

/**
 * Seq from which edits must wait: the first message of the open tool loop with signed reasoning. An
 * edit before it would make the provider reject the loop. The loop ends with the model's answer, or
 * with a user message that does not come with results.
 */
export function waitsFrom(state: State): number {
  if (!state.hasSigned) return Infinity
  const { visible } = state
  const start = loopStart(state)
  if (start === undefined) return Infinity
  for (let index = visible.length - 1, first = Infinity; ; index--) {
    const entry = visible[index]?.entry
    if (entry === undefined || entry.seq <= start) return first
    if (entry.blocks.some(isSigned)) first = entry.seq
  }
}

/**
 * When an edit that fell due at `since` took effect: at once, or, if it fell due in a tool loop
 * with signed reasoning, when the next user message ended the loop. Reasoning produced in between
 * has not seen it.
 */
export function tookEffect(state: State, since: number): number {
  if (!state.hasSigned) return since
  const { visible } = state
  let ended = Infinity
  for (let index = visible.length - 1; index >= 0; index--) {
    const { entry } = visible[index] as Item
    if (entry.seq <= since && entry.blocks.some(isSigned)) return ended
    if (!endsLoop(state, visible, index)) continue
    if (entry.seq <= since) return since
    ended = entry.seq
  }
  return since
}

function isSigned(block: Block): boolean {
  return block.type === 'reasoning' && block.signature !== undefined
}

function cutsOf(state: State, planned: readonly Edit[]): Cut[] {
  const cuts: Cut[] = planned.map((edit) => ({
    first: firstOf(edit),
    since: edit.since ?? Infinity,
  }))
  const answers = state.clock.steps
  for (const item of state.visible) {
    item.entry.blocks.forEach((_, block) => {
      const edit = state.blockEdit(item.entry.seq, block)
      if (edit !== undefined) cuts.push(loggedCut(edit))
      const again = state.expansion(item.entry.seq, block)
      if (again === undefined) return
      cuts.push({ first: item.entry.seq, since: again.since })
      // The end of an expansion is a change as well: answers until then saw the original.
      if (again.until < state.step) {
        cuts.push({ first: item.entry.seq, since: answers.get(again.until) ?? again.since })
      }
    })
  }
  return cuts
}

/**
 * True if messages before `seq` were dropped after it was logged. Scans newest first, so the cost
 * is the number of later edits, not the log's length.
 */
function wasDroppedBefore(state: State, seq: number): boolean {
  for (let index = state.dropEdits.length - 1; index >= 0; index--) {
    const edit = state.dropEdits[index] as EditEntry
    if (edit.seq < seq) return false
    const { first, since } = loggedCut(edit)
    if (first < seq && since >= seq) return true
  }
  return false
}

function loggedCut(edit: EditEntry): Cut {
  return { first: firstOf(edit), since: takesEffect(edit) }
}

function remap(ids: ReadonlyMap<number, string>, kept: readonly number[]): Map<number, string> {
  const result = new Map<number, string>()
  kept.forEach((from, to) => {
    const id = ids.get(from)
    if (id !== undefined) result.set(to, id)
  })
  return result
}
