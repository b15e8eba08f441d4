// The working parts of a thread: what its public operations have in common.

import type { Draft, EditEntry, Entry, MarkEntry, MessageEntry } from '../core/entry.ts'
import { assert, OrielError } from '../core/errors.ts'
import { equalJson, type Json, type JsonObject } from '../core/json.ts'
import { prepare } from '../core/prepare.ts'
import type { State } from '../core/state.ts'
import type { Policy } from '../policy.ts'
import { type BackgroundTask, codeOf, inBackground } from './background.ts'
import { cacheFor, type PricesOption } from './cache.ts'
import { Compacting, type RequestAround } from './compacting.ts'
import { shownCount } from './compactor.ts'
import type { EventFields, EventType } from './events.ts'
import { type FoundMessage, findMessage } from './find-message.ts'
import { Framing } from './framing.ts'
import {
  type AppendAround,
  continueMark,
  freshDrafts,
  type History,
  type HistoryAround,
  knownIds,
  leadingSetting,
  messagesOf,
  noIds,
  revisionEdits,
  type ViewAround,
  type WrittenHistory,
  withCount,
} from './incoming.ts'
import { defaultTimeoutMs, Jobs } from './jobs.ts'
import type { Journal, Stamp } from './journal.ts'
import { LastView } from './last-view.ts'
import { leadingOf } from './leading.ts'
import { loggedPolicy } from './logged-policy.ts'
import { OutputFiles } from './output-files.ts'
import type { Plugin } from './plugin.ts'
import { firstUnanswered, Plugins, replaced, systemOf, systemSetting } from './plugins.ts'
import { askingOf, prepareSummaries, summaryEntries, waitsForJobs } from './prepare-summaries.ts'
import { assertProgress, planRecovery } from './recovery.ts'
import { Reporter, type ReporterOptions } from './reporter.ts'
import { resultLine } from './result-line.ts'
import { singleFlight } from './single-flight.ts'
import { type Asking, Summaries, type SummariesOptions } from './summaries.ts'
import type { Summarize } from './summary.ts'
import type { Meeting } from './sync.ts'
import {
  type BuiltView,
  buildView,
  type Epoch,
  entriesOf,
  proposalsOf,
  toView,
  type View,
  type ViewOptions,
  type ViewRequest,
} from './viewing.ts'

export interface SessionOptions extends ReporterOptions {
  readonly now: () => number
  readonly summarize?: Summarize | undefined
  readonly prices?: PricesOption | undefined
  /** Tokens that the summarizer's model can read. @default 32000 */
  readonly summarizeWindow?: number | undefined
  /** @default 30000 */
  readonly summarizeTimeoutMs?: number | undefined
  readonly plugins: readonly Plugin[]
  readonly given: NonNullable<ViewRequest['given']>
}

/** Small enough for the small models that summarize. */
const defaultWindow = 32_000

/** One writer of a thread. Operations run one after the other, in the order they were asked for. */
export class Session {
  /** The branch that is worked on; `sync` may change it. */
  journal: Journal
  readonly #options: SessionOptions
  /** A policy that is not in the log yet. */
  #pending: Policy | undefined
  #queue: Promise<unknown> = Promise.resolve()
  readonly #jobs: Jobs
  readonly summaries: Summaries | undefined
  readonly #compacting: Compacting
  readonly #files: OutputFiles
  #behind: Promise<unknown> = Promise.resolve()
  readonly #plugins: Plugins
  readonly #reporter: Reporter
  readonly #lastView = new LastView()

