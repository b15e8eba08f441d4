// Timeline series: lines, marks and totals.

import type { TimelineStep, Usage } from '../contract.ts'
import type { Line, Mark } from './chart.tsx'
import { costsOf, runningSums, usualPrices } from './cost.ts'

export interface Totals {
  readonly log: number
  readonly view: number
  readonly cost: number
  readonly costWithout: number
  /** Share of the input read from the cache. */
  readonly cached: number
  readonly epochs: number
  readonly breaks: number
}

export interface Drawn {
  readonly numbers: readonly number[]
  readonly tokens: readonly Line[]
  readonly cost: readonly Line[]
  readonly cache: readonly Line[]
  readonly marks: readonly Mark[]
  readonly totals: Totals
}

/** Keeps the last request of each step: a step may be sent twice if its answer is repeated. */
export function newestOfEach(steps: readonly TimelineStep[]): readonly TimelineStep[] {
  const newest = new Map(steps.map((step) => [step.step, step]))
  return [...newest.values()].sort((a, b) => a.step - b.step)
}

export function draw(steps: readonly TimelineStep[]): Drawn {
  const numbers = steps.map(({ step }) => step)
  const costs = costsOf(steps, usualPrices)
  const withSums = runningSums(costs.map(({ withOriel }) => withOriel))
  const withoutSums = runningSums(costs.map(({ withoutOriel }) => withoutOriel))
  const places = new Map(costs.map(({ step }, index) => [step, index]))
  const at = (sums: readonly number[]) => (step: number) => sums[places.get(step) ?? -1] ?? null
  const inputs = steps.map(({ usage }) => usage)
  const last = steps.at(-1)
  return {
    numbers,
    tokens: tokenLines(steps),
    cost: [
      line('Without Oriel', 'log', numbers.map(at(withoutSums))),
      line('With Oriel', 'accent', numbers.map(at(withSums))),
    ],
    cache: cacheBars(inputs),
    marks: steps.flatMap(marksOf),
    totals: {
      log: last?.tokens.log ?? 0,
      view: last?.tokens.view ?? 0,
      cost: withSums.at(-1) ?? 0,
      costWithout: withoutSums.at(-1) ?? 0,
      cached: cachedShare(inputs),
      epochs: steps.filter(({ epoch }) => epoch !== undefined).length,
      breaks: steps.filter(({ cacheBreak }) => cacheBreak !== undefined).length,
    },
  }
}

function tokenLines(steps: readonly TimelineStep[]): readonly Line[] {
  const budgets = steps.map(({ tokens }) => tokens.budget ?? null)
  return [
    line(
      'Log',
      'log',
      steps.map(({ tokens }) => tokens.log),
    ),
    line(
      'View',
      'accent',
      steps.map(({ tokens }) => tokens.view),
    ),
    ...(budgets.some((budget) => budget !== null)
      ? [line('Budget', 'budget', budgets, 'dashes')]
      : []),
  ]
}

type Reported = Usage | undefined

/** Each bar is drawn over the previous one, so that the visible part is its own share. */
function cacheBars(inputs: readonly Reported[]): readonly Line[] {
  const bars = (name: string, color: string, count: (usage: Usage) => number): Line =>
    line(
      name,
      color,
      inputs.map((usage) => (usage === undefined ? null : count(usage))),
      'bars',
    )
  return [
    bars('Input', 'uncached', inputOf),
    bars('Cached or written', 'written', ({ cacheRead, cacheWrite }) => cacheRead + cacheWrite),
    bars('Cached', 'cached', ({ cacheRead }) => cacheRead),
  ]
}

function cachedShare(inputs: readonly Reported[]): number {
  const sum = (count: (usage: Usage) => number): number =>
    inputs.reduce((total, usage) => total + (usage === undefined ? 0 : count(usage)), 0)
  const all = sum(inputOf)
  return all === 0 ? 0 : sum(({ cacheRead }) => cacheRead) / all
}

function inputOf({ uncached, cacheRead, cacheWrite }: Usage): number {
  return uncached + cacheRead + cacheWrite
}

function line(
  name: string,
  color: string,
  values: Line['values'],
  kind: Line['kind'] = 'line',
): Line {
  return { name, color, kind, values }
}

function marksOf({ step, epoch, compaction, cacheBreak }: TimelineStep): readonly Mark[] {
  if (cacheBreak !== undefined) return [{ step, color: 'break' }]
  if (compaction === true) return [{ step, color: 'compaction' }]
  return epoch === undefined ? [] : [{ step, color: 'epoch' }]
}
