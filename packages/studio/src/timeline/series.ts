// Timeline series: lines and marks, from the numbers of the library.

import { causeName } from '../causes.ts'
import type { ContextCategory, TimelineStep, Usage } from '../contract.ts'
import { categories, categoryNames } from '../inspector/context-bar.tsx'
import { formatDollars, formatTokens } from '../numbers.ts'
import type { Line, Mark } from './chart.tsx'

export interface Drawn {
  readonly numbers: readonly number[]
  readonly context: readonly Line[]
  /** Empty where no price is known. */
  readonly dollars: readonly Line[]
  readonly cache: readonly Line[]
  readonly marks: readonly Mark[]
}

export function draw(steps: readonly TimelineStep[]): Drawn {
  return {
    numbers: steps.map(({ step }) => step),
    context: contextLines(steps),
    dollars: dollarLines(steps),
    cache: cacheBars(steps.map(({ usage }) => usage)),
    marks: steps.flatMap(marksOf),
  }
}

/** The view by category, stacked: each line is drawn over the one before, so that what shows of it is its own share. */
function contextLines(steps: readonly TimelineStep[]): readonly Line[] {
  const hasParts = steps.some(({ tokens }) => tokens.parts !== undefined)
  const log: Line = {
    name: 'Everything in full',
    color: 'log',
    kind: 'dashes',
    values: steps.map(({ tokens }) => tokens.log),
  }
  if (!hasParts) {
    const values = steps.map(({ tokens }) => tokens.view)
    return [log, { name: 'Sent', color: 'accent', kind: 'line', values }]
  }
  const used = categories.filter((name) =>
    steps.some(({ tokens }) => (tokens.parts?.[name] ?? 0) > 0),
  )
  const upTo = (at: number, parts: Readonly<Record<string, number>> | undefined): number | null =>
    parts === undefined
      ? null
      : used.slice(0, at + 1).reduce((sum, name) => sum + (parts[name] ?? 0), 0)
  const areas = used.map(
    (name: ContextCategory, at): Line => ({
      name: categoryNames[name],
      color: `part-${name}`,
      kind: 'area',
      values: steps.map(({ tokens }) => upTo(at, tokens.parts)),
      own: steps.map(({ tokens }) => tokens.parts?.[name] ?? null),
    }),
  )
  return [log, ...areas.toReversed()]
}

function dollarLines(steps: readonly TimelineStep[]): readonly Line[] {
  if (steps.every(({ cost }) => cost === undefined)) return []
  return [
    {
      name: 'Everything in full',
      color: 'log',
      kind: 'dashes',
      values: sums(steps.map(({ cost }) => cost?.withoutOriel ?? 0)),
    },
    {
      name: 'Spent',
      color: 'accent',
      kind: 'line',
      values: sums(steps.map(({ cost }) => cost?.dollars ?? 0)),
    },
  ]
}

function sums(values: readonly number[]): readonly number[] {
  let sum = 0
  return values.map((value) => {
    sum += value
    return sum
  })
}

type Reported = Usage | undefined

function cacheBars(inputs: readonly Reported[]): readonly Line[] {
  const bars = (
    name: string,
    color: string,
    count: (usage: Usage) => number,
    own: (usage: Usage) => number,
  ): Line => ({
    name,
    color,
    kind: 'bars',
    values: inputs.map((usage) => (usage === undefined ? null : count(usage))),
    own: inputs.map((usage) => (usage === undefined ? null : own(usage))),
  })
  return [
    bars('Not cached', 'uncached', inputOf, ({ uncached }) => uncached),
    bars(
      'Written to the cache',
      'written',
      ({ cacheRead, cacheWrite }) => cacheRead + cacheWrite,
      ({ cacheWrite }) => cacheWrite,
    ),
    bars(
      'Read from the cache',
      'cached',
      ({ cacheRead }) => cacheRead,
      ({ cacheRead }) => cacheRead,
    ),
  ].filter(({ own }) => own?.some((value) => (value ?? 0) > 0))
}

function inputOf({ uncached, cacheRead, cacheWrite }: Usage): number {
  return uncached + cacheRead + cacheWrite
}

/** What happened at a step; a fold that broke the cache is both. */
function marksOf(one: TimelineStep): readonly Mark[] {
  const { step, epoch, compaction, cacheBreak, recovery } = one
  const marks: Mark[] = []
  const lost = cacheBreak?.dollars === undefined ? '' : ` ${formatDollars(cacheBreak.dollars)}`
  if (compaction === true) {
    const label = cacheBreak === undefined ? 'fold' : `fold${lost}`
    marks.push({ step, color: 'compaction', text: 'Fold', label })
  }
  if (recovery === true)
    marks.push({ step, color: 'recovery', text: 'Recovery: too long', label: 'recovery' })
  if (cacheBreak !== undefined) {
    const cause = causeName(cacheBreak.cause)
    const text = `Cache break, ${cause}: ${formatTokens(cacheBreak.lost)} tokens${lost && `,${lost}`}`
    const label = compaction === true ? {} : { label: `${cause}${lost}` }
    marks.push({ step, color: 'break', text, ...label })
  }
  if (epoch !== undefined && marks.length === 0) {
    const text = `${epoch.edits} ${epoch.edits === 1 ? 'edit' : 'edits'}: ${epoch.rules.join(', ')}`
    marks.push({ step, color: 'epoch', text })
  }
  return marks
}
