// What a call cost, and what the same call would have cost with everything sent in full.

import type { RecordedBreak, Usage } from '../core/log/entry.ts'
import { dollarsOf, ratesOf } from './cost.ts'

export interface CallCost {
  /** What the call cost, input and output. */
  readonly dollars: number
  /** What it would have cost with everything in full, cached as well as the provider can. Equal to `dollars` until something was reduced. */
  readonly withoutOriel: number
}

export interface MeasuredCall {
  readonly model: string | undefined
  /** The lane: requests with the same format and model share a cache. */
  readonly lane: string
  readonly usage: Usage
  /** Tokens of the request, and of everything in full. */
  readonly tokens: { readonly view: number; readonly log: number }
  readonly broken?: RecordedBreak | undefined
}

/** Causes that would have broken the cache of a request in full as well. */
const notOurs: ReadonlySet<string> = new Set([
  'ttl',
  'tools',
  'system',
  'parameters',
  'model',
  'routing',
])
/** Lanes whose last request is remembered. */
const maxLanes = 100

const million = 1_000_000

/** Weighs the calls of one thread, in order. */
export class SavingsFold {
  /** Of each lane: tokens of its newest request in full, by the provider's count. */
  readonly #lanes = new Map<string, { whole: number; isReduced: boolean; hasCache: boolean }>()

  /** The cost of a call; undefined where the price of its model is not known. */
  take({ model, lane: name, usage, tokens, broken }: MeasuredCall): CallCost | undefined {
    const lane = this.#lanes.get(name) ?? { whole: 0, isReduced: false, hasCache: false }
    const { uncached, cacheRead, cacheWrite, output } = usage
    const input = uncached + cacheRead + cacheWrite
    const isReduced = tokens.view > 0 && tokens.view < tokens.log
    const whole = isReduced ? input * (tokens.log / tokens.view) : input
    const before = lane.whole
    lane.whole = whole
    lane.isReduced ||= isReduced
    lane.hasCache ||= cacheRead + cacheWrite > 0
    if (this.#lanes.size < maxLanes) this.#lanes.set(name, lane)
    const dollars = dollarsOf(usage, model)
    const rates = ratesOf(model)
    if (dollars === undefined || rates === undefined) return undefined
    if (!lane.isReduced) return { dollars, withoutOriel: dollars }
    const isLost = broken !== undefined && notOurs.has(broken.cause)
    // At least what this very call read: a cache that another thread has warmed would have served both.
    const cached = Math.min(
      whole,
      isLost || !lane.hasCache ? cacheRead : Math.max(before, cacheRead),
    )
    const fresh = cacheWrite > 0 ? rates.write : rates.input
    const inFull = cached * rates.read + (whole - cached) * fresh
    return { dollars, withoutOriel: (inFull + output * (rates.output ?? 0)) / million }
  }
}
