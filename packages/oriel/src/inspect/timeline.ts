// The timeline of a thread, folded from its log: for each step the tokens, the provider's usage, the cost, edits and cache breaks.

import type {
  EditEntry,
  Entry,
  RecordedBreak,
  RequestEntry,
  Usage,
  UsageEntry,
} from '../core/log/entry.ts'
import { dollarsOf } from './cost.ts'
import { ThreadNumbersFold } from './numbers.ts'

export interface TimelineStep {
  readonly step: number
  readonly seq: number
  readonly at: number
  readonly format: string
  readonly model?: string
  readonly tokens: { readonly view: number; readonly log: number; readonly budget?: number }
  readonly usage?: Usage
  /** Absent where the price of the model is not known. */
  readonly cost?: { readonly dollars: number }
  readonly epoch?: {
    readonly id: string
    readonly edits: number
    readonly rules: readonly string[]
    readonly tokensSaved: number
  }
  readonly compaction?: boolean
  /** The provider's cache missed what it should have held: the cause, and what else is known. */
  readonly cacheBreak?: RecordedBreak
  readonly interrupted?: boolean
}

export interface Timeline {
  readonly steps: readonly TimelineStep[]
}

type Draft = { -readonly [Key in keyof TimelineStep]: TimelineStep[Key] }

/** The timeline of a log. Give it the entries in order. */
export async function timelineOf(
  entries: AsyncIterable<Entry> | Iterable<Entry>,
): Promise<Timeline> {
  const steps: Draft[] = []
  const byView = new Map<string, Draft>()
  const numbers = new ThreadNumbersFold()
  let edits: EditEntry[] = []
  for await (const entry of entries) {
    numbers.take(entry)
    switch (entry.type) {
      case 'message': {
        const last = steps.at(-1)
        if (entry.kind === 'interrupted' && last !== undefined) last.interrupted = true
        break
      }
      case 'edit':
        edits.push(entry)
        break
      case 'request': {
        const step = stepOf(entry, edits, numbers.logTokens)
        edits = []
        steps.push(step)
        byView.set(entry.view, step)
        break
      }
      case 'usage': {
        const step = byView.get(entry.view)
        if (step !== undefined) takeUsage(step, entry)
        break
      }
    }
  }
  return { steps }
}

function takeUsage(step: Draft, { sample, broken }: UsageEntry): void {
  const dollars = dollarsOf(sample, step.model)
  step.usage = sample
  if (dollars !== undefined) step.cost = { dollars }
  if (broken !== undefined) step.cacheBreak = broken
}

function stepOf(entry: RequestEntry, edits: readonly EditEntry[], logTokens: number): Draft {
  const { details = {} } = entry
  return {
    step: entry.step,
    seq: entry.seq,
    at: entry.at,
    format: entry.format,
    ...(entry.model === undefined ? {} : { model: entry.model }),
    tokens: {
      view: details.tokens ?? 0,
      log: logTokens,
      ...(details.budget === undefined ? {} : { budget: details.budget }),
    },
    ...(edits.length === 0
      ? {}
      : {
          epoch: {
            id: (edits.at(-1) as EditEntry).epoch,
            edits: edits.length,
            rules: [...new Set(edits.map(({ rule }) => rule))],
            tokensSaved: edits.reduce((sum, edit) => sum + edit.tokensBefore - edit.tokensAfter, 0),
          },
        }),
    ...(edits.some(({ rule }) => rule === 'compaction') ? { compaction: true } : {}),
  }
}
