// The budget ladder by segments: what was reduced or folded for the last view is not reduced and folded again for the next one.

import type { Edit, MessageEntry } from '../core/log/entry.ts'
import { firstOf } from '../core/state/edits.ts'
import type { State } from '../core/state/state.ts'
import { Digest } from '../core/text/digest.ts'
import { Directives } from '../core/text/directive-list.ts'
import { type Readable, readableIn, readableMessage } from '../core/text/readable.ts'
import { mostViewTokens } from '../core/tokens/tally.ts'
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
 * is a checkpoint to fold. Totals only fall from step to step, so that halving finds where it stops.
 */
export function fitSegments(
  state: State,
  segments: readonly Segment[],
  options: SegmentOptions,
): Fitted | undefined {
  const { budget, frame, checkpoint } = options
  const before = state.derive('whole-segments', () => new WholeSegments())
  const unreduced = before.isOver ? Infinity : frame + before.tokens(state, segments)
  if (unreduced <= budget) return { segments, tokens: unreduced, edits: [], folded: [] }
  const parts = state.derive('fitted-segments', () => new Parts()).update(state, segments, options)
  const { list } = parts
  const whole = frame + parts.total(0)
  before.isOver = whole > budget
  if (whole <= budget) return { segments, tokens: whole, edits: [], folded: [] }
  for (const [at] of steps.entries()) {
    const after = (count: number): number =>
      frame + parts.total(at + 1, count) + parts.rest(at, count)
    const count = firstWhere(list.length, (some) => after(some) <= budget)
    if (count === undefined) continue
    const index = count - 1
    const without = frame + parts.total(at + 1, index) + parts.rest(at, count)
    const partly = reducedPartly(state, list[index] as Reduced, { ...options, at, without })
    const shown = list.map((part, other): Stage => {
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
  if (checkpoint !== undefined) return undefined
  return foldOldest(state, parts, { ...options, total: frame + parts.total(steps.length) })
}

/** The segments of views that fit as they are: nothing else is known of them. */
class WholeSegments {
  /** Whether the last view did not fit: then the next one will not either. */
  isOver = false
  readonly #tokens = new WeakMap<Segment, number>()

  tokens(state: State, segments: readonly Segment[]): number {
    let sum = 0
    for (const segment of segments) {
      const tokens = this.#tokens.get(segment) ?? mostViewTokens(state, segment.messages)
      this.#tokens.set(segment, tokens)
      sum += tokens
    }
    return sum
  }
}

/** The least number from 1 to `most` that passes a test which all greater ones pass too; undefined where none does. */
function firstWhere(most: number, test: (count: number) => boolean): number | undefined {
  if (most === 0 || !test(most)) return undefined
  let low = 1
  let high = most
  while (low < high) {
    const middle = (low + high) >> 1
    if (test(middle)) high = middle
    else low = middle + 1
  }
  return low
}

/** Of the notes up to each segment, those up to every so many are kept, and the newest. */
const keptNotes = 32

/**
 * The segments of a view as the ladder sees them, with sums from the first one on. What was known of the last view holds up to the first
 * segment that is another one.
 */
class Parts {
  readonly list: Reduced[] = []
  /** Segments of which messages are left when everything else in them is folded. */
  readonly remnants: number[] = []
  /** The first two segments of which something may be folded: the first may hold nothing but the goal. */
  readonly foldable: number[] = []
  readonly #known = new WeakMap<Segment, Reduced>()
  /** Tokens of the first segments, by their number, after each number of steps. */
  readonly #sums: readonly number[][] = [[0], ...steps.map(() => [0])]
  /** Tokens of what may be folded in the first segments. */
  readonly #older: number[] = [0]
  /** How many of the first segments are as they are in the log. */
  #settled = 0
  /** What the note says of the first segments. */
  #folded: (Folded | undefined)[] = [undefined]
  #goal: Slot | undefined

  update(state: State, segments: readonly Segment[], options: SegmentOptions): this {
    const { planned = [] } = options
    const { newestUser = 0 } = state
    const first = planned.reduce((least, edit) => Math.min(least, firstOf(edit)), Infinity)
    const spared = ({ from, to }: Segment): number =>
      newestUser >= from && newestUser <= to ? newestUser : 0
    let same = 0
    for (; same < this.#settled; same++) {
      const segment = segments[same]
      const part = this.list[same] as Reduced
      if (segment !== part.segment || segment.to >= first) break
      if (part.protectedSeq !== spared(segment)) break
    }
    this.#keep(same)
    for (const segment of segments.slice(same)) {
      // What is planned changes nothing before its first message.
      const isSettled = segment.to < first
      const found = isSettled ? this.#known.get(segment) : undefined
      const protectedSeq = spared(segment)
      const part =
        found?.protectedSeq === protectedSeq
          ? found
          : reduceSegment(state, segment, options, protectedSeq)
      if (isSettled) this.#known.set(segment, part)
      if (isSettled && this.#settled === this.list.length) this.#settled += 1
      this.#push(part)
    }
    return this
  }

  /** Tokens of the first `count` segments after so many steps. @default of all */
  total(step: number, count = this.list.length): number {
    return this.#sums[step]?.[count] as number
  }

  /** Tokens of those behind them. */
  rest(step: number, count: number): number {
    return this.total(step) - this.total(step, count)
  }

  /** Tokens of what may be folded in the first `count` segments. */
  older(count: number): number {
    return this.#older[count] as number
  }

  /** What the note says when everything but the goal is folded in the first `count` segments. */
  noteUpTo(count: number, goal: Slot | undefined, readable: Readable): Folded | undefined {
    if (this.#goal !== goal) this.#folded = [undefined]
    this.#goal = goal
    if (count === 0) return undefined
    let known = Math.min(count, this.#folded.length - 1)
    while (known > 0 && this.#folded[known] === undefined) known -= 1
    let folded = known > 0 ? this.#folded[known] : undefined
    for (let at = Math.max(0, known); at < count; at++) {
      const part = this.list[at] as Reduced
      folded = new Folded(folded)
      for (const slot of part.older) if (slot !== goal) foldSlot(readable, folded, part, slot)
      this.#folded[at + 1] = folded
      const older = at - 1
      if (older > 0 && older % keptNotes !== 0) this.#folded[older] = undefined
    }
    return folded
  }

  #keep(count: number): void {
    this.list.length = count
    this.#settled = count
    this.#older.length = count + 1
    for (const sums of this.#sums) sums.length = count + 1
    if (this.#folded.length > count + 1) this.#folded.length = count + 1
    while ((this.remnants.at(-1) ?? -1) >= count) this.remnants.pop()
    while ((this.foldable.at(-1) ?? -1) >= count) this.foldable.pop()
  }

  #push(part: Reduced): void {
    const index = this.list.push(part) - 1
    this.#older.push(this.older(index) + part.olderTokens)
    for (const [step, sums] of this.#sums.entries()) {
      sums.push((sums[index] as number) + (part.stages[step] as Stage).total)
    }
    const { before, behind, isFolded } = part.left
    if (before.length + behind.length > 0) this.remnants.push(index)
    if (isFolded && this.foldable.length < 2) this.foldable.push(index)
  }
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

/** Folds oldest units until the rest and a note fit; undefined when that is not enough, or when the view would need a note to begin with. */
function foldOldest(
  state: State,
  parts: Parts,
  { budget, total, planned = [] }: SegmentOptions & { readonly total: number },
): Fitted | undefined {
  const { list } = parts
  const goal = goalOf(list)
  if (!keepsItsStart(list, goal?.slot)) return undefined
  const readable = readableIn(state, planned)
  const leftAfter = (count: number): number => {
    const spared = goal !== undefined && goal.index < count ? goal.tokens : 0
    return total - (parts.older(count) - spared)
  }
  const count = firstWhere(list.length, (some) => leftAfter(some) <= budget)
  if (count === undefined) return undefined
  for (let index = count - 1; index < list.length; index++) {
    const part = list[index] as Reduced
    const folded = new Folded(parts.noteUpTo(index, goal?.slot, readable))
    let left = leftAfter(index)
    for (const [at, slot] of part.older.filter((one) => one !== goal?.slot).entries()) {
      left -= sizeOf(part, slot)
      foldSlot(readable, folded, part, slot)
      if (left > budget) continue
      const note = folded.note(state)
      const tokens = left + (note === undefined ? 0 : noteTokens(state.counter, note))
      if (tokens <= budget) return composed(parts, { index, count: at + 1, goal, note, tokens })
    }
  }
  return undefined
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

/** The unit that states the goal. */
interface Goal {
  readonly slot: Slot
  /** The segment that it stands in. */
  readonly index: number
  readonly tokens: number
}

/** The first user message, which states the goal: it is folded last. */
function goalOf(parts: readonly Reduced[]): Goal | undefined {
  for (const [index, part] of parts.entries()) {
    const slot = part.older.find(({ isUser }) => isUser)
    if (slot !== undefined) return { slot, index, tokens: sizeOf(part, slot) }
  }
  return undefined
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
  { list, remnants, foldable }: Parts,
  {
    index,
    count,
    goal,
    note,
    tokens,
  }: {
    readonly index: number
    readonly count: number
    readonly goal: Goal | undefined
    readonly note: string | undefined
    readonly tokens: number
  },
): Fitted {
  const foldedIn = (part: Reduced, at: number): readonly Slot[] => {
    const slots = part.older.filter((slot) => slot !== goal?.slot)
    return at < index ? slots : slots.slice(0, count)
  }
  const start: ViewMessage[] = []
  const edits: Edit[] = []
  let foldedFrom = Infinity
  let isNoted = note === undefined
  // Of the segments between them nothing is left.
  const shown = new Set([...remnants, ...foldable, goal?.index ?? index, index])
  for (const at of [...shown].filter((one) => one <= index).sort((a, b) => a - b)) {
    const part = list[at] as Reduced
    const isWhole = at < index && at !== goal?.index
    const left = isWhole ? part.left : leftOf(part, foldedIn(part, at))
    start.push(...left.before)
    if (!isNoted && left.isFolded) {
      start.push(noteMessage(note ?? ''))
      isNoted = true
    }
    start.push(...left.behind)
    edits.push(...left.edits)
    foldedFrom = Math.min(foldedFrom, left.from)
  }
  const rest = list.slice(index + 1).map(({ stages }) => stages.at(-1) as Stage)
  const folded = list.slice(0, index + 1)
  return {
    segments: [madeSegment(start), ...rest.map(({ segment }) => segment)],
    tokens,
    edits: [...edits, ...rest.flatMap((stage) => stage.edits)],
    get folded() {
      return folded.flatMap((part, at) =>
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
