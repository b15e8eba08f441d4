// When a thread makes checkpoints: asked for, at the end of a turn, before a view that is due for one, after a refusal.

import type { Edit, EditEntry, MessageEntry } from '../../core/log/entry.ts'
import { isCall } from '../../core/state/exchange.ts'
import { isSurelyBelow, type Measured, requestTokens } from '../../core/state/weight.ts'
import type { Policy } from '../../policy/schema.ts'
import { readableBy } from '../../rules/compaction.ts'
import type { Window } from '../../schedule/window.ts'
import type { BackgroundTask } from '../background.ts'
import { Journal } from '../journal/journal.ts'
import type { CompactOptions } from '../options.ts'
import { askingOf, waitsForJobs } from '../summaries/prepare.ts'
import type { Summaries } from '../summaries/summaries.ts'
import { measuredFor, measuredOf, recordedFrame } from '../view/usage.ts'
import {
  contextWindowOf,
  decisionOf,
  isAskedAgain,
  type Offering,
  proposalsOf,
  type ViewOptions,
  type ViewRequest,
  windowOfView,
} from '../view/view.ts'
import { alignedRequest } from './aligned-request.ts'
import { type CompactionSurroundings, Compactor, type CompactorOptions } from './compactor.ts'

/** Checkpoints that one view may make, so that it ends whatever the rules propose. */
const maxBeforeView = 3

/** What a view is asked for with, beside its options. */
export interface RequestAround {
  /** A policy for this view only. */
  readonly own?: Policy | undefined
  /** @default the thread's own log */
  readonly journal?: Journal
  /** @default what plugins said last */
  readonly pluginSystem?: ViewRequest['pluginSystem']
  /** What comes from memory. @default nothing */
  readonly tail?: ViewRequest['tail']
  /** Whether the expand tool is added, where the options offer it. @default as the log says */
  readonly offering?: Offering | undefined
}

/** What it needs of the thread. */
export interface CheckpointHost {
  readonly journal: Journal
  readonly policy: Policy
  readonly summaries: Summaries | undefined
  /** Runs a task after all that were asked for before. */
  run<T>(task: () => Promise<T>): Promise<T>
  /** A view as it would be asked for now. */
  request(options: ViewOptions, around?: RequestAround): ViewRequest
  /** Runs work in the background; resolves when it is over, and never rejects. */
  inBackground(task: BackgroundTask, work: () => Promise<unknown>): Promise<void>
}

export class CheckpointSchedule {
  readonly #host: CheckpointHost
  readonly #compactor: Compactor
  /** How the newest view was asked for. */
  #asked: ViewOptions | undefined

  constructor(host: CheckpointHost, options: CompactorOptions) {
    this.#host = host
    this.#compactor = new Compactor(host.journal, options)
  }

