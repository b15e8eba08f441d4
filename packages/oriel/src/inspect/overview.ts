// What many threads add up to: spent, saved, cached, folded and broken, over all of them and by day.

import { addDays, type DayNumbers, type ThreadNumbers, type ThreadNumbersFold } from './numbers.ts'

export interface Overview
  extends Pick<
    ThreadNumbers,
    | 'requests'
    | 'tokens'
    | 'sent'
    | 'usage'
    | 'cost'
    | 'edits'
    | 'folds'
    | 'breaks'
    | 'recoveries'
    | 'expansions'
  > {
  readonly threads: number
  /** Oldest first, days without calls left out. */
  readonly days: readonly (DayNumbers & { readonly day: string })[]
}

const dayMs = 86_400_000
/** Days that are told. */
const maxDays = 90

/** Adds up the numbers of threads. */
export class OverviewFold {
  #threads = 0
  #sum: Omit<Overview, 'threads' | 'days'> = {
    requests: 0,
    tokens: { log: 0, view: 0 },
    sent: { log: 0, view: 0 },
    usage: { uncached: 0, cacheRead: 0, cacheWrite: 0, output: 0 },
    edits: 0,
    folds: 0,
    breaks: { count: 0, tokens: 0, causes: {} },
    recoveries: 0,
    expansions: 0,
  }
  readonly #days = new Map<number, DayNumbers>()
  /** Also those of threads none of whose calls has a price. */
  #unpricedCalls = 0

  add(fold: ThreadNumbersFold): void {
    this.#threads += 1
    this.#sum = sumOf(this.#sum, fold.numbers())
    this.#unpricedCalls += fold.unpricedCalls
    for (const [day, numbers] of fold.days) {
      const before = this.#days.get(day)
      this.#days.set(day, before === undefined ? numbers : addDays(before, numbers))
    }
  }

  overview(): Overview {
    const { cost, ...sum } = this.#sum
    const days = [...this.#days].sort(([a], [b]) => a - b).slice(-maxDays)
    return {
      threads: this.#threads,
      ...sum,
      ...(cost === undefined ? {} : { cost: { ...cost, unpricedCalls: this.#unpricedCalls } }),
      days: days.map(([day, numbers]) => ({
        day: new Date(day * dayMs).toISOString().slice(0, 10),
        ...numbers,
      })),
    }
  }
}

type Sum = Omit<Overview, 'threads' | 'days'>

function sumOf(a: Sum, b: ThreadNumbers): Sum {
  // A thread of which nothing was sent has said something, but no model has read it.
  const said = b.requests === 0 ? { log: 0, view: 0 } : b.tokens
  const cost = costOf(a.cost, b.cost)
  return {
    requests: a.requests + b.requests,
    tokens: { log: a.tokens.log + said.log, view: a.tokens.view + said.view },
    sent: { log: a.sent.log + b.sent.log, view: a.sent.view + b.sent.view },
    usage: {
      uncached: a.usage.uncached + b.usage.uncached,
      cacheRead: a.usage.cacheRead + b.usage.cacheRead,
      cacheWrite: a.usage.cacheWrite + b.usage.cacheWrite,
      output: a.usage.output + b.usage.output,
    },
    ...(cost === undefined ? {} : { cost }),
    edits: a.edits + b.edits,
    folds: a.folds + b.folds,
    breaks: breaksOf(a.breaks, b.breaks),
    recoveries: a.recoveries + b.recoveries,
    expansions: a.expansions + b.expansions,
  }
}

function costOf(a: ThreadNumbers['cost'], b: ThreadNumbers['cost']): ThreadNumbers['cost'] {
  if (a === undefined || b === undefined) return a ?? b
  return {
    dollars: a.dollars + b.dollars,
    withoutOriel: a.withoutOriel + b.withoutOriel,
    unpricedCalls: 0,
  }
}

function breaksOf(a: ThreadNumbers['breaks'], b: ThreadNumbers['breaks']): ThreadNumbers['breaks'] {
  const causes: Record<string, number> = { ...a.causes }
  for (const [cause, count] of Object.entries(b.causes))
    causes[cause] = (causes[cause] ?? 0) + count
  const dollars =
    a.dollars === undefined && b.dollars === undefined
      ? {}
      : { dollars: (a.dollars ?? 0) + (b.dollars ?? 0) }
  return { count: a.count + b.count, tokens: a.tokens + b.tokens, ...dollars, causes }
}
