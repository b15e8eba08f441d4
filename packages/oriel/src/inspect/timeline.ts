// The timeline of a thread, folded from its log: for each step the tokens, the provider's usage, the cost, edits and cache breaks.

import type {
  EditEntry,
  Entry,
  RecordedBreak,
  RequestEntry,
  Usage,
  UsageEntry,
} from '../core/log/entry.ts'
import { assertOptions } from '../core/log/options.ts'
import { dollarsOfBreak } from './cost.ts'
import { type RequestTokens, ThreadNumbersFold } from './numbers.ts'
import type { CallCost } from './savings.ts'

export interface TimelineStep {
  readonly step: number
  /** The newest request of the step; all of them count in usage and cost. */
  readonly seq: number
  readonly requests: number
  readonly at: number
  readonly format: string
  readonly model?: string
  readonly tokens: RequestTokens & {
    readonly budget?: number
    /** The view by category. Absent in logs of earlier versions. */
    readonly parts?: Readonly<Record<string, number>>
  }
  readonly usage?: Usage
  /** Absent where the price of the model is not known. */
  readonly cost?: CallCost
  readonly epoch?: {
    readonly id: string
    readonly edits: number
    readonly rules: readonly string[]
    readonly tokensSaved: number
  }
  readonly compaction?: boolean
  /** The provider's cache missed what it should have held: the cause, and what else is known. */
  readonly cacheBreak?: RecordedBreak & { readonly dollars?: number }
  /** It was made smaller after the provider refused its length. */
  readonly recovery?: boolean
  readonly interrupted?: boolean
}

export interface Timeline {
  readonly steps: readonly TimelineStep[]
}

type Draft = { -readonly [Key in keyof TimelineStep]: TimelineStep[Key] }

export interface TimelineOptions {
  /** Only the steps that an entry behind this seq has changed. @default 0: all of them */
  readonly since?: number | undefined
}

/** Folds the timeline of a log. Give it the entries in order, once each; read it at any time. */
export class TimelineFold {
  readonly numbers = new ThreadNumbersFold()
  readonly #steps = new Map<number, Draft>()
  /** The step that each view belongs to. */
  readonly #byView = new Map<string, number>()
  /** The seq of the entry that changed a step last. */
  readonly #changed = new Map<number, number>()
  #last: Draft | undefined
  #edits: EditEntry[] = []

  /** `counted` are the tokens of a message's blocks, where somebody has counted them. */
  take(entry: Entry, counted?: readonly number[]): void {
    const { tokens, cost } = this.numbers.take(entry, counted)
    if (entry.type === 'message') {
      if (entry.kind !== 'interrupted' || this.#last === undefined) return
      this.#last.interrupted = true
      this.#changed.set(this.#last.step, entry.seq)
    } else if (entry.type === 'edit') this.#edits.push(entry)
    else if (entry.type === 'request' && tokens !== undefined) {
      this.#last = stepOf(entry, tokens, this.#edits, this.#steps.get(entry.step))
      this.#edits = []
      this.#steps.set(entry.step, this.#last)
      this.#byView.set(entry.view, entry.step)
      this.#changed.set(entry.step, entry.seq)
    } else if (entry.type === 'usage') {
      const step = this.#steps.get(this.#byView.get(entry.view) ?? -1)
      if (step === undefined) return
      takeUsage(step, entry, cost)
      this.#changed.set(step.step, entry.seq)
    }
  }

  timeline(options: TimelineOptions = {}): Timeline {
    assertOptions<TimelineOptions>(options, { since: true }, 'timeline')
    const { since = 0 } = options
    const steps = [...this.#steps.values()].filter(
      ({ step }) => since === 0 || (this.#changed.get(step) ?? 0) > since,
    )
    return { steps: steps.sort((a, b) => a.step - b.step) }
  }
}

/** The timeline of a log. Give it the entries in order. */
export async function timelineOf(
  entries: AsyncIterable<Entry> | Iterable<Entry>,
): Promise<Timeline> {
  const fold = new TimelineFold()
  for await (const entry of entries) fold.take(entry)
  return fold.timeline()
}

function takeUsage(step: Draft, { sample, broken }: UsageEntry, cost: CallCost | undefined): void {
  step.usage = step.usage === undefined ? sample : sumOf(step.usage, sample)
  if (cost !== undefined) {
    const before = step.cost ?? { dollars: 0, withoutOriel: 0 }
    step.cost = {
      dollars: before.dollars + cost.dollars,
      withoutOriel: before.withoutOriel + cost.withoutOriel,
    }
  }
  if (broken === undefined) return
  const dollars = dollarsOfBreak(broken.lost, step.model)
  step.cacheBreak = dollars === undefined ? broken : { ...broken, dollars }
}

function sumOf(a: Usage, b: Usage): Usage {
  return {
    uncached: a.uncached + b.uncached,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    output: a.output + b.output,
  }
}

function stepOf(
  entry: RequestEntry,
  tokens: RequestTokens,
  edits: readonly EditEntry[],
  before: Draft | undefined,
): Draft {
  const { details = {} } = entry
  const { budget, parts } = details
  const kept: Partial<Draft> = before ?? {}
  return {
    ...kept,
    step: entry.step,
    seq: entry.seq,
    requests: (kept.requests ?? 0) + 1,
    at: entry.at,
    format: entry.format,
    ...(entry.model === undefined ? {} : { model: entry.model }),
    tokens: {
      ...tokens,
      ...(budget === undefined ? {} : { budget }),
      ...(parts === undefined ? {} : { parts }),
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
    ...(edits.some(isFold) ? { compaction: true } : {}),
    ...(details.isRecovery === true ? { recovery: true } : {}),
  }
}

/** Whether an edit puts a checkpoint in the place of messages. */
function isFold({ target, text }: EditEntry): boolean {
  return 'ranges' in target && text !== undefined
}