  /** Makes a checkpoint now, whatever the limit says. The model is asked outside the queue of `run`: appends continue meanwhile. */
  async compact(
    { instructions, limit }: CompactOptions,
    run: CheckpointHost['run'],
  ): Promise<{ readonly tokensSaved: number }> {
    const host = this.#host
    const start = async (): Promise<boolean> => {
      await host.journal.refresh()
      const all = this.#around(undefined)
      const around = limit === undefined ? all : this.#within(limit, all)
      const request = { trigger: 'manual', instructions, limit, around } as const
      return this.#compactor.start(host.policy, request)
    }
    const before = savedBy(await this.#finishUnderWay(run))
    const isStarted = await run(start)
    const saved = isStarted ? savedBy(await this.#finishUnderWay(run)) : 0
    return { tokensSaved: before + saved }
  }

  /** A turn that ended: the checkpoint starts now, so that the next view finds it. A failure changes nothing but an event. */
  async afterAppend(appended: readonly MessageEntry[]): Promise<void> {
    const { policy, journal } = this.#host
    const last = appended.at(-1)
    const isOpen = journal.state.exchanges.parts.open !== undefined
    const isEnd = last?.role === 'assistant' && !last.blocks.some(isCall) && !isOpen
    if (!isEnd || policy.compaction === undefined) return
    const around = this.#around(undefined)
    if (this.#isLimitOpen(policy.compaction, around)) return
    const compactor = this.#compactor
    if (!compactor.startIfDue(policy, { trigger: 'turn-end', around })) return
    if (compactor.hasSummarizer) this.#inBackground()
    else await this.#host.inBackground('checkpoint', () => compactor.finish())
  }

  /**
   * Between steps: a view waits for the checkpoint, or continues without it, by its schedule. One that would be too long for the model
   * without it takes it without a summary; so does one whose summary is not there at the time `until`. Answers the request where none
   * was made: it is still what is asked for.
   */
  beforeView(
    request: (journal: Journal) => ViewRequest,
    until: number,
  ): Promise<ViewRequest | undefined> {
    return this.#make(this.#compactor, this.#host.journal, { request, until })
  }

  /** After a refusal: a checkpoint that leaves at most `limit` tokens, without a model. */
  beforeRecovery(limit: number): Promise<void> {
    return this.#makeRoom(this.#compactor, this.#host.journal, limit)
  }

  /**
   * The log as a view would find it, for one that keeps nothing: a copy with the checkpoint that is due, as it is without a model.
   * With `limit`, the one after a refusal; with `copy`, that of a log in memory.
   */
  async simulate(
    request: (journal: Journal) => ViewRequest,
    limit: number | undefined,
    copy?: Journal,
  ): Promise<Journal> {
    const journal = copy ?? this.#host.journal
    const own = this.#compactor
    const compactor = copy === undefined ? own : own.rehearsal(copy)
    const now = request(journal)
    const around = this.#around(now, journal)
    const isBehind = (): boolean =>
      own.hasSummarizer && !waitsForJobs(now.policy) && this.#fits(now, around)
    const isNext =
      !isAskedAgain(now, journal) && compactor.mayBeDue(now.policy, around) && !isBehind()
    if (limit === undefined && !isNext) return journal
    const target = copy ?? Journal.copyOf(journal)
    const rehearsal = copy === undefined ? own.rehearsal(target) : compactor
    if (limit === undefined) await this.#make(rehearsal, target, { request, until: Infinity })
    else await this.#makeRoom(rehearsal, target, limit)
    return target
  }

  async #make(
    compactor: Compactor,
    journal: Journal,
    {
      request,
      until,
    }: { readonly request: (journal: Journal) => ViewRequest; readonly until: number },
  ): Promise<ViewRequest | undefined> {
    // One may leave another one due: what it was planned beside (a cut of the history) may no longer be proposed after it.
    for (let made = 0; made < maxBeforeView; made++) {
      const now = request(journal)
      const { policy } = now
      if (policy.compaction === undefined || isAskedAgain(now, journal)) return now
      this.#asked = now.options
      const around = this.#around(now, journal)
      const waits = waitsForJobs(policy) || !compactor.hasSummarizer
      const hasTime = lazy(() => waits || this.#fits(now, around))
      if (!compactor.startIfDue(policy, { trigger: 'step', around, hasTime })) return now
      if (!hasTime()) await compactor.finishNow()
      else if (!waits) {
        this.#inBackground()
        return undefined
      } else if ((await compactor.finish(until)) === undefined) return undefined
    }
    return undefined
  }

  async #makeRoom(compactor: Compactor, journal: Journal, limit: number): Promise<void> {
    const around = { ...this.#within(limit, this.#around(undefined, journal)), aligned: undefined }
    const request = { trigger: 'recovery', limit, around } as const
    if (compactor.start(this.#host.policy, request)) await compactor.finish()
  }

  /** The same for a limit that may be below the marks, which were set for a larger window. */
  #within(limit: number, around: CompactionSurroundings): CompactionSurroundings {
    const { planned, frameTokens, window, memory, contextWindow, aligned } = around
    const room = Math.max(1, limit - frameTokens)
    return {
      ...{ planned, frameTokens, memory, contextWindow, aligned },
      window: window && { low: Math.min(window.low, room / 2), high: Math.min(window.high, room) },
      measured: { factor: 1 },
    }
  }

  #inBackground(): void {
    const run: CheckpointHost['run'] = (task) => this.#host.run(task)
    this.#host.inBackground('checkpoint', () => this.#finishUnderWay(run))
  }

  #finishUnderWay(run: CheckpointHost['run']): Promise<EditEntry | undefined> {
    return this.#compactor.finishBehind(run)
  }

  /** Whether the model can read what a view would send now; where nobody knows its window, it can. */
  #fits(view: ViewRequest, around: CompactionSurroundings): boolean {
    const { journal, summaries } = this.#host
    const { state, policy } = view
    const limit = readableBy(policy.compaction ?? {}, around.contextWindow)
    if (limit === Infinity || isSurelyBelow(limit, state, around)) return true
    const { summaryOf } = askingOf(summaries, journal, view)
    return requestTokens(state, decisionOf({ ...view, summaryOf }).edits, around) <= limit
  }

  /** Before the first request nobody knows the model: where the policy says no limit either, the view decides, which does. */
  #isLimitOpen(
    settings: NonNullable<Policy['compaction']>,
    around: CompactionSurroundings,
  ): boolean {
    const window = settings.contextWindow ?? settings.maxTokens ?? around.contextWindow
    return window === undefined && this.#host.journal.facts.newestRequest === undefined
  }

