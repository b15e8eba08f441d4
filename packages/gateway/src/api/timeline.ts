// Thread timeline: tokens, provider usage, epochs and cache breaks per step, derived from the log.

import {
  type Counter,
  type EditEntry,
  type Entry,
  type RequestEntry,
  resolveCounter,
  type Usage,
  type UsageEntry,
} from 'oriel'
import { isObject } from '../call/rewrite.ts'
import { dollarsOf, tokensOf } from './summary.ts'

export interface TimelineStep {
  readonly step: number
  readonly seq: number
  readonly at: number
  readonly format: string
  readonly model?: string
  readonly tokens: { readonly view: number; readonly log: number; readonly budget?: number }
  readonly usage?: Usage
  /** Absent if the price of the model is unknown. */
  readonly cost?: { readonly dollars: number }
  readonly epoch?: {
    readonly id: string
    readonly edits: number
    readonly rules: readonly string[]
    readonly tokensSaved: number
  }
  readonly compaction?: boolean
  /** An unexpected miss of the provider's cache: its cause and further facts. */
  readonly cacheBreak?: { readonly cause: string; readonly [fact: string]: unknown }
  readonly interrupted?: boolean
}

export interface Timeline {
  readonly steps: readonly TimelineStep[]
}

type Draft = { -readonly [Key in keyof TimelineStep]: TimelineStep[Key] }

export async function timelineOf(
  entries: AsyncIterable<Entry> | Iterable<Entry>,
): Promise<Timeline> {
  const steps: Draft[] = []
  const byView = new Map<string, Draft>()
  let counter: Counter = resolveCounter('estimate')
  let logTokens = 0
  let edits: EditEntry[] = []
  for await (const entry of entries) {
    switch (entry.type) {
      case 'setting':
        if (entry.name === 'thread' && isObject(entry.value) && entry.value.tokens === 'o200k') {
          counter = resolveCounter('o200k')
        }
        break
      case 'message':
        if (entry.kind === 'interrupted') {
          const last = steps.at(-1)
          if (last !== undefined) last.interrupted = true
        } else logTokens += tokensOf(counter, entry)
        break
      case 'edit':
        edits.push(entry)
        break
      case 'request': {
        const step = stepOf(entry, edits, logTokens)
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
  const usage = sample as unknown as Usage
  const dollars = dollarsOf(usage, step.model)
  step.usage = usage
  if (dollars !== undefined) step.cost = { dollars }
  if (broken !== undefined) step.cacheBreak = { ...broken, cause: String(broken.cause) }
}

function stepOf(entry: RequestEntry, edits: readonly EditEntry[], logTokens: number): Draft {
  const { details = {} } = entry
  const view = typeof details.tokens === 'number' ? details.tokens : 0
  return {
    step: entry.step,
    seq: entry.seq,
    at: entry.at,
    format: entry.format,
    ...(entry.model === undefined ? {} : { model: entry.model }),
    tokens: {
      view,
      log: logTokens,
      ...(typeof details.budget === 'number' ? { budget: details.budget } : {}),
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
