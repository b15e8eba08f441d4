// Condition of `--fail-if`, such as `cost>0.8 or recall<0.99`.

import { OrielError } from 'oriel'
import type { Outcome, Simulation } from 'oriel/simulate'
import { didYouMean } from '../names.ts'

/** Metrics in a condition. Shares are between 0 and 1. */
export const metrics = {
  cost: 'cost relative to doing nothing',
  tokens: 'input tokens relative to doing nothing',
  cached: 'share of the input that is read from the cache',
  regret: 'cost relative to the offline optimum of clearing old results',
  recall: 'share of the facts in arguments that are visible',
  anchored: 'share of them that is visible with its words',
  reachable: 'share of them that is visible or can be expanded',
  complete: 'share of the calls that see all they need',
  user: "share of the user's own text that stays",
  rules: 'share of the stated rules that the last request has word for word',
  lookups: 'lookups that would fetch what is not visible',
  summaries: 'calls of the summarizer',
  breaks: 'cache breaks',
  invalid: 'requests that the provider would refuse',
  refused: 'requests that could not be made',
  mean: 'mean tokens of a request',
  peak: 'tokens of the largest request',
} as const

export type Metric = keyof typeof metrics

interface Comparison {
  readonly metric: Metric
  readonly operator: '<' | '<=' | '>' | '>='
  readonly value: number
}

/** Disjunction of conjunctions: any list whose comparisons all hold. */
export interface Condition {
  readonly text: string
  readonly any: readonly (readonly Comparison[])[]
}

const comparison = /^\s*([a-z]+)\s*(<=|>=|<|>)\s*(\d+(?:\.\d+)?)(%?)\s*$/

/** Parses comparisons joined by `and` and `or`; `and` binds tighter. */
export function readCondition(text: string): Condition {
  const any = text.split(/\bor\b|\|\|/).map((part) =>
    part.split(/\band\b|&&/).map((one): Comparison => {
      const match = comparison.exec(one)
      const [, metric = '', operator = '', value = '', percent = ''] = match ?? []
      if (match === null || !Object.hasOwn(metrics, metric)) throw wrong(one)
      return {
        metric: metric as Metric,
        operator: operator as Comparison['operator'],
        value: Number(value) / (percent === '' ? 1 : 100),
      }
    }),
  )
  return { text, any }
}

/** Why a metric can have no value. */
const unjudged: Partial<Record<Metric, string>> = {
  ...Object.fromEntries(
    ['recall', 'anchored', 'reachable', 'complete'].map((name) => [
      name,
      'no call used a value that was said before',
    ]),
  ),
  rules: 'no rule was stated (--rules)',
  summaries: 'no summarizer was simulated (--summarizer)',
}

/** The metrics of one policy; undefined where there was nothing to judge. */
export type Measured = Readonly<Record<Metric, number | undefined>>

export function measure(outcome: Outcome, simulation: Simulation): Measured {
  const { optimum } = simulation
  const { totals, costRatio, tokensRatio } = outcome
  const { needed, visible, anchored, recoverable } = totals.arguments
  const share = (part: number): number | undefined => (needed === 0 ? undefined : part / needed)
  const { stated = 0, kept = 0 } = totals.rules ?? {}
  return {
    cost: costRatio,
    tokens: tokensRatio,
    cached: totals.cachedShare,
    regret: ratio(totals.cost, optimum),
    recall: share(visible),
    anchored: share(anchored),
    reachable: share(visible + recoverable),
    complete: needed === 0 ? undefined : totals.completeCalls,
    user: totals.userText,
    rules: stated === 0 ? undefined : kept / stated,
    lookups: totals.lookups.count,
    summaries: totals.summaries?.calls,
    breaks: Object.values(totals.breaks).reduce((sum, count) => sum + count, 0),
    invalid: totals.invalid,
    refused: totals.refused,
    mean: totals.meanTokens,
    peak: totals.peakTokens,
  }
}

/** The comparisons that make a policy fail, in words; undefined if it passes. */
export function failureOf(condition: Condition, measured: Measured): string | undefined {
  const failed = condition.any.find((all) => all.every((one) => holds(one, measured[one.metric])))
  return failed
    ?.map(({ metric, operator, value }) => {
      const number = measured[metric]
      if (number === undefined)
        return `${metric} cannot be judged: ${unjudged[metric] ?? 'no data'}`
      const found = Math.round(number * 10_000) / 10_000
      return `${metric} is ${found} (${operator} ${value})`
    })
    .join(' and ')
}

/** What cannot be judged fails: a check that checked nothing must not pass. */
function holds({ operator, value }: Comparison, found: number | undefined): boolean {
  if (found === undefined) return true
  switch (operator) {
    case '<':
      return found < value
    case '<=':
      return found <= value
    case '>':
      return found > value
    default:
      return found >= value
  }
}

function ratio(part: number, whole: number): number {
  return whole === 0 ? 1 : part / whole
}

function wrong(part: string): OrielError {
  const known = Object.keys(metrics)
  const names = known.join(', ')
  const [, metric = ''] = comparison.exec(part) ?? []
  if (metric !== '') {
    const problem = `no number is called '${metric}'${didYouMean(metric, known)}`
    return new OrielError('invalid-option', `--fail-if: ${problem}; known: ${names}.`)
  }
  return new OrielError(
    'invalid-option',
    `--fail-if: '${part.trim().slice(0, 40)}' is no comparison; write for example "cost>0.8 or recall<0.99"; known: ${names}.`,
  )
}
