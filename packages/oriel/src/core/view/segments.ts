// Segments: a view in pieces that do not affect each other, so that a piece that nothing touched is not made again.

import type { Edit } from '../log/entry.ts'
import { firstOf } from '../state/edits.ts'
import type { Item, State } from '../state/state.ts'
import type { Profile, Repair } from './profile.ts'
import { type InForce, render, shownByPins } from './render.ts'
import { repair, repairEnd, repairStart } from './repair.ts'
import type { ViewMessage } from './view.ts'

/** Messages of a view that follow each other. The same object as long as nothing in it changes: what is derived of it can be kept with it. */
export interface Segment {
  readonly messages: readonly ViewMessage[]
  readonly repairs: readonly Repair[]
  /** What live edits and audiences change in it, as it was when it was made. */
  readonly inForce: InForce
  /** Seqs of the first and last log messages that it was made of. */
  readonly from: number
  readonly to: number
}

/** Messages in a segment, at least: few enough to make again, enough that a long view has few of them. */
const leastMessages = 32

interface Kept {
  /** The beginning as it was last repaired. */
  head?: {
    readonly from: readonly Segment[]
    readonly checkpoint: string | undefined
    readonly made: readonly Segment[]
  }
  readonly segments: LogSegment[]
  /** Changes of older messages that are in them. */
  touches: number
}

interface LogSegment extends Segment {
  /** Ids that a later call must not have, or the segment is shown otherwise. */
  readonly unused: readonly string[]
}

/**
 * The rendered and repaired messages of a view. A segment begins with an answer, and every call in it has its result there. The first
 * and the last are made again for each view, the others only if an edit, an undo or a mark touched them or what stands before them.
 */
export function segmentsOf(
  state: State,
  planned: readonly Edit[],
  { profile, checkpoint }: { readonly profile: Profile; readonly checkpoint: string | undefined },
): readonly Segment[] {
  const kept = keptOf(state, profile)
  const inner = compactionFirst(state, innerSegments(state, planned, { profile, kept }), profile)
  const first = inner.findIndex(({ messages }) => messages.some(isUser))
  const headEnd = first === -1 ? inner.length : first + 1
  const head = headOf(inner.slice(0, headEnd), { profile, checkpoint, kept })
  const started = [...head, ...inner.slice(headEnd)]
  const last = started.findLastIndex(({ messages }) => messages.some(isUserSide))
  const tailStart = Math.max(0, last)
  const tail = changed(started.slice(tailStart), (messages) => repairEnd(state, messages, profile))
  return [...started.slice(0, tailStart), ...tail]
}

/**
 * What pins keep of the messages before a provider's compaction stands behind it, before the next message of the user: the provider reads
 * nothing before the block, or refuses it.
 */
function compactionFirst(
  state: State,
  segments: readonly Segment[],
  { isCompaction }: Profile,
): readonly Segment[] {
  const [seq] = state.compaction?.compactedBy ?? []
  if (seq === undefined || isCompaction === undefined) return segments
  const isBlock = (one: ViewMessage): boolean => one.entry?.seq === seq && isCompaction(one)
  const at = segments.findIndex(({ messages }) => messages.some(isBlock))
  if (at === -1) return segments
  const before = messagesIn(segments.slice(0, at + 1))
  const pins = shownByPins(state)
  const isKept = ({ role, entry }: ViewMessage): boolean =>
    role !== 'system' && entry !== undefined && pins.has(entry.seq)
  if (!before.slice(0, before.findIndex(isBlock)).some(isKept)) return segments
  const next = segments.findIndex(
    ({ messages, to }, index) => index >= at && to > seq && messages.some(isUserAfter(seq)),
  )
  const end = next === -1 ? at + 1 : next + 1
  const moved = changed(segments.slice(0, end), (messages) => {
    const place = messages.findIndex(isBlock)
    const pinned = messages.slice(0, place).filter(isKept)
    const others = messages.slice(0, place).filter((one) => !isKept(one))
    const rest = messages.slice(place)
    const user = rest.findIndex(isUserAfter(seq))
    const exchange = rest.findIndex(
      ({ role, isLaterPart = false }, index) => index > 0 && role !== 'tool' && !isLaterPart,
    )
    const behind = user !== -1 ? user : exchange !== -1 ? exchange : rest.length
    const ordered = [...others, ...rest.slice(0, behind), ...pinned, ...rest.slice(behind)]
    return { messages: ordered, repairs: [] }
  })
  return [...moved, ...segments.slice(end)]
}

