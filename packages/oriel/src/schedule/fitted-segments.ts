// The budget ladder by segments: what was reduced or folded for the last view is not reduced and folded again for the next one.

import type { Edit, MessageEntry } from '../core/log/entry.ts'
import { firstOf } from '../core/state/edits.ts'
import type { State } from '../core/state/state.ts'
import { Digest } from '../core/text/digest.ts'
import { Directives } from '../core/text/directive-list.ts'
import { type Readable, readableIn, readableMessage } from '../core/text/readable.ts'
import { madeSegment, type Segment } from '../core/view/segments.ts'
import type { ViewMessage } from '../core/view/view.ts'
import { type Fitted, Fitting, notesOf, noteTokens, type Slot } from './fitted-view.ts'
import { clippedLength, clipTexts, dropReasoning, omitResults, slotsOf } from './ladder-steps.ts'

export interface SegmentOptions {
  readonly budget: number
  /** Tokens of what no reduction can change. */
  readonly frame: number
  readonly planned?: readonly Edit[]
  readonly checkpoint?: Edit | undefined
}

/** The reductions of single blocks, in their order, for the units of one segment. */
const steps = [
  omitResults,
  dropReasoning,
  (work: Fitting, slots: readonly Slot[]) => clipTexts(work, slots, clippedLength),
] as const

/** A segment after none, one, two or all of the steps. */
interface Stage {
  readonly total: number
  readonly segment: Segment
  readonly edits: readonly Edit[]
}

interface Reduced {
  readonly segment: Segment
  readonly stages: readonly Stage[]
  /** Units that may be reduced and folded. */
  readonly older: readonly Slot[]
  /** The user message that the steps spare. */
  readonly protectedSeq: number
  /** Tokens of each message after all steps. */
  readonly sizes: readonly number[]
  /** Tokens of all units that may be folded. */
  readonly olderTokens: number
  /** What is left when all of them are. */
  readonly left: Left
}

/** What is shown of a segment of which units are folded. */
interface Left {
  /** Messages before the first that is folded, and behind it. */
  readonly before: readonly ViewMessage[]
  readonly behind: readonly ViewMessage[]
  readonly isFolded: boolean
  readonly edits: readonly Edit[]
  /** The seq of the first message that is folded. */
  readonly from: number
}

/**
 * The same as the whole ladder, for as far as it omits, clips and folds oldest messages. Undefined where it goes further, or where there
 * is a checkpoint to fold. Totals only fall from step to step, so that a whole segment is passed at once.
 */
export function fitSegments(
  state: State,
  segments: readonly Segment[],
  options: SegmentOptions,
): Fitted | undefined {
  const { budget, frame, checkpoint } = options
  const parts = reducedParts(state, segments, options)
  let total = frame + totalAt(parts, 0)
  if (total <= budget) return { segments, tokens: total, edits: [], folded: [] }
  for (const [at] of steps.entries()) {
    const after = frame + totalAt(parts, at + 1)
    if (after > budget) {
      total = after
      continue
    }
    for (const [index, { stages }] of parts.entries()) {
      const without = total - (stages[at] as Stage).total
      const next = without + (stages[at + 1] as Stage).total
      if (next > budget) {
        total = next
        continue
      }
      const partly = reducedPartly(state, parts[index] as Reduced, { ...options, at, without })
      const shown = parts.map((part, other): Stage => {
        if (other === index) return partly
        return part.stages[other < index ? at + 1 : at] as Stage
      })
      return {
        segments: shown.map(({ segment }) => segment),
        tokens: without + partly.total,
        edits: shown.flatMap(({ edits }) => edits),
        folded: [],
      }
    }
  }
  return checkpoint === undefined ? foldOldest(state, parts, { ...options, total }) : undefined
}

/** Tokens of all parts after so many steps. */
function totalAt(parts: readonly Reduced[], steps: number): number {
  let total = 0
  for (const { stages } of parts) total += (stages[steps] as Stage).total
  return total
}

function reducedParts(
  state: State,
  segments: readonly Segment[],
  options: SegmentOptions,
): readonly Reduced[] {
  const { planned = [] } = options
  const { known } = state.derive('fitted-segments', () => ({
    known: new WeakMap<Segment, Reduced>(),
  }))
  const first = planned.reduce((least, edit) => Math.min(least, firstOf(edit)), Infinity)
  return segments.map((segment) => {
    const { newestUser = 0 } = state
    const isInside = newestUser >= segment.from && newestUser <= segment.to
    const protectedSeq = isInside ? newestUser : 0
    const found = known.get(segment)
    // What is planned changes nothing before its first message.
    const isSettled = segment.to < first
    if (found?.protectedSeq === protectedSeq && isSettled) return found
    const reduced = reduceSegment(state, segment, options, protectedSeq)
    if (isSettled) known.set(segment, reduced)
    return reduced
  })
}

