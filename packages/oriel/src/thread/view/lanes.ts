// What each consumer of a thread was sent last, and what the provider measured of it: a consumer is format, model and frame.

import type { ReportedMiss, RequestEntry, Usage, UsageEntry } from '../../core/log/entry.ts'
import type { Json, JsonObject } from '../../core/log/json.ts'
import { isObject } from '../../core/log/json.ts'
import { carriesExpandTool, searchToolIn } from '../../core/state/expansion.ts'
import type { State } from '../../core/state/state.ts'
import { type CacheBreak, findBreak, type Measurement } from '../../schedule/breaks.ts'
import type { CacheState } from '../../schedule/cache-aware.ts'
import type { Prices } from '../../schedule/prices.ts'

/** Consumers that are remembered; a thread seldom has more than two. */
const remembered = 8

/** A request that the provider has measured. */
export interface MeasuredLane extends Omit<Lane, 'before' | 'measured'> {
  readonly measured: Measurement
}

/** One consumer's newest request. */
export interface Lane {
  readonly format: string
  readonly model: string
  readonly frameHash: string
  readonly view: string
  /** Where its record stands in the log. */
  readonly seq: number
  readonly at: number
  /** The first seq that it showed in a form which is not kept, such as one reduced for a budget. */
  readonly unkeptFrom?: number
  readonly measured?: Measurement
  /** The request before it that was measured: of this consumer, else of the one that it came from. */
  readonly before?: MeasuredLane
}

export type LaneKey = Pick<Lane, 'format' | 'model' | 'frameHash'>

/** The lanes after one more request, the newest last. */
export function withRequest(lanes: readonly Lane[], request: RequestEntry): readonly Lane[] {
  const { format, model = '', frameHash, view, seq, at, details } = request
  const own = lanes.find((other) => isSame(other, { format, model, frameHash }))
  const before =
    own === undefined
      ? measuredOf(lanes.findLast((other) => other.measured !== undefined))
      : (measuredOf(own) ?? own.before)
  const lane: Lane = {
    ...{ format, model, frameHash, view, seq, at },
    ...(details?.unkeptFrom === undefined ? {} : { unkeptFrom: details.unkeptFrom }),
    ...(before === undefined ? {} : { before }),
  }
  return [...lanes.filter((other) => other !== own), lane].slice(-remembered)
}

function measuredOf(lane: Lane | undefined): MeasuredLane | undefined {
  if (lane?.measured === undefined) return undefined
  const { before: _, measured, ...rest } = lane
  return { ...rest, measured }
}

/** The lanes after the provider measured a request. */
export function withUsage(lanes: readonly Lane[], { view, sample }: UsageEntry): readonly Lane[] {
  return lanes.map((lane) =>
    lane.view === view ? { ...lane, measured: measurementOf(sample) } : lane,
  )
}

/** What is known of the provider's cache for a consumer. A checkpoint made since then breaks the prefix anyway. */
export function cacheOf(
  lanes: readonly Lane[],
  key: LaneKey,
  { state, now }: { readonly state: State; readonly now: number },
): CacheState {
  const lane = lanes.find((other) => isSame(other, key))
  const newest = lanes.reduce((last, { seq }) => Math.max(last, seq), 0)
  if (lane === undefined || (state.checkpoint?.seq ?? 0) > lane.seq) return { newest, idleMs: 0 }
  return { sent: lane.seq, newest, idleMs: Math.max(0, now - lane.at) }
}

/** From where one of two requests showed what is not kept, so that they differ without an edit in the log. */
export function unkeptIn(lane: Lane & { readonly before: MeasuredLane }): number | undefined {
  const first = Math.min(lane.unkeptFrom ?? Infinity, lane.before.unkeptFrom ?? Infinity)
  return first === Infinity ? undefined : first
}

/** Why the cache did not hold the request before; undefined when it did. */
export function breakOf(
  lane: Lane & { readonly before: MeasuredLane },
  measured: Measurement,
  around: {
    readonly prices: Prices
    readonly hasEdits: boolean
    /** What the provider itself says of a miss. */
    readonly told?: ReportedMiss | undefined
    /** The recorded frame of a hash. */
    readonly frame: (hash: string) => Json | undefined
  },
): CacheBreak | undefined {
  const { before } = lane
  const isFramed = before.frameHash === lane.frameHash
  const [old, own] = isFramed ? [] : [around.frame(before.frameHash), around.frame(lane.frameHash)]
  return findBreak({
    before: before.measured,
    now: measured,
    idleMs: lane.at - before.at,
    prices: around.prices,
    told: around.told,
    changed: {
      model: before.model !== lane.model,
      tools: differs(old, own, 'tools') && !(around.hasEdits && isOnlyOffered(old, own)),
      system: differs(old, own, 'system'),
      parameters: differs(old, own, 'params'),
      edit: around.hasEdits || unkeptIn(lane) !== undefined,
    },
  })
}

function differs(a: Json | undefined, b: Json | undefined, part: string): boolean {
  const of = (frame: Json | undefined): string =>
    JSON.stringify(isObject(frame) ? ((frame as JsonObject)[part] ?? null) : null)
  return of(a) !== of(b)
}

/** Whether the expand tool is all that was added to the tools: that comes with the edits that need it. */
function isOnlyOffered(before: Json | undefined, after: Json | undefined): boolean {
  const listOf = (frame: Json | undefined): readonly Json[] => {
    const tools = isObject(frame) ? (frame as JsonObject).tools : undefined
    return Array.isArray(tools) ? tools : []
  }
  const isLookup = (tool: Json): boolean =>
    carriesExpandTool({ tools: [tool] }) === true || searchToolIn({ tools: [tool] }) !== undefined
  const rest = listOf(after).filter((tool) => !isLookup(tool))
  return JSON.stringify(rest) === JSON.stringify(listOf(before))
}

function isSame(a: LaneKey, b: LaneKey): boolean {
  return a.format === b.format && a.model === b.model && a.frameHash === b.frameHash
}

function measurementOf({ uncached, cacheRead, cacheWrite }: Usage): Measurement {
  return { input: uncached + cacheRead + cacheWrite, cacheRead, cacheWrite }
}