function isUserAfter(seq: number): (message: ViewMessage) => boolean {
  return ({ role, entry }) => role === 'user' && entry !== undefined && entry.seq > seq
}

/** The beginning of a view, repaired: the same objects as in the last view where it is made of the same. */
function headOf(
  from: readonly Segment[],
  {
    profile,
    checkpoint,
    kept,
  }: {
    readonly profile: Profile
    readonly checkpoint: string | undefined
    readonly kept: Kept
  },
): readonly Segment[] {
  const { head } = kept
  const isSame =
    head?.checkpoint === checkpoint &&
    head?.from.length === from.length &&
    head.from.every((segment, index) => segment === from[index])
  if (isSame && head !== undefined) return head.made
  const made = changed(from, (messages) => repairStart(messages, profile, checkpoint))
  kept.head = { from, checkpoint, made }
  return made
}

/** The messages of all segments. */
export function messagesIn(segments: readonly Segment[]): readonly ViewMessage[] {
  const [only] = segments
  if (only === undefined || segments.length === 1) return only?.messages ?? []
  const all: ViewMessage[] = []
  for (const { messages } of segments) for (const message of messages) all.push(message)
  return all
}

/** The repairs of all segments; most have none. */
export function repairsIn(segments: readonly Segment[]): readonly Repair[] {
  const all: Repair[] = []
  for (const { repairs } of segments) if (repairs.length > 0) all.push(...repairs)
  return all
}

const nothing: InForce = { edits: [], unshown: [] }

/** What is in force in all segments. */
export function inForceIn(segments: readonly Segment[]): InForce {
  return {
    edits: segments.flatMap(({ inForce }) => inForce.edits),
    unshown: segments.flatMap(({ inForce }) => inForce.unshown),
  }
}

/** A segment of messages that no log holds in this form. */
export function madeSegment(messages: readonly ViewMessage[]): Segment {
  return { messages, repairs: [], inForce: nothing, from: 0, to: 0 }
}

/** Remembers what is derived of a segment, as long as the segment is there. */
export function perSegment<T>(derive: (segment: Segment) => T): (segment: Segment) => T {
  const known = new WeakMap<Segment, { readonly value: T }>()
  return (segment) => {
    const found = known.get(segment) ?? { value: derive(segment) }
    known.set(segment, found)
    return found.value
  }
}

/** The same for what also depends on the log: the values are kept with its state. */
export function perSegmentOf<T>(
  key: string,
  derive: (state: State, segment: Segment) => T,
): (state: State, segment: Segment) => T {
  return (state, segment) => {
    const { known } = state.derive(`per-segment:${key}`, () => ({
      known: new WeakMap<Segment, { readonly value: T }>(),
    }))
    const found = known.get(segment) ?? { value: derive(state, segment) }
    known.set(segment, found)
    return found.value
  }
}

function isUser({ role, entry }: ViewMessage): boolean {
  return role === 'user' && entry !== undefined
}

function isUserSide({ role }: ViewMessage): boolean {
  return role === 'user' || role === 'tool'
}

/** One segment of several, where a repair changes their messages; else they stay what they are. */
function changed(
  segments: readonly Segment[],
  repairs: (messages: readonly ViewMessage[]) => Pick<Segment, 'messages' | 'repairs'>,
): readonly Segment[] {
  const [first] = segments
  const all = messagesIn(segments)
  const repaired = repairs(all)
  if (repaired.messages === all) return segments
  // Of a view without messages, a checkpoint may be all that there is.
  if (first === undefined && repaired.messages.length === 0) return segments
  const told = repairsIn(segments)
  return [
    {
      messages: repaired.messages,
      repairs: [...told, ...repaired.repairs],
      inForce: inForceIn(segments),
      from: first?.from ?? 0,
      to: segments.at(-1)?.to ?? 0,
    },
  ]
}

