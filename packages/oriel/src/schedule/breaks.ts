// Detects cache breaks: compares the cached tokens that a provider reports with what was expected, and names the cause. Pure.

import type { ReportedMiss } from '../core/log/entry.ts'
import type { Prices } from './cache-rules.ts'

export const breakCauses = [
  'edit',
  'ttl',
  'tools',
  'system',
  'parameters',
  'model',
  'routing',
  'unknown',
] as const
export type BreakCause = (typeof breakCauses)[number]

/** What the provider measured of one request. */
export interface Measurement {
  /** All input tokens. */
  readonly input: number
  /** Those read from the cache. */
  readonly cacheRead: number
  /** Those written to the cache, where the provider says so. */
  readonly cacheWrite: number
}

export interface BreakInput {
  /** The request before, of the same consumer. */
  readonly before: Measurement
  readonly now: Measurement
  /** Milliseconds between the two. */
  readonly idleMs: number
  readonly prices: Pick<Prices, 'read' | 'write' | 'ttlMs' | 'coldMs' | 'minimumTokens'>
  /** What the provider itself says of a miss: it stands over what can be inferred. @default nothing */
  readonly told?: ReportedMiss | undefined
  /** What differs between the two requests. */
  readonly changed: Readonly<
    Partial<Record<'model' | 'tools' | 'system' | 'parameters' | 'edit', boolean>>
  >
}

export interface CacheBreak {
  readonly cause: BreakCause
  /** Tokens that should have been read from the cache and were not. */
  readonly lost: number
  /** What that cost, in base input tokens. */
  readonly cost: number
  /** The provider's own word for the cause, where it gave one. */
  readonly told?: string
}

/** Providers cache in blocks, and the newest message may not be in one. */
const slack = 0.9
const slackTokens = 1024

/** The break between two requests; undefined when the cache held, or when nothing can be said. */
export function findBreak(input: BreakInput): CacheBreak | undefined {
  const { before, now, prices, told } = input
  const price = prices.write - prices.read
  if (told !== undefined) {
    const lost = told.tokens ?? Math.max(0, Math.min(before.input, now.input) - now.cacheRead)
    return lost === 0 ? undefined : { cause: told.cause, lost, cost: lost * price, told: told.word }
  }
  if (before.input < prices.minimumTokens || !reportsCache(before, now)) return undefined
  const expected = Math.min(before.input, now.input)
  if (now.cacheRead >= expected * slack - slackTokens) return undefined
  const lost = Math.max(0, expected - now.cacheRead)
  return { cause: causeOf(input), lost, cost: lost * price }
}

/** A provider that never says a word about its cache may well have one. */
function reportsCache(before: Measurement, now: Measurement): boolean {
  return [before, now].some(({ cacheRead, cacheWrite }) => cacheRead > 0 || cacheWrite > 0)
}

/** A request is tools, then system, then messages: the first part that changed explains the loss. */
function causeOf({ changed, idleMs, prices, now }: BreakInput): BreakCause {
  if (changed.model === true) return 'model'
  if (idleMs > prices.coldMs) return 'ttl'
  for (const part of ['tools', 'system', 'parameters', 'edit'] as const) {
    if (changed[part] === true) return part
  }
  if (idleMs > prices.ttlMs) return 'ttl'
  // Nothing changed and it is too early to be forgotten: the request went to a machine that had not seen it.
  return now.cacheRead === 0 ? 'routing' : 'unknown'
}
