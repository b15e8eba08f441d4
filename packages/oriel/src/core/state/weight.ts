// Token weight of a conversation as shown: every message in the form given by live and planned
// edits.

import type { Edit } from '../log/entry.ts'
import { overheadOf } from '../tokens/counter.ts'
import { isLasting } from '../view/audience.ts'
import { editsShown } from '../view/render.ts'
import { isInRanges } from './edits.ts'
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
  const { visible } = state
  let added = 0
  for (let at = visible.length - 1; at >= 0; at--) {
    const item = visible[at] as Item
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
  const items = remaining(state, planned)
  if (request === undefined) {
    const own = frameTokens + (state.checkpoint?.tokensAfter ?? 0)
    return Math.ceil(factor * items.reduce((sum, item) => sum + after(item), own))
  }
  const before = weigher(state, [])
  const kept = new Set(items)
  const change = state.visible.reduce((sum, item) => {
    const now = kept.has(item) ? after(item) : 0
    return sum + now - (item.entry.seq <= request.seq ? before(item) : 0)
  }, 0)
  return Math.ceil(request.tokens + factor * change)
}