function keptOf(state: State, profile: Profile): Kept {
  const { byProfile } = state.derive('segments', () => ({
    byProfile: new WeakMap<Profile, Kept>(),
  }))
  const kept = byProfile.get(profile) ?? { segments: [], touches: 0 }
  byProfile.set(profile, kept)
  return kept
}

function innerSegments(
  state: State,
  planned: readonly Edit[],
  { profile, kept }: { readonly profile: Profile; readonly kept: Kept },
): readonly Segment[] {
  // What is shown again for a few steps changes without an entry in the log.
  const touched = state.hasExpansions ? 0 : state.touchedSince(kept.touches)
  kept.touches = state.touchCount
  while ((kept.segments.at(-1)?.to ?? -1) >= touched) kept.segments.pop()
  const isStale = ({ unused }: LogSegment): boolean =>
    unused.some((id) => state.exchanges.hasSeen(id))
  const stale = kept.segments.findIndex(isStale)
  if (stale !== -1) kept.segments.length = stale
  const first = planned.reduce((least, edit) => Math.min(least, firstOf(edit)), Infinity)
  const segments = kept.segments.filter(({ to }) => to < first)
  // The last segment is always made again.
  if (state.positionOf((segments.at(-1)?.to ?? 0) + 1) === state.visibleCount) segments.pop()
  const items = state.visibleFrom(state.positionOf((segments.at(-1)?.to ?? 0) + 1))
  for (let start = 0; start < items.length; ) {
    const end = segmentEnd(state, items, start)
    const isLast = end === items.length
    const segment = makeSegment(state, items.slice(start, end), { planned, profile, isLast })
    if (isStale(segment))
      return [makeSegment(state, state.visible, { planned, profile, isLast: true })]
    // What is planned is not in the log yet, and may never be.
    const isKept = !isLast && segment.to < first && kept.segments.length === segments.length
    segments.push(segment)
    if (isKept) kept.segments.push(segment)
    start = end
  }
  return segments
}

function makeSegment(
  state: State,
  items: readonly Item[],
  {
    planned,
    profile,
    isLast,
  }: { readonly planned: readonly Edit[]; readonly profile: Profile; readonly isLast: boolean },
): LogSegment {
  const { rendered, inForce } = render(state, items, planned)
  const { messages, repairs } = repair(state, rendered, profile, { isLast })
  const from = items[0]?.entry.seq ?? 0
  const to = items.at(-1)?.entry.seq ?? 0
  return {
    messages,
    repairs,
    from,
    to,
    inForce,
    unused: [...renamedIn(messages), ...orphansIn(state, items)],
  }
}

/** Ids that calls got on the wire: unique by their place in the log, unless a call has one of them as its own. */
function renamedIn(messages: readonly ViewMessage[]): readonly string[] {
  return messages.flatMap(({ wireIds, blocks }) =>
    [...(wireIds ?? [])].flatMap(([index, id]) =>
      blocks[index]?.type === 'tool-call' ? [id] : [],
    ),
  )
}

/** Ids of results whose call never came: the trace says otherwise once it comes. */
function orphansIn({ exchanges }: State, items: readonly Item[]): readonly string[] {
  return items.flatMap(({ entry: { role, seq, blocks } }) =>
    blocks.flatMap((block, index) => {
      if (role === 'assistant' || block.type !== 'tool-result') return []
      const isKnown = exchanges.answeredBy({ seq, block: index }) !== undefined
      return isKnown || exchanges.hasSeen(block.callId) ? [] : [block.callId]
    }),
  )
}

/** Where the segment that begins at `start` ends: at the first answer behind enough messages that no exchange spans. */
function segmentEnd({ exchanges }: State, items: readonly Item[], start: number): number {
  let answered = 0
  for (let index = start; index < items.length; index++) {
    const { entry } = items[index] as Item
    const before = items[index - 1]?.entry
    const isAnswer =
      entry.role === 'assistant' &&
      before !== undefined &&
      before.role !== 'assistant' &&
      !exchanges.parts.isLater(entry.seq)
    if (isAnswer && index - start >= leastMessages && answered < entry.seq) return index
    for (const { result } of exchanges.exchangeAt(entry.seq)?.calls ?? []) {
      answered = Math.max(answered, result?.seq ?? Infinity)
    }
  }
  return items.length
}
