// Totals of judgements, per source and overall.

import type { FactCount, Judgement, LookupCount } from './judge.ts'
import type { RulesKept } from './rules-kept.ts'
import type { SummaryCalls } from './summarizer.ts'

export interface Totals {
  readonly conversations: number
  readonly requests: number
  /** Input tokens of all requests. */
  readonly tokens: number
  /** Share of them read from the cache. */
  readonly cachedShare: number
  /** In base input tokens. */
  readonly cost: number
  readonly meanTokens: number
  readonly peakTokens: number
  /** Requests with a broken cache prefix, by cause. */
  readonly breaks: Readonly<Record<string, number>>
  readonly invalid: number
  readonly refused: number
  readonly arguments: FactCount
  readonly text: FactCount
  readonly old: FactCount
  /** Share of fact-needing calls that saw all their facts. */
  readonly completeCalls: number
  readonly userText: number
  /** Lookups that would fetch the recoverable facts, and what they would cost. Not part of `cost`. */
  readonly lookups: LookupCount
  /** Stated rules, if they were judged. */
  readonly rules?: RulesKept
  /** Calls of the simulated summarizer. Not part of `cost`. */
  readonly summaries?: SummaryCalls
}

export function totalsOf(judgements: readonly Judgement[]): Totals {
  let tokens = 0
  let cached = 0
  let cost = 0
  let peakTokens = 0
  let requests = 0
  let userText = 0
  const breaks: Record<string, number> = {}
  for (const { steps, userText: kept } of judgements) {
    requests += steps.length
    userText += kept * steps.length
    for (const step of steps) {
      tokens += step.tokens
      cached += step.cached
      cost += step.cost
      peakTokens = Math.max(peakTokens, step.tokens)
      if (step.broken !== undefined) breaks[step.broken] = (breaks[step.broken] ?? 0) + 1
    }
  }
  const needing = sum(judgements, ({ calls }) => calls.needing)
  const complete = sum(judgements, ({ calls }) => calls.complete)
  return {
    conversations: judgements.length,
    requests,
    tokens,
    cachedShare: ratio(cached, tokens, 0),
    cost,
    meanTokens: ratio(tokens, requests, 0),
    peakTokens,
    breaks,
    invalid: sum(judgements, ({ invalid }) => invalid),
    refused: sum(judgements, ({ refused }) => refused),
    arguments: addCounts(judgements.map((one) => one.arguments)),
    text: addCounts(judgements.map(({ text }) => text)),
    old: addCounts(judgements.map(({ old }) => old)),
    completeCalls: ratio(complete, needing, 1),
    userText: ratio(userText, requests, 1),
    lookups: added(judgements.flatMap(({ steps }) => steps.map(({ lookups }) => lookups))) ?? {
      count: 0,
      cost: 0,
    },
    ...defined('rules', added(judgements.flatMap(({ rules }) => rules ?? []))),
    ...defined('summaries', added(judgements.flatMap(({ summaries }) => summaries ?? []))),
  }
}

/** The sum of each field; undefined where there is nothing to add. */
function added<T extends { readonly [K in keyof T]: number }>(all: readonly T[]): T | undefined {
  if (all.length === 0) return undefined
  const names = Object.keys(all[0] as T) as (keyof T)[]
  return Object.fromEntries(names.map((name) => [name, sum(all, (one) => one[name])])) as T
}

function defined<K extends string, T>(name: K, value: T | undefined): { readonly [P in K]?: T } {
  return (value === undefined ? {} : { [name]: value }) as { readonly [P in K]?: T }
}

function addCounts(counts: readonly FactCount[]): FactCount {
  return {
    needed: sum(counts, ({ needed }) => needed),
    visible: sum(counts, ({ visible }) => visible),
    anchored: sum(counts, ({ anchored }) => anchored),
    recoverable: sum(counts, ({ recoverable }) => recoverable),
    lost: sum(counts, ({ lost }) => lost),
  }
}

function sum<T>(values: readonly T[], of: (value: T) => number): number {
  return values.reduce((total, value) => total + of(value), 0)
}

function ratio(part: number, whole: number, otherwise: number): number {
  return whole === 0 ? otherwise : part / whole
}