  constructor(journal: Journal, options: SessionOptions, policy: Policy | undefined) {
    this.journal = journal
    this.#options = options
    this.#pending = policy
    this.#reporter = new Reporter(options)
    this.#plugins = new Plugins(options.plugins, (name, reason) => {
      this.emit('plugin-failed', { id: name, message: `The plugin ${name} added nothing.`, reason })
    })
    const { summarizeWindow: window = defaultWindow } = options
    this.#jobs = new Jobs({ timeoutMs: this.#timeoutMs })
    const onLeaseFailed = (error: unknown): void => this.backgroundFailed('lease', error)
    const summarize =
      options.summarize && singleFlight(options.summarize, () => this.journal, onLeaseFailed)
    const emit: Session['emit'] = (type, fields) => this.emit(type, fields)
    this.#compacting = new Compacting(this, { jobs: this.#jobs, summarize, window, emit })
    this.#files = new OutputFiles((reason) =>
      emit('job-failed', { message: 'An output was not saved as a file: the log has it.', reason }),
    )
    if (summarize === undefined) return
    const onFailed: SummariesOptions['onFailed'] = (failure, count) => {
      const message = `${count} summaries failed: the deterministic form serves.`
      this.emit('job-failed', { message, ...failure })
    }
    this.summaries = new Summaries({ summarize, jobs: this.#jobs, window, onFailed })
  }

  /** The policy in force: the newest in the log, unless one was given that is not there yet. */
  get policy(): Policy {
    return this.#pending ?? loggedPolicy(this.journal)
  }

  get #timeoutMs(): number {
    return this.#options.summarizeTimeoutMs ?? defaultTimeoutMs
  }

  get prices(): PricesOption | undefined {
    return this.#options.prices
  }

  /** A policy that was given and is not in the log yet. */
  get pending(): Policy | undefined {
    return this.#pending
  }

  /** A view sees every append that was asked for before it. */
  run<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(task)
    this.#queue = result.catch(() => undefined)
    return result
  }

  /** Appends drafts whose ids are not there yet. */
  async append(
    drafts: readonly Draft[],
    { expected, beside, isPaused = false }: AppendAround = {},
  ): Promise<readonly MessageEntry[]> {
    if (this.journal.isStale) await this.journal.refresh()
    const known = this.journal.state.isPartial ? await knownIds(this.journal, drafts) : noIds
    const asked = (): readonly Draft[] => freshDrafts(this.journal.state, drafts, known)
    const added = this.#plugins.isEmpty
      ? undefined
      : await this.#plugins.enrich(asked(), this.journal, this.policy)
    const enriched = added === undefined ? drafts : replaced(drafts, added)
    const build = (state: State, stamp: Stamp): readonly Entry[] => {
      const fresh = freshDrafts(state, enriched, known)
      const messages = prepare(withCount(state, expected), fresh, stamp.at)
      for (const _message of messages) stamp.skip()
      return isPaused ? [...messages, ...continueMark(state, messages, stamp)] : messages
    }
    const written = await this.journal.commit(build, { isHeld: beside !== undefined })
    const entries = messagesOf(written)
    await beside?.()
    this.#reporter.added(this.journal, entries)
    await this.#compacting.afterAppend(entries)
    return entries
  }

  /** Writes what a resent history brings, in one append: new messages, results that the client reduced, system messages in front. */
  async appendHistory(
    journal: Journal,
    history: History,
    { meet, isHeld, isContinuing }: HistoryAround,
  ): Promise<WrittenHistory> {
    let meeting: Meeting | undefined
    const { conversation } = history
    // Of a history that comes for the first time, only what the model has not answered is new to the plugins.
    const asked = (): number => Math.max(meet().matched, firstUnanswered(conversation))
    const enriched = this.#plugins.isEmpty
      ? undefined
      : await this.#plugins.enrich(conversation.slice(asked()), journal, this.policy)
    const build = (state: State, stamp: Stamp): readonly Entry[] => {
      meeting = meet()
      const came = conversation.slice(meeting.matched)
      const fresh = enriched === undefined ? came : replaced(came, enriched)
      const messages = prepare(state, fresh, stamp.at)
      for (const _message of messages) stamp.skip()
      return [
        ...messages,
        ...revisionEdits(state, meeting.revisions).map((edit) => stamp.entry(edit)),
        ...leadingSetting(journal, history.leading, stamp),
        ...(isContinuing ? continueMark(state, messages, stamp) : []),
      ]
    }
    const entries = await journal.commit(build, { isHeld })
    assert(meeting !== undefined, 'a commit asks for its entries')
    // The policy in force goes along to another branch.
    if (journal !== this.journal) this.#pending ??= this.policy
    this.journal = journal
    const appended = messagesOf(entries)
    // The view that follows what is held makes the checkpoint that is due.
    if (isHeld) this.#reporter.hold(appended)
    else {
      this.#reporter.added(this.journal, appended)
      await this.#compacting.afterAppend(appended)
    }
    return { meeting, appended: appended.filter(({ origin }) => origin !== 'plugin') }
  }

  /** What was held is lost: it was never there. */
  forgetHeld(): void {
    this.#reporter.hold([])
    this.journal.forget()
  }

  /** A view as it is asked for, or would be. */
  request(options: ViewOptions = {}, around: RequestAround = {}): ViewRequest {
    const { own, journal = this.journal, pluginSystem = systemOf(journal) } = around
    const isTemporary = own !== undefined
    const policy = own ?? this.policy
    const leading = leadingOf(journal)
    const now = this.#options.now()
    const framing = new Framing({ frame: options.frame, leading, pluginSystem })
    const parts = { options, framing, now, policy }
    // What the schedule must know of the provider.
    const { cache, prices } = isTemporary ? {} : cacheFor(journal, parts, this.#options)
    return {
      ...parts,
      cache,
      prices,
      leading,
      pluginSystem,
      state: journal.state,
      isTemporary,
      // Checkpoints are jobs of their own; only a view that keeps no edits makes one in passing.
      hasCompactor: !isTemporary,
      given: this.#options.given,
      fileOf: this.#files.fileOf,
    }
  }

  /** A smaller view after the provider refused one. No model is asked. Of a view that keeps no edits, no checkpoint is kept either. */
  async recover(error: unknown, options: ViewOptions, own: Policy | undefined): Promise<View> {
    await this.journal.refresh()
    const { sent, budget } = planRecovery(error, this, options)
    const before = shownCount(this.journal.state)
    const isKept = own === undefined && options.dryRun !== true
    if (isKept) await this.#compacting.beforeRecovery(budget)
    const view = await this.view({ ...options, budget }, own, { isRecovery: true })
    assertProgress(sent, view.tokens.after)
    this.emit('recovery', {
      message: `Reduced to ${view.tokens.after} tokens.`,
      reason: 'the provider refused the request as too long',
      messages: { before, after: view.messages.length },
      tokens: { before: sent, after: view.tokens.after },
      tokensSaved: sent - view.tokens.after,
    })
    return view
  }

  async view(
    options: ViewOptions,
    own: Policy | undefined,
    { isRecovery = false, durable = 'now' }: ViewAround = {},
  ): Promise<View> {
    const before = this.journal.state.visible.length
    const last = this.journal.facts.newestRequest?.seq ?? 0
    const pluginSystem = this.#plugins.isEmpty ? [] : await this.#plugins.system(this.journal)
    const request = (journal = this.journal): ViewRequest =>
      this.request(options, { own, pluginSystem, journal })
    const ask = (now: ViewRequest, journal = this.journal): Asking =>
      askingOf(this.summaries, journal, now)
    if (options.dryRun === true) {
      const limit = isRecovery ? options.budget : undefined
      const journal =
        own === undefined ? await this.#compacting.rehearse(request, limit) : undefined
      const now = request(journal)
      const { summaryOf } = ask(now, journal)
      return toView(now, buildView({ ...now, summaryOf }), this.#epoch(0))
    }
    const policy = own ?? this.policy
    this.#reporter.asked(this.journal, policy)
    if (policy.toolOutput?.directory !== undefined) {
      await this.#files.prepare((fileOf) => proposalsOf({ ...request(), fileOf }))
    }
    const model = isRecovery ? undefined : this.summaries
    const until = performance.now() + this.#timeoutMs
    const finished = model && (await prepareSummaries(model, this.journal, { request, until }))
    const isFirst = own === undefined && !isRecovery
    const asked = isFirst ? await this.#compacting.beforeView(request, until) : undefined
    const { version } = this.journal.state
    let view: { request: ViewRequest; built: BuiltView; asking: Asking } | undefined
    const build = (state: State, stamp: Stamp): readonly Entry[] => {
      const isStill = asked?.state === state && state.version === version
      const base = isStill ? asked : request()
      const asking = ask(base)
      const now: ViewRequest = { ...base, isRecovery, summaryOf: asking.summaryOf }
      view = { request: now, built: buildView(now), asking }
      return [
        ...this.#pendingSetting(stamp),
        ...systemSetting(this.journal, pluginSystem, stamp),
        ...(now.isTemporary ? summaryEntries(this.journal, finished ?? [], stamp) : []),
        ...entriesOf(now, view.built, stamp, this.journal),
      ]
    }
    const entries = await this.journal.commit(build, { durable })
    this.#pending = undefined
    this.#reporter.told(this.journal)
    this.#plugins.settle(this.journal)
    assert(view !== undefined, 'a commit asks for its entries')
    this.#lastView.keep(this.journal, view.built)
    const edits = entries.filter((entry): entry is EditEntry => entry.type === 'edit')
    this.#reporter.applied(this.journal, edits, before)
    const line = resultLine(this.journal.state, edits, view.built.assembled.repairs.length)
    if (line !== undefined) this.say(line)
    if (!waitsForJobs(view.request.policy)) this.#summarizeBehind(view.asking.wanted)
    const { checkpoint } = this.journal.state
    const made = checkpoint !== undefined && checkpoint.seq > last ? 1 : 0
    const cause = made > 0 ? 'limit' : view.built.decision.cause
    return toView(view.request, view.built, this.#epoch(edits.length + made, cause))
  }

  /** The newest view of this thread, whoever asked for it. */
  lastView(): Promise<BuiltView | undefined> {
    return this.#lastView.of(this.journal)
  }

  /** Makes a checkpoint now, whatever the limit says. */
  compact(instructions: string | undefined): Promise<{ readonly tokensSaved: number }> {
    return this.#compacting.compact(instructions)
  }

  /** Jobs of a schedule that never waits: their results come back as entries, for a later view. */
  #summarizeBehind(wanted: Asking['wanted']): void {
    if (this.summaries === undefined || wanted.size === 0) return
    const { journal } = this
    const done = this.summaries.fulfil(wanted, { step: journal.state.step, until: Infinity })
    const keep = async (): Promise<void> => {
      const finished = await done
      await this.run(() => journal.commit((_, stamp) => summaryEntries(journal, finished, stamp)))
    }
    this.behind('summary', keep)
  }

  /** Runs work that no operation waits for. Resolves when it is over; a failure is an event and nothing else. */
  behind(task: BackgroundTask, work: () => Promise<unknown>): Promise<void> {
    const done = inBackground(work, (error) => this.backgroundFailed(task, error))
    this.#behind = Promise.all([this.#behind, done])
    return done
  }

  /** Work that no operation waits for failed. */
  backgroundFailed(task: BackgroundTask, error: unknown): void {
    const message = `A task in the background failed (${task}); the thread is unaffected.`
    const reason = OrielError.is(error) ? error.message : 'unknown'
    this.emit('job-failed', { id: task, message, reason, error: codeOf(error) })
  }

  /** Resolves when no job is under way behind a view. */
  async settled(): Promise<void> {
    await this.#behind
    await this.run(() => this.journal.settled())
  }

  /** The policy that was given and is not in the log yet. */
  #pendingSetting(stamp: Stamp): readonly Entry[] {
    if (this.#pending === undefined) return []
    const logged = this.journal.setting('policy')?.value
    if (equalJson(logged ?? {}, this.#pending)) return []
    return [stamp.entry({ type: 'setting', name: 'policy', value: this.#pending as JsonObject })]
  }

  async setPolicy(policy: Policy): Promise<void> {
    const value = policy as JsonObject
    const logged = this.journal.setting('policy')?.value
    if (!equalJson(logged ?? {}, value)) {
      await this.set('policy', value)
      if (logged !== undefined) this.emit('policy-changed', { message: 'The policy changed.' })
    }
    this.#pending = undefined
  }

  async set(name: string, value: Json): Promise<void> {
    await this.journal.commit((_, stamp) => [stamp.entry({ type: 'setting', name, value })])
  }

  async mark(id: string, mark: MarkEntry['mark']): Promise<void> {
    await this.journal.refresh()
    // What was dropped may have to come back.
    await this.journal.complete()
    const found = await this.find(id)
    if (found === undefined) {
      throw new OrielError('not-found', `Nothing in this thread has the id ${id.slice(0, 40)}.`)
    }
    const target = found.entry.seq
    await this.journal.commit((_, stamp) => [stamp.entry({ type: 'mark', mark, target })])
  }

  /** A message by its own id, by a block's, or by the caller's. */
  find(id: string): Promise<FoundMessage | undefined> {
    return findMessage(this.journal, id)
  }

  say(line: string): void {
    this.#reporter.say(line)
  }

  emit(type: EventType, fields: EventFields): void {
    this.#reporter.emit(this.journal, type, fields)
  }

  #epoch(applied: number, reason: Epoch['cause'] = 'policy'): Epoch {
    const cause = applied === 0 ? 'none' : reason
    return { id: this.journal.facts.newestEpoch ?? '', applied, cause }
  }
}