function reduceSegment(
  state: State,
  segment: Segment,
  options: SegmentOptions,
  protectedSeq: number,
): Reduced {
  const work = new Fitting(state, segment.messages, { ...options, frame: 0 })
  const slots = slotsOf(state, segment.messages)
  const newest = slots.findLast((slot) => slot.isUnseen)
  const older = slots.filter((slot) => slot !== newest && slot.protection === undefined)
  const stages = [stageOf(work, segment)]
  for (const step of steps) {
    for (const _reduction of step(work, older));
    stages.push(stageOf(work, segment))
  }
  const sizes = segment.messages.map((_, index) => work.sizeOf(index))
  const olderTokens = older.reduce((sum, slot) => sum + sizeOf({ sizes }, slot), 0)
  const left = leftOf({ segment, stages }, older)
  return { segment, stages, older, protectedSeq, sizes, olderTokens, left }
}

function stageOf(work: Fitting, segment: Segment): Stage {
  const { segments, edits } = work.result()
  const messages = segments[0]?.messages ?? []
  const isSame = messages.every((message, index) => message === segment.messages[index])
  return { total: work.total, segment: isSame ? segment : { ...segment, messages }, edits }
}

/** A segment with as many reductions of a step as make everything fit. */
function reducedPartly(
  state: State,
  { segment, older }: Reduced,
  options: SegmentOptions & { readonly at: number; readonly without: number },
): Stage {
  const { at, without, budget } = options
  const work = new Fitting(state, segment.messages, { ...options, frame: 0 })
  for (const step of steps.slice(0, at)) for (const _reduction of step(work, older));
  for (const _reduction of (steps[at] as (typeof steps)[number])(work, older)) {
    if (without + work.total <= budget) break
  }
  return stageOf(work, segment)
}

/** What the note says of the messages that were folded. */
class Folded {
  readonly digest: Digest
  readonly directives: Directives
  /** Tokens of those that are in the log. */
  tokens: number

  constructor(before?: Folded) {
    this.digest = Digest.from(before?.digest.data())
    this.directives = before?.directives.copy() ?? new Directives()
    this.tokens = before?.tokens ?? 0
  }

  add(readable: Readable, entry: MessageEntry, tokens: number): void {
    this.tokens += tokens
    const said = readableMessage(readable, entry)
    if (said === undefined) return
    this.digest.add(said)
    this.directives.add(said)
  }

  note({ counter }: State): string | undefined {
    if (this.digest.size === 0) return undefined
    const notes = notesOf(counter, this.digest, this.directives, 'long')
    return notes.find((note) => noteTokens(counter, note) <= this.tokens)
  }
}

interface Folds {
  goal: Slot | undefined
  readonly folded: { readonly part: Reduced; readonly after: Folded }[]
}

/** Folds oldest units until the rest and a note fit; undefined when that is not enough, or when the view would need a note to begin with. */
function foldOldest(
  state: State,
  parts: readonly Reduced[],
  { budget, total, planned = [] }: SegmentOptions & { readonly total: number },
): Fitted | undefined {
  const { goal, goalIn } = goalOf(parts)
  if (!keepsItsStart(parts, goal)) return undefined
  const readable = readableIn(state, planned)
  const known = state.derive('folded-segments', (): Folds => ({ goal, folded: [] }))
  if (known.goal !== goal) Object.assign(known, { goal, folded: [] })
  let left = total
  for (const [index, part] of parts.entries()) {
    const size = part.olderTokens - (goal !== undefined && part === goalIn ? sizeOf(part, goal) : 0)
    if (left - size > budget) {
      left -= size
      foldWhole(readable, known, { part, goal, index })
      continue
    }
    const slots = part.older.filter((slot) => slot !== goal)
    const folded = new Folded(known.folded[index - 1]?.after)
    for (const [at, slot] of slots.entries()) {
      left -= sizeOf(part, slot)
      foldSlot(readable, folded, part, slot)
      if (left > budget) continue
      const note = folded.note(state)
      const tokens = left + (note === undefined ? 0 : noteTokens(state.counter, note))
      if (tokens <= budget) {
        return composed(parts, { index, count: at + 1, goal, goalIn, note, tokens })
      }
    }
    foldWhole(readable, known, { part, goal, index })
  }
  return undefined
}

function foldWhole(
  readable: Readable,
  { folded }: Folds,
  {
    part,
    goal,
    index,
  }: { readonly part: Reduced; readonly goal: Slot | undefined; readonly index: number },
): void {
  if (folded[index]?.part === part) return
  folded.length = index
  const after = new Folded(folded[index - 1]?.after)
  for (const slot of part.older) if (slot !== goal) foldSlot(readable, after, part, slot)
  folded.push({ part, after })
}

