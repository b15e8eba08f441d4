// Decides which proposed edits are applied now, so that reducing costs less than it saves. Pure; inputs and decision go into the log.

import type { Edit } from '../core/log/entry.ts'
import type { JsonObject } from '../core/log/json.ts'
import { firstOf, isInRanges } from '../core/state/edits.ts'
import type { State } from '../core/state/state.ts'
import { tokensFrom, weigher } from '../core/state/weight.ts'
import type { Prices } from './cache-rules.ts'

/** What is known of the provider's cache for one consumer of a thread. */
export interface CacheState {
  /** The log's length when the newest request was sent; absent when none was, or when its prefix is of no use any more. */
  readonly sent?: number
  /** The log's length when anything was sent last, to whomever. @default the same */
  readonly newest?: number
  /** Milliseconds since then. */
  readonly idleMs: number
}

/**
 * - `policy`: edits of what was not sent yet, or a window that every request must obey, with all that stands behind it
 * - `cold`: the cache has expired, or there is none: everything pending is applied
 * - `worth`: it pays within the steps that are to be expected
 * - `limit`: a checkpoint is made, and everything pending comes along
 * - `none`: nothing is applied
 */
export type DecisionCause = 'policy' | 'cold' | 'worth' | 'limit' | 'none'

export interface Decision {
  readonly edits: readonly Edit[]
  readonly cause: DecisionCause
  /** The numbers that it was computed from, where there were any: the decision can be checked with them. */
  readonly inputs?: JsonObject
}

/** How many more steps are expected, for each that a conversation had. Below 1: most short chats end soon. */
const horizonShare = 0.8
/** Tokens that must be saved for each token that is written again, at the usual prices (write 1.25, read 0.1). */
const gainShare = 0.5
const usualRatio = 11.5

export interface DecideOptions {
  readonly cache: CacheState
  readonly prices: Pick<Prices, 'read' | 'write' | 'coldMs'>
}

export function decide(
  state: State,
  proposed: readonly Edit[],
  { cache, prices }: DecideOptions,
): Decision {
  if (proposed.length === 0) return { edits: [], cause: 'none' }
  const { sent } = cache
  const { newest = sent ?? 0 } = cache
  if (sent === undefined || cache.idleMs > prices.coldMs) {
    const edits = proposed.map((edit) => takingEffectNow(edit, newest))
    return { edits, cause: 'cold', inputs: { idleMs: Math.round(cache.idleMs) } }
  }
  // A window is a limit, not a saving: it never waits. What stands behind its cut is written again anyway.
  const windows = proposed.filter(isWindow)
  const kept = Math.min(sent, ...windows.map((edit) => firstOf(edit) - 1))
  const isFree = (edit: Edit): boolean => isWindow(edit) || firstOf(edit) > kept
  const pending = proposed.filter((edit) => !isFree(edit)).sort((a, b) => firstOf(a) - firstOf(b))
  const free = proposed.filter(isFree).map((edit) => takingEffectNow(edit, newest))
  if (pending.length === 0) return { edits: free, cause: 'policy' }
  const best = bestStart(state, pending, { prices, free })
  const horizon = horizonShare * state.step
  const ratio = Math.max(0, (prices.write - prices.read) / Math.max(prices.read, 0.01))
  const isWorth =
    best.gain > 0 &&
    best.gain >= gainShare * Math.sqrt(ratio / usualRatio) * best.rewritten &&
    best.gain * horizon >= ratio * best.rewritten
  const inputs = {
    pending: pending.length,
    taken: isWorth ? pending.length - best.from : 0,
    gain: best.gain,
    rewritten: best.rewritten,
    horizon: Math.round(horizon),
    read: prices.read,
    write: prices.write,
  }
  if (isWorth) {
    const taken = pending.slice(best.from).map((edit) => takingEffectNow(edit, newest))
    return { edits: [...free, ...taken], cause: 'worth', inputs }
  }
  return { edits: free, cause: free.length > 0 ? 'policy' : 'none', inputs }
}

function isWindow({ window }: Edit): boolean {
  return window !== undefined
}

/** What was sent as it was takes effect now, whenever it fell due: reasoning made since then has seen the original. */
export function takingEffectNow(edit: Edit, sent: number): Edit {
  if (edit.since === undefined || firstOf(edit) > sent) return edit
  const { since: _due, ...rest } = edit
  return rest
}

interface Start {
  /** Position among the pending edits from which on they are taken. */
  readonly from: number
  /** Tokens that each later request does without. */
  readonly gain: number
  /** Tokens behind the first change, which must be written again. */
  readonly rewritten: number
}

/** The tail of the pending edits that pays best: an old edit far in front may cost more than it brings. */
function bestStart(
  state: State,
  pending: readonly Edit[],
  { prices, free }: { prices: Pick<Prices, 'read' | 'write'>; free: readonly Edit[] },
): Start {
  const horizon = horizonShare * state.step
  // Once those edits are applied that cost nothing.
  const behind = tokensFrom(state, free)
  let best: Start & { value: number } = { from: pending.length, gain: 0, rewritten: 0, value: 0 }
  let gain = 0
  for (let from = pending.length - 1; from >= 0; from--) {
    const edit = pending[from] as Edit
    gain += gainOf(state, edit)
    const rewritten = Math.max(0, behind(firstOf(edit)) - gain)
    const value = horizon * prices.read * gain - (prices.write - prices.read) * rewritten
    if (from === pending.length - 1 || value > best.value) best = { from, gain, rewritten, value }
  }
  return best
}

/** Tokens that an edit takes from what is shown now. */
function gainOf(state: State, edit: Edit): number {
  if ('seq' in edit.target) {
    const { seq, block } = edit.target
    const shown = state.blockEdit(seq, block)?.tokensAfter ?? state.item(seq)?.tokens[block] ?? 0
    return shown - edit.tokensAfter
  }
  const weigh = weigher(state, [])
  const tokens = state.visible.reduce(
    (sum, item) => sum + (isInRanges(edit, item.entry.seq) ? weigh(item) : 0),
    0,
  )
  return tokens - edit.tokensAfter
}
