// Token weight of a conversation as shown: every message in the form given by live and planned
// edits.

import type { Edit } from '../log/entry.ts'
import { overheadOf } from '../tokens/counter.ts'
import { isLasting } from '../view/audience.ts'
import { editsShown } from '../view/render.ts'
import { firstOf, isInRanges } from './edits.ts'
import type { Item, State } from './state.ts'

/** The provider's token count for the newest request, and a calibration factor for estimates. */
export interface Measured {
  /** Input tokens of the newest request, valid if only messages were appended since. */
  readonly request?: { readonly seq: number; readonly tokens: number }
  /** Provider tokens per estimated token. */
  readonly factor: number
}

const unmeasured: Measured = { factor: 1 }

/** Visible messages that no planned edit drops. */
export function remaining(state: State, planned: readonly Edit[]): readonly Item[] {
  const drops = planned.filter((edit) => !('seq' in edit.target))
  if (drops.length === 0) return state.visible
  return state.visible.filter(({ entry }) => !drops.some((edit) => isInRanges(edit, entry.seq)))
}

/**
 * Returns a function for the tokens of a message as shown. A message hidden from later requests
 * weighs nothing.
 */
export function weigher(state: State, planned: readonly Edit[]): (item: Item) => number {
  const editOf = editsShown(state, planned)
  return ({ entry, tokens }) =>
    tokens.reduce(
      (sum, full, block) => sum + (editOf(entry, block)?.tokensAfter ?? full),
      isLasting(entry) ? overheadOf(entry.role) : 0,
    )
}

/** Sums of what the visible messages weigh, kept from step to step. */
class Weights {
  /** Tokens of the visible messages before each position, as live edits show them. */
  readonly #before: number[] = [0]
  /** The same for those that stay in any case: system messages and what pins keep. */
  readonly #fixed: number[] = [0]
  #touches = 0

  /** Reads what is new or was touched since. */
  update(state: State): this {
    // What is shown again for a few steps changes without an entry in the log.
    const touched = state.hasExpansions ? 0 : state.touchedSince(this.#touches)
    this.#touches = state.touchCount
    const known = Math.min(this.#before.length - 1, state.positionOf(touched))
    this.#before.length = known + 1
    this.#fixed.length = known + 1
    const weigh = weigher(state, [])
    for (const item of state.visibleFrom(known)) {
      const own = weigh(item)
      const { role, seq } = item.entry
      const isFixed = role === 'system' || state.isKeptByPin(seq)
      this.#before.push((this.#before.at(-1) as number) + own)
      this.#fixed.push((this.#fixed.at(-1) as number) + (isFixed ? own : 0))
    }
    return this
  }

  /** Tokens of the visible messages before a position. */
  before(position: number): number {
    return this.#before[position] as number
  }

  get fixed(): number {
    return this.#fixed.at(-1) as number
  }
}

function weightsOf(state: State): Weights {
  return state.derive('weights', () => new Weights()).update(state)
}

/** Tokens of system and pinned messages, which stay. */
export function fixedIn(state: State): number {
  return weightsOf(state).fixed
}

/**
 * The visible messages in two parts: before what is planned, where sums are known, and from there on, where each message is weighed with
 * what is planned. A reference stands behind its source, so that nothing before the first planned edit changes.
 */
function weighed(
  state: State,
  planned: readonly Edit[],
): { readonly position: number; readonly weights: Weights; readonly items: readonly Item[] } {
  const first = planned.reduce((least, edit) => Math.min(least, firstOf(edit)), Infinity)
  const position = state.positionOf(first)
  return { position, weights: weightsOf(state), items: state.visibleFrom(position) }
}

/** Tests whether no planned edit drops a message. */
function staysWith(planned: readonly Edit[]): (item: Item) => boolean {
  const drops = planned.filter((edit) => !('seq' in edit.target))
  return ({ entry }) => !drops.some((edit) => isInRanges(edit, entry.seq))
}

/** Returns a function for the tokens of the visible messages from a seq on, with `planned` edits applied. */
export function tokensFrom(state: State, planned: readonly Edit[]): (seq: number) => number {
  const { position, weights, items } = weighed(state, planned)
  const weigh = weigher(state, planned)
  const kept = items.filter(staysWith(planned))
  const sums: number[] = new Array(kept.length + 1).fill(0)
  for (let index = kept.length - 1; index >= 0; index--) {
    sums[index] = (sums[index + 1] as number) + weigh(kept[index] as Item)
  }
  return (seq) => {
    const from = state.positionOf(seq)
    if (from < position)
      return (sums[0] as number) + weights.before(position) - weights.before(from)
    const index = kept.findIndex(({ entry }) => entry.seq >= seq)
    return sums[index === -1 ? kept.length : index] as number
  }
}

/** Cheap check: true if the next request is certainly below the limit, whatever is planned. */
export function isSurelyBelow(
  limit: number,
  state: State,
  {
    frameTokens,
    measured = unmeasured,
  }: { readonly frameTokens: number; readonly measured?: Measured | undefined },
): boolean {
  const { request, factor } = measured
  if (request === undefined) return factor * (frameTokens + state.totalTokens) < limit
  const weigh = weigher(state, [])
  let added = 0
  for (let at = state.visibleCount - 1; at >= 0; at--) {
    const item = state.visibleAt(at) as Item
    if (item.entry.seq <= request.seq) break
    added += weigh(item)
  }
  return request.tokens + factor * added < limit
}

/**
 * Tokens of the next request: the provider's count for the newest request plus the estimate of
 * later messages, minus the savings of planned edits. Without a provider count, everything is
 * estimated.
 */
export function requestTokens(
  state: State,
  planned: readonly Edit[],
  {
    frameTokens,
    measured = unmeasured,
  }: { readonly frameTokens: number; readonly measured?: Measured | undefined },
): number {
  const { request, factor } = measured
  const after = weigher(state, planned)
  const { position, weights, items } = weighed(state, planned)
  const isKept = staysWith(planned)
  const now = (item: Item): number => (isKept(item) ? after(item) : 0)
  if (request === undefined) {
    const own = frameTokens + (state.checkpoint?.tokensAfter ?? 0) + weights.before(position)
    return Math.ceil(factor * items.reduce((sum, item) => sum + now(item), own))
  }
  const before = weigher(state, [])
  // What the request has, and nothing changes, is in its count.
  const counted = Math.min(position, state.positionOf(request.seq + 1))
  const change = items.reduce(
    (sum, item) => sum + now(item) - (item.entry.seq <= request.seq ? before(item) : 0),
    weights.before(position) - weights.before(counted),
  )
  return Math.ceil(request.tokens + factor * change)
}