function foldSlot(readable: Readable, folded: Folded, part: Reduced, { messages }: Slot): void {
  for (const message of messages) {
    const entry = part.segment.messages[message]?.entry
    if (entry !== undefined) folded.add(readable, entry, part.sizes[message] as number)
  }
  folded.directives.bound()
}

function sizeOf({ sizes }: Pick<Reduced, 'sizes'>, { messages }: Slot): number {
  return messages.reduce((sum, message) => sum + (sizes[message] as number), 0)
}

/** The first user message, which states the goal: it is folded last. */
function goalOf(parts: readonly Reduced[]): {
  readonly goal?: Slot
  readonly goalIn?: Reduced
} {
  for (const goalIn of parts) {
    const goal = goalIn.older.find((slot) => slot.isUser)
    if (goal !== undefined) return { goal, goalIn }
  }
  return {}
}

/** Whether a view that begins with a user's message still does when all but the goal is folded. */
function keepsItsStart(parts: readonly Reduced[], goal: Slot | undefined): boolean {
  for (const { segment, older } of parts) {
    const first = segment.messages.findIndex(({ role }) => role !== 'system')
    if (first === -1) continue
    if (segment.messages[first]?.role !== 'user') return true
    const slot = older.find(({ messages }) => messages.includes(first))
    return slot === undefined || slot === goal
  }
  return true
}

/** The view without what was folded: whole segments before `index`, and the first `count` units of that one. */
function composed(
  parts: readonly Reduced[],
  {
    index,
    count,
    goal,
    goalIn,
    note,
    tokens,
  }: {
    readonly index: number
    readonly count: number
    readonly goal: Slot | undefined
    readonly goalIn: Reduced | undefined
    readonly note: string | undefined
    readonly tokens: number
  },
): Fitted {
  const foldedIn = (part: Reduced, at: number): readonly Slot[] => {
    const slots = part.older.filter((slot) => slot !== goal)
    return at < index ? slots : slots.slice(0, count)
  }
  const start: ViewMessage[] = []
  const edits: Edit[] = []
  let foldedFrom = Infinity
  let isNoted = note === undefined
  for (let at = 0; at <= index; at++) {
    const part = parts[at] as Reduced
    const left = at < index && part !== goalIn ? part.left : leftOf(part, foldedIn(part, at))
    start.push(...left.before)
    if (!isNoted && left.isFolded) {
      start.push(noteMessage(note ?? ''))
      isNoted = true
    }
    start.push(...left.behind)
    edits.push(...left.edits)
    foldedFrom = Math.min(foldedFrom, left.from)
  }
  const rest = parts.slice(index + 1).map(({ stages }) => stages.at(-1) as Stage)
  return {
    segments: [madeSegment(start), ...rest.map(({ segment }) => segment)],
    tokens,
    edits: [...edits, ...rest.flatMap((stage) => stage.edits)],
    get folded() {
      return parts.slice(0, index + 1).flatMap((part, at) =>
        foldedIn(part, at)
          .flatMap(({ messages }) => messages)
          .map((message) => part.segment.messages[message] as ViewMessage),
      )
    },
    ...(foldedFrom === Infinity ? {} : { foldedFrom }),
    ...(note === undefined ? {} : { digest: note }),
  }
}

function leftOf(
  { segment, stages }: Pick<Reduced, 'segment' | 'stages'>,
  folded: readonly Slot[],
): Left {
  const gone = new Set(folded.flatMap(({ messages }) => messages))
  const stage = stages.at(-1) as Stage
  const kept = stage.segment.messages.filter((_, position) => !gone.has(position))
  const seqs = [...gone].flatMap((position) => segment.messages[position]?.entry?.seq ?? [])
  const split = Math.min(kept.length, ...gone)
  return {
    before: kept.slice(0, split),
    behind: kept.slice(split),
    isFolded: gone.size > 0,
    edits: kept.length === 0 ? [] : keptEdits({ segment, stages }, gone),
    from: Math.min(...seqs),
  }
}

function noteMessage(text: string): ViewMessage {
  return { role: 'user', origin: 'host', blocks: [{ type: 'text', text }] }
}

/** By block: results of one message may answer calls of several, of which only one is folded. */
function keptEdits(
  { segment, stages }: Pick<Reduced, 'segment' | 'stages'>,
  gone: ReadonlySet<number>,
): readonly Edit[] {
  const places = new Set(
    [...gone].flatMap((position) => {
      const { entry, blocks, positions } = segment.messages[position] as ViewMessage
      return blocks.map((_, block) => `${entry?.seq}:${positions?.[block] ?? block}`)
    }),
  )
  const { edits } = stages.at(-1) as Stage
  return edits.filter(
    ({ target }) => !('seq' in target && places.has(`${target.seq}:${target.block}`)),
  )
}