  /** What a checkpoint must know beside the state: for a view, or for the request that will come after the newest one. */
  #around(view: ViewRequest | undefined, journal = this.#host.journal): CompactionSurroundings {
    const { summaries } = this.#host
    const model = journal.facts.newestRequest?.model
    const request = view ?? this.#host.request(model === undefined ? {} : { model }, { journal })
    const plan = (): readonly Edit[] => {
      const { summaryOf } = askingOf(summaries, journal, request)
      return proposalsOf({ ...request, summaryOf })
    }
    const aligned = this.#alignedWith(view, journal)
    return view === undefined
      ? new CompactionContext(request, {
          plan,
          aligned,
          frameTokens: recordedFrame(journal),
          measured: measuredOf(journal),
        })
      : new CompactionContext(request, {
          plan,
          aligned,
          frameTokens: view.framing.tokens(journal.state.counter),
          measured: measuredFor(journal, view),
        })
  }

  /** The conversation's next request, where it is known how it is asked for: a summary that begins alike is read from the provider's cache. */
  #alignedWith(view: ViewRequest | undefined, journal: Journal): CompactionSurroundings['aligned'] {
    const asked = this.#asked
    if (asked === undefined || view?.isTemporary === true) return undefined
    return (instruction) =>
      alignedRequest(view ?? this.#host.request(asked, { journal }), instruction)
  }
}

/** What a checkpoint must know. Far from its limit, a conversation needs no plan. */
class CompactionContext implements CompactionSurroundings {
  readonly frameTokens: number
  readonly measured: Measured
  readonly window: Window | undefined
  readonly memory: Policy['memory']
  readonly contextWindow: number | undefined
  readonly aligned: CompactionSurroundings['aligned']
  readonly #plan: () => readonly Edit[]
  #planned: readonly Edit[] | undefined

  constructor(
    request: ViewRequest,
    {
      plan,
      aligned,
      frameTokens,
      measured,
    }: Pick<CompactionContext, 'aligned' | 'frameTokens' | 'measured'> & {
      readonly plan: () => readonly Edit[]
    },
  ) {
    this.frameTokens = frameTokens
    this.measured = measured
    this.aligned = aligned
    this.window = windowOfView(request)
    this.memory = request.policy.memory
    this.contextWindow = contextWindowOf(request)
    this.#plan = plan
  }

  get planned(): readonly Edit[] {
    this.#planned ??= this.#plan()
    return this.#planned
  }
}

function lazy<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

function savedBy(edit: EditEntry | undefined): number {
  return edit === undefined ? 0 : edit.tokensBefore - edit.tokensAfter
}
