// The working parts of one thread, whose id never changes: what its public operations have in common.

import { setImmediate } from 'node:timers/promises'
import type { Draft, EditEntry, Entry, MarkEntry, MessageEntry } from '../core/log/entry.ts'
import { assert, OrielError } from '../core/log/errors.ts'
import { equalJson, type Json, type JsonObject } from '../core/log/json.ts'
import { prepare } from '../core/log/prepare.ts'
import { policySettings, type Setting, settings } from '../core/log/settings.ts'
import type { FileOf } from '../core/state/file-request.ts'
import type { State } from '../core/state/state.ts'
import { noSummary, type SummaryOf } from '../core/state/summary-request.ts'
import type { ViewMessage } from '../core/view/view.ts'
import { isChecked, type Policy, parsePolicy } from '../policy/schema.ts'
import { withStoredSettings } from '../policy/stored-settings.ts'
import { assertNotEmpty } from '../providers/size.ts'
import type { CustomRule } from '../rules/custom.ts'
import { withOverride } from '../rules/expiry.ts'
import type { StoredSettings } from '../stores/agent-settings.ts'
import { act, markMessage, type Rehearsal, type ThreadAction } from './actions.ts'
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
} from './append.ts'
import { type BackgroundTask, codeOf, inBackground } from './background.ts'
import type { MatchPreview } from './branches/conversation.ts'
import { leadingOf } from './branches/leading.ts'
import type { KeyMatch } from './branches/sync.ts'
import { CheckpointSchedule, type RequestAround } from './compaction/checkpoint-schedule.ts'
import { shownCount } from './compaction/compactor.ts'
import type { EventType, FieldsOf } from './events.ts'
import { type OutputFile, OutputFiles, removeOutputFile } from './expand/output-files.ts'
import { type FoundMessage, findMessage } from './find-message.ts'
import type { Batch, Build } from './journal/batch.ts'
import { Journal, type Stamp } from './journal/journal.ts'
import { type Judge, Judgments } from './judgments.ts'
import { keepLasting } from './memory/lasting.ts'
import type { RecallBounds } from './memory/recall.ts'
import { type MemoryTail, memoryEntries, memoryFor, scopeOf } from './memory/tail.ts'
import type { CompactOptions } from './options.ts'
import type { Plugin } from './plugins/plugin.ts'
import { firstUnanswered, Plugins, replaced, systemOf, systemSetting } from './plugins/plugins.ts'
import { Reporter, type ReporterOptions } from './reporter.ts'
import type { IsShown } from './search/search.ts'
import type { Summarize } from './summaries/answer.ts'
import { defaultTimeoutMs, failureOf, Jobs } from './summaries/jobs.ts'
import { askingOf, prepareSummaries, summaryEntries, waitsForJobs } from './summaries/prepare.ts'
import { singleFlight } from './summaries/single-flight.ts'
import {
  type Finished,
  Summaries,
  type SummaryCaller,
  type SummaryPass,
} from './summaries/summaries.ts'
import { summariesIn, TenantSummaries } from './summaries/tenant-cache.ts'
import { cacheBroken, cacheFor, type PricesOption, usageEntry } from './view/cache.ts'
import { Framing } from './view/frame.ts'
import { compactingEntries, isMirrored, retractingEntries } from './view/provider-compaction.ts'
import type { Usage } from './view/read-usage.ts'
import { newestView } from './view/rebuild.ts'
import { assertProgress, planRecovery, withinLimit, withLimit } from './view/recovery.ts'
import { resultLine } from './view/result-line.ts'
import { measuredFor } from './view/usage.ts'
import {
  type BuiltView,
  buildOffering,
  type Epoch,
  entriesOf,
  type Offering,
  offerEntry,
  offering,
  proposalsOf,
  toView,
  type View,
  type ViewOptions,
  type ViewRequest,
  viewIndex,
} from './view/view.ts'
import { isWidened, returningEntries, shownAgainFrom, wideningEntries } from './view/widen.ts'

export interface EngineOptions extends ReporterOptions {
  readonly now: () => number
  readonly summarize?: Summarize | undefined
  readonly prices?: PricesOption | undefined
  /** Tokens that the summarizer's model can read. @default 32000 */
  readonly summarizeWindow?: number | undefined
  /** @default 30000 */
  readonly summarizeTimeoutMs?: number | undefined
  readonly plugins: readonly Plugin[]
  /** What is recalled behind the newest user message. @default nothing */
  readonly recall?: RecallBounds | undefined
  readonly given: NonNullable<ViewRequest['given']>
  /** The host's judge of relevance. */
  readonly judge?: Judge | undefined
}

/** How a history is previewed. */
interface PreviewAround {
  readonly options: ViewOptions
  /** A policy for this view only. */
  readonly own: Policy | undefined
  readonly isContinuing: boolean
}

interface DryAround {
  /** A log in memory: of this thread or of another branch, with more messages. @default the thread's own */
  readonly copy?: Journal
  /** Tokens that may be left after a refusal. */
  readonly limit?: number | undefined
}

/** What the branches of one conversation share. */
export interface SharedParts {
  readonly jobs: Jobs
  /** Answers of the summarizer; undefined without one. */
  readonly summaries: Summaries | undefined
  /** Tokens that the summarizer's model can read. */
  readonly window: number
  /** Runs a task after all that were asked for before. */
  run<T>(task: () => Promise<T>): Promise<T>
}

/** Small enough for the small models that summarize. */
const defaultWindow = 32_000

/** The parts that all branches of a conversation share. */
export function sharedParts(options: EngineOptions, run: SharedParts['run']): SharedParts {
  const { summarizeWindow: window = defaultWindow } = options
  const jobs = new Jobs({ timeoutMs: timeoutOf(options) })
  const summaries = options.summarize === undefined ? undefined : new Summaries({ jobs, window })
  return { jobs, summaries, window, run }
}

/** Ages double: a result of a thousand steps is judged nine times. */
const maxJudgingRounds = 10

function timeoutOf({ summarizeTimeoutMs = defaultTimeoutMs }: EngineOptions): number {
  return summarizeTimeoutMs
}

/** The parts that work on one log. Nothing here takes turns: whoever calls an operation holds the conversation's queue. */
export class ThreadEngine {
  readonly journal: Journal
  readonly #options: EngineOptions
  readonly #shared: SharedParts
  /** A policy that is not in the log yet. */
  #pending: Policy | undefined
  /** The agent's stored settings, where the log has others. */
  #pendingStored: StoredSettings | undefined
  #layered: LayeredPolicy | undefined
  readonly #caller: SummaryCaller | undefined
  readonly #shareable: TenantSummaries
  readonly #compacting: CheckpointSchedule
  readonly #files: OutputFiles
  #background: Promise<unknown> = Promise.resolve()
  readonly #plugins: Plugins
  readonly #reporter: Reporter
  /** The newest copy in which a wider window shows again what was dropped. */
  #widened:
    | {
        readonly state: State
        readonly version: number
        readonly policy: Policy
        readonly copy: Journal
      }
    | undefined
  /** Messages of a history that the next view writes. */
  #staged: MessageEntry[] = []
  /** The newest view that was made here, and the record of its request. */
  readonly #judgments: Judgments | undefined
  #lastView: { readonly seq: number | undefined; readonly built: BuiltView } | undefined

  constructor(journal: Journal, options: EngineOptions, shared: SharedParts) {
    this.journal = journal
    this.#shareable = new TenantSummaries(journal.store, journal.key)
    this.#options = options
    this.#shared = shared
    this.#reporter = new Reporter(options)
    this.#plugins = new Plugins(options.plugins, (name, reason) => {
      this.emit('plugin-failed', { id: name, message: `The plugin ${name} added nothing.`, reason })
    })
    const { jobs, window } = shared
    const onLeaseFailed = (error: unknown): void => this.backgroundFailed('lease', error)
    const summarize = options.summarize && singleFlight(options.summarize, journal, onLeaseFailed)
    const emit: ThreadEngine['emit'] = (type, fields) => this.emit(type, fields)
    this.#compacting = new CheckpointSchedule(this, { jobs, summarize, window, emit })
    this.#files = new OutputFiles((reason) =>
      emit('job-failed', { message: 'An output was not saved as a file: the log has it.', reason }),
    )
    const onFailed: SummaryCaller['onFailed'] = (failure, count) => {
      const message = `${count} summaries failed: the deterministic form is used.`
      this.emit('job-failed', { message, ...failure })
    }
    // Without the other threads' summaries the model is asked again.
    const find: SummaryCaller['find'] = (keys) => this.#shareable.find(keys).catch(() => [])
    this.#caller = summarize && { summarize, onFailed, find }
    const { judge } = options
    const onUnjudged = (error: unknown): void => {
      const message = 'A result was not judged: the words that it shares decide.'
      this.emit('job-failed', { message, ...failureOf(error) })
    }
    this.#judgments = judge && new Judgments({ judge, jobs, onFailed: onUnjudged })
  }

  /** The policy in force: the thread's own, with the settings that are stored for its agent. */
  get policy(): Policy {
    return this.#withStored(this.ownPolicy)
  }

  /** The newest policy in the log, unless one was given that is not there yet. */
  get ownPolicy(): Policy {
    return this.#pending ?? loggedPolicy(this.journal, this.rules)
  }

  /** What is stored for the thread's agent, as far as it was read. */
  get stored(): StoredSettings {
    return this.#pendingStored ?? loggedStored(this.journal)
  }

  #withStored(own: Policy): Policy {
    const { stored } = this
    if (equalJson(stored as unknown as Json, nothingStored as unknown as Json)) return own
    const known = this.#layered
    if (known?.own === own && known.stored === stored) return known.policy
    const policy = parsePolicy(withStoredSettings(own, stored), 'policy', this.rules)
    this.#layered = { own, stored, policy }
    return policy
  }

  /** Reads what is stored for the agent: it may have changed since the last view. */
  async readStored(): Promise<void> {
    const { agent } = this.#options
    if (agent === undefined) return
    const { store, key } = this.journal
    this.takeStored(await store.settings.read({ tenant: key.tenant, agent }))
  }

  /** Takes stored settings: in force now, and written with the next view. */
  takeStored(stored: StoredSettings): void {
    if (!equalJson(stored as unknown as Json, this.stored as unknown as Json)) {
      this.#pendingStored = stored
    }
  }

  /** Rules of the host's own. */
  get rules(): readonly CustomRule[] {
    return this.#options.given.rules ?? []
  }

  get summaries(): Summaries | undefined {
    return this.#shared.summaries
  }

  get prices(): PricesOption | undefined {
    return this.#options.prices
  }

  /** A policy that was given and is not in the log yet. */
  get pending(): Policy | undefined {
    return this.#pending
  }

  /** Takes a policy: it is in force now, and written with the next view. */
  adopt(policy: Policy): void {
    if (policy !== this.ownPolicy) this.#pending = policy
    // Without an agent the policy that is given is all there is.
    if (this.#options.agent === undefined) this.takeStored(nothingStored)
  }

  /** Continues with the policy and the stored settings of another branch. */
  adoptFrom({ ownPolicy, stored }: ThreadEngine): void {
    this.adopt(ownPolicy)
    this.takeStored(stored)
  }

  /** A view sees every append that was asked for before it. */
  run<T>(task: () => Promise<T>): Promise<T> {
    return this.#shared.run(task)
  }

  /** Appends drafts whose ids are not there yet. */
  async append(
    drafts: readonly Draft[],
    { expected, usage, isPaused = false }: AppendAround = {},
  ): Promise<readonly MessageEntry[]> {
    await this.journal.ready()
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
      return [
        ...messages,
        ...(isPaused ? continueMark(state, messages, stamp) : []),
        ...(usage ? [stamp.entry(usageEntry(this.journal, usage, this.prices))] : []),
      ]
    }
    const written = await this.journal.commit(build)
    const entries = messagesOf(written)
    this.#tellOfCache(written)
    this.#reporter.added(this.journal, entries)
    await this.#keepLasting(entries)
    await this.#compacting.afterAppend(entries)
    return entries
  }

  /** Records the provider's own numbers for a view. */
  async recordUsage(sample: Usage, view: string): Promise<void> {
    const written = await this.journal.commit((_, stamp) => [
      stamp.entry(usageEntry(this.journal, { sample, view }, this.prices)),
    ])
    this.#tellOfCache(written)
  }

  #tellOfCache(written: readonly Entry[]): void {
    for (const entry of written) {
      const fields = entry.type === 'usage' ? cacheBroken(entry) : undefined
      if (fields !== undefined) this.emit('cache-broken', fields)
    }
  }

  /** Writes what a resent history brings, in one append: new messages, results that the client reduced, system messages in front. */
  async appendHistory(
    history: History,
    { meet, isBatched, isMoved, isContinuing }: HistoryAround,
  ): Promise<WrittenHistory> {
    let meeting: KeyMatch | undefined
    const met = (): KeyMatch => {
      meeting = meet()
      return meeting
    }
    const around = { meet: met, isContinuing, isMoved }
    const build = await this.#historyEntries(this.journal, history, around)
    const { batch, entries } = isBatched
      ? await this.#stage(build)
      : { entries: await this.journal.commit(build), batch: undefined }
    assert(meeting !== undefined, 'a write asks for its entries')
    const messages = messagesOf(entries)
    if (batch !== undefined) this.#staged = [...messages]
    else {
      if (isMoved) this.#forgetPending()
      await this.#keepLasting(messages)
      this.#reporter.added(this.journal, messages)
      await this.#compacting.afterAppend(messages)
    }
    const appended = messages.filter(({ origin }) => origin !== 'plugin')
    return { meeting, appended, batch }
  }

  /** Begins a batch with these entries. The view that commits it makes the checkpoint that is due. */
  async #stage(
    build: Build<Entry>,
  ): Promise<{ readonly batch: Batch; readonly entries: readonly Entry[] }> {
    let entries: readonly Entry[] = []
    const batch = await this.journal.begin(() => {
      this.#reporter.added(this.journal, messagesOf(entries))
    })
    try {
      entries = batch.add(build)
      return { batch, entries }
    } catch (error) {
      batch.drop()
      throw error
    }
  }

  /** The entries of a resent history, for a branch. */
  async #historyEntries(
    journal: Journal,
    { conversation, leading }: History,
    { meet, isContinuing, isMoved }: Omit<HistoryAround, 'isBatched'>,
  ): Promise<(state: State, stamp: Stamp) => readonly Entry[]> {
    // Of a history that comes for the first time, only what the model has not answered is new to the plugins.
    const asked = (): number => Math.max(meet().matched, firstUnanswered(conversation))
    const enriched = this.#plugins.isEmpty
      ? undefined
      : await this.#plugins.enrich(conversation.slice(asked()), journal, this.policy)
    return (state, stamp) => {
      const { matched, revisions } = meet()
      const came = conversation.slice(matched)
      const fresh = enriched === undefined ? came : replaced(came, enriched)
      const messages = prepare(state, fresh, stamp.at)
      for (const _message of messages) stamp.skip()
      return [
        ...messages,
        ...revisionEdits(state, revisions).map((edit) => stamp.entry(edit)),
        ...leadingSetting(journal, leading, stamp),
        ...(isMoved ? this.#carriedPolicy(journal, stamp) : []),
        ...(isContinuing ? continueMark(state, messages, stamp) : []),
      ]
    }
  }

  /** The view of a history on a copy of its branch, with this thread's policy. Nothing is written. */
  async preview(
    { copy, match }: MatchPreview,
    history: History,
    { options, own: given, isContinuing }: PreviewAround,
  ): Promise<View> {
    await this.readStored()
    const own = this.#ownFor(options, given)
    const meet = (): KeyMatch => match
    const around = { meet, isContinuing, isMoved: true }
    const build = await this.#historyEntries(copy, history, around)
    await copy.commit(build)
    return this.#dryView(options, own, { copy })
  }

  /** The next view as it is, and as an action would make it. Nothing is written. The journal must be complete. */
  async rehearse(
    action: ThreadAction,
    options: ViewOptions,
    given: Policy | undefined,
  ): Promise<Rehearsal> {
    await this.readStored()
    const own = this.#ownFor(options, given)
    const view = (copy: Journal): Promise<View> =>
      this.#dryView({ ...options, dryRun: true }, own, { copy })
    const base = Journal.copyOf(this.journal)
    // Copies and views of a long thread take their time: others are served between them.
    await setImmediate()
    const copy = Journal.copyOf(base)
    const reason = await act(copy, action, () => this.lastView())
    if (reason !== undefined) return { ok: false, reason }
    await setImmediate()
    const after = await view(copy)
    await setImmediate()
    return { ok: true, before: await view(base), after }
  }

  /** A view that commits nothing and asks no model. */
  async #dryView(
    options: ViewOptions,
    own: Policy | undefined,
    { copy, limit }: DryAround,
  ): Promise<View> {
    const shown = own ?? this.#givenPolicy(options.threadPolicy)
    const base = await this.#mirroredCopy(
      await this.#widenedCopy(copy ?? this.journal, shown, options),
      options,
    )
    const added = await this.#added(base)
    const request = (journal = base): ViewRequest =>
      this.request(options, { own, ...added, journal })
    const rehearsed = base === this.journal ? undefined : base
    const journal =
      own === undefined ? await this.#compacting.simulate(request, limit, rehearsed) : base
    const asked = (way?: Offering): ViewRequest =>
      this.request(options, { own, ...added, journal, offering: way })
    const now = asked()
    const { summaryOf } = askingOf(this.summaries, journal, now)
    // A request would wait for the model here; without it, it has what it has when the model fails.
    const waits = copy !== undefined && waitsForJobs(now.policy)
    const known: SummaryOf = (wish) => {
      const answer = summaryOf(wish)
      return waits && answer.state === 'waiting' ? { state: 'none' } : answer
    }
    const { request: shownBy, built } = buildOffering(
      (way) => ({ ...asked(way), summaryOf: summaryOf === noSummary ? summaryOf : known }),
      options,
    )
    assertNotEmpty(built, now.state.messageCount)
    return toView(shownBy, built, this.#epoch(0))
  }

  /**
   * The log as a view with a policy of its own finds it: where its window is wider, a copy that shows what was dropped. Kept until the
   * log continues, since a view asks for it several times.
   */
  #shownBy(own: Policy | undefined): Journal {
    const { journal } = this
    const { state } = journal
    if (own === undefined || !isWidened(state, own)) return journal
    const known = this.#widened
    if (known?.state === state && known.version === state.version && known.policy === own) {
      return known.copy
    }
    const copy = Journal.copyOf(journal, wideningEntries(own))
    this.#widened = { state, version: state.version, policy: own, copy }
    return copy
  }

  /** The log, or a copy of it in which the view shows again what it takes back. */
  async #widenedCopy(journal: Journal, policy: Policy, options: ViewOptions): Promise<Journal> {
    const since = this.#returnsSince(options, journal)
    if (since === undefined && !isWidened(journal.state, policy)) return journal
    await journal.complete()
    return Journal.copyOf(journal, returningEntries(policy, since ?? Infinity))
  }

  /** From where on the log has edits of requests that brought another policy; undefined where this view keeps them. */
  #returnsSince(
    { threadPolicy, policyOf }: ViewOptions,
    journal = this.journal,
  ): number | undefined {
    const since = journal.setting(settings.requestPolicy) ?? 0
    if (since === 0 || threadPolicy === undefined) return undefined
    if (policyOf !== 'request') return since
    const given = parsePolicy(threadPolicy, 'policy', this.rules)
    const isSame = equalJson(journal.setting(settings.policy) ?? {}, given as JsonObject)
    return isSame ? undefined : since
  }

  /** The entry that says since when the policy is that of requests, where that changes. */
  #scopeEntry(
    { threadPolicy, policyOf }: ViewOptions,
    { since, begun }: { readonly since: number | undefined; readonly begun: number },
    stamp: Stamp,
  ): readonly Entry[] {
    if (threadPolicy === undefined) return []
    const logged = this.journal.setting(settings.requestPolicy) ?? 0
    const isKept = logged !== 0 && since === undefined
    const now = policyOf !== 'request' ? 0 : isKept ? logged : Math.max(1, begun)
    return now === logged ? [] : [stamp.entry(settings.requestPolicy.body(now))]
  }

  /** Takes back what the window of an earlier policy dropped and this one covers, and what the policy of earlier requests changed. */
  async #widen(policy: Policy, since: number | undefined): Promise<number> {
    if (since === undefined && !isWidened(this.journal.state, policy)) return 0
    await this.journal.complete()
    const undone = await this.journal.commit(returningEntries(policy, since ?? Infinity))
    const message = `The policy is wider: ${undone.length} edits were undone.`
    const { newestEpoch: id = '' } = this.journal.facts
    if (undone.length > 0) this.emit('edit-undone', { id, message })
    return undone.length
  }

  /** The log, or a copy of it that mirrors the compaction of the provider that a view is for. */
  async #mirroredCopy(journal: Journal, options: ViewOptions): Promise<Journal> {
    if (isMirrored(journal.state, options)) return journal
    await journal.complete()
    const copy = Journal.copyOf(journal, retractingEntries(options))
    await copy.commit(compactingEntries(options))
    return copy
  }

  /** Mirrors the compaction of the provider that a view is for, or takes back that of another one. Answers how many entries that took. */
  async #mirror(options: ViewOptions): Promise<number> {
    if (isMirrored(this.journal.state, options)) return 0
    await this.journal.complete()
    const undone = await this.journal.commit(retractingEntries(options))
    const edits = await this.journal.commit(compactingEntries(options))
    return undone.length + edits.length
  }

  /** A view as it is asked for, or would be. */
  request(options: ViewOptions = {}, around: RequestAround = {}): ViewRequest {
    const { own, journal = this.journal, pluginSystem = systemOf(journal) } = around
    const isTemporary = own !== undefined
    const given = own ?? this.#givenPolicy(options.threadPolicy)
    const { limit } = options
    const policy = limit === undefined ? given : withinLimit(given, limit)
    const leading = leadingOf(journal)
    const now = this.#options.now()
    const framed = offering(options, journal, around.offering ?? 'as-logged')
    const framing = new Framing({ frame: framed.frame, leading, pluginSystem })
    const parts = { options: withLimit(framed), framing, now, policy }
    // What the schedule must know of the provider.
    const { cache, prices } = isTemporary ? {} : cacheFor(journal, parts, this.#options)
    return {
      ...parts,
      cache,
      prices,
      measured: () => measuredFor(journal, parts),
      leading,
      pluginSystem,
      tail: around.tail,
      state: journal.state,
      shownAgainFrom: isTemporary ? shownAgainFrom(this.journal.state, policy) : undefined,
      isTemporary,
      // Checkpoints are jobs of their own; only a view that keeps no edits makes one in passing.
      hasCompactor: !isTemporary,
      given: this.#givenFor(journal),
      fileOf: this.#files.fileOf,
    }
  }

  #givenFor(journal: Journal): NonNullable<ViewRequest['given']> {
    const { given } = this.#options
    return this.#judgments === undefined
      ? given
      : { ...given, relevance: this.#judgments.judgeIn(journal) }
  }

  /** Asks the host's judge, where it takes time, for what the rules want to know; a view waits as its schedule does. */
  async #judge(request: () => ViewRequest, until: number): Promise<void> {
    const judgments = this.#judgments
    if (judgments === undefined) return
    const { policy } = request()
    if (policy.expiry?.relevance === undefined) return
    const waits = waitsForJobs(policy)
    judgments.limit(waits ? until : Infinity)
    // A score may lead to the question about a later age.
    for (let round = 0; round < maxJudgingRounds; round++) {
      proposalsOf(request())
      if (!judgments.isBusy) return
      judgments.start()
      if (!waits) return
      await judgments.settled(until)
    }
  }

  /** The policy of one view only: the one that it names, with its override over it. */
  #ownFor({ override, threadPolicy }: ViewOptions, given: Policy | undefined): Policy | undefined {
    if (override === undefined) return given
    const policy = given ?? this.#givenPolicy(threadPolicy)
    const expiry = withOverride(policy.expiry, override)
    return parsePolicy({ ...policy, expiry }, 'policy', this.rules)
  }

  /** The thread's policy for a view, where it brings none of its own. */
  #givenPolicy(given: ViewOptions['threadPolicy']): Policy {
    if (given === undefined) return this.policy
    const own = parsePolicy(given, 'policy', this.rules)
    return this.#options.agent === undefined ? own : this.#withStored(own)
  }

  /** A smaller view after the provider refused one. No model is asked. Of a view that keeps no edits, no checkpoint is kept either. */
  async recover(error: unknown, options: ViewOptions, given: Policy | undefined): Promise<View> {
    await this.journal.refresh()
    await this.readStored()
    const own = this.#ownFor(options, given)
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
    })
    return view
  }

  async view(
    options: ViewOptions,
    given: Policy | undefined,
    { isRecovery = false, durable = 'now' }: ViewAround = {},
  ): Promise<View> {
    await this.readStored()
    const own = this.#ownFor(options, given)
    if (options.dryRun === true) {
      return this.#dryView(options, own, { limit: isRecovery ? options.budget : undefined })
    }
    const last = this.journal.facts.newestRequest?.seq ?? 0
    const added = await this.#added(this.journal)
    const request = (journal = this.#shownBy(own), way?: Offering): ViewRequest =>
      this.request(options, { own, ...added, journal, offering: way })
    const ask = (now: ViewRequest, journal = this.journal): SummaryPass =>
      askingOf(this.summaries, journal, now)
    const { threadPolicy } = options
    if (threadPolicy !== undefined) this.adopt(parsePolicy(threadPolicy, 'policy', this.rules))
    const policy = own ?? this.policy
    const begun = this.journal.state.version
    const since = isRecovery ? undefined : this.#returnsSince(options)
    const isWidening = own === undefined && !isRecovery
    const mirrored = await this.#mirror(options)
    const widened = mirrored + (isWidening ? await this.#widen(policy, since) : 0)
    if (own !== undefined && isWidened(this.journal.state, own)) await this.journal.complete()
    this.#reporter.asked(this.journal, policy, options.agentName)
    const files = await this.#writeFiles(policy, (fileOf) => proposalsOf({ ...request(), fileOf }))
    const until = performance.now() + timeoutOf(this.#options)
    const finished = isRecovery ? [] : await this.#prepareSummaries(request, until)
    if (!isRecovery) await this.#judge(request, until)
    const isFirst = own === undefined && !isRecovery
    const asked = isFirst ? await this.#compacting.beforeView(request, until) : undefined
    const { version } = this.journal.state
    let view: { request: ViewRequest; built: BuiltView; asking: SummaryPass } | undefined
    const build = (state: State, stamp: Stamp): readonly Entry[] => {
      const isStill = asked?.state === state && state.version === version
      const base = isStill ? asked : request()
      const asking = ask(base)
      const around = { isRecovery, summaryOf: asking.summaryOf }
      const shown = buildOffering(
        (way) => ({ ...(way === 'as-logged' ? base : request(undefined, way)), ...around }),
        options,
      )
      view = { ...shown, asking }
      const { request: now } = shown
      assertNotEmpty(view.built, now.state.messageCount)
      return [
        ...offerEntry(options, now, this.journal, stamp),
        ...this.#pendingSetting(stamp),
        ...(isRecovery ? [] : this.#scopeEntry(options, { since, begun }, stamp)),
        ...systemSetting(this.journal, added.pluginSystem, stamp),
        ...memoryEntries(this.journal, added.memory, stamp),
        ...(now.isTemporary ? summaryEntries(this.journal, finished, stamp) : []),
        ...(this.#judgments?.entries(this.journal, stamp) ?? []),
        ...entriesOf(now, view.built, stamp, this.journal),
      ]
    }
    const hadPolicy = policySettings.some((one) => this.journal.setting(one) !== undefined)
    const entries = await this.#commitView(build, { durable, files })
    await this.#committed(entries, hadPolicy)
    assert(view !== undefined, 'a commit asks for its entries')
    this.#lastView = { seq: newestSeq(this.journal), built: view.built }
    const edits = entries.filter((entry): entry is EditEntry => entry.type === 'edit')
    this.#report(view.built, edits, policy)
    if (!waitsForJobs(view.request.policy)) this.#summarizeBehind(view.asking.wanted)
    const { checkpoint } = this.journal.state
    const made = checkpoint !== undefined && checkpoint.seq > last ? 1 : 0
    const cause = made > 0 ? 'limit' : view.built.decision.cause
    const applied = edits.length + made + widened
    return toView(
      view.request,
      view.built,
      this.#epoch(applied, applied === widened ? 'policy' : cause),
    )
  }

  /** What a request gets beside its messages: what plugins say, and what comes from memory where the thread recalls or has a scope. */
  async #added(journal: Journal): Promise<Added> {
    const pluginSystem = this.#plugins.isEmpty ? [] : await this.#plugins.system(journal)
    const { recall: bounds } = this.#options
    const isShown = bounds === undefined ? undefined : this.shownNow()
    const memory = await memoryFor(journal, { bounds, isShown })
    return { pluginSystem, memory, tail: memory.blocks }
  }

  /** What follows once the entries of a view are in the log. */
  async #committed(entries: readonly Entry[], hadPolicy: boolean): Promise<void> {
    this.#judgments?.kept()
    this.#forgetPending()
    if (hadPolicy && entries.some(isPolicy)) {
      this.emit('policy-changed', { message: 'The policy changed.' })
    }
    this.#share(entries)
    this.#plugins.settle(this.journal)
    await this.#keepLasting(this.#staged.splice(0))
  }

  /** Takes in what a user says is to hold in all threads of the scope. Nothing waits for a store that fails here. */
  async #keepLasting(entries: readonly MessageEntry[]): Promise<void> {
    const scope = scopeOf(this.journal)
    if (scope === undefined || entries.length === 0) return
    const { store, key } = this.journal
    try {
      await keepLasting({ store, ...key, scope }, entries)
    } catch (error) {
      this.backgroundFailed('memory', error)
    }
  }

  /** Events and log lines of a view that was committed. */
  #report(built: BuiltView, edits: readonly EditEntry[], policy: Policy): void {
    this.#reporter.applied(this.journal, edits, (seq) => viewIndex(built, seq))
    const repairs = built.assembled.repairs.length
    const line = resultLine(this.journal.state, edits, repairs)
    if (line !== undefined) this.say(line)
    const tokens = built.assembled.tokens()
    this.#reporter.selected(this.journal, policy, { shown: built.shown.length, tokens, repairs })
  }

  /** Summaries that a view waits for. */
  async #prepareSummaries(request: () => ViewRequest, until: number): Promise<readonly Finished[]> {
    const caller = this.#caller
    if (caller === undefined) return []
    return prepareSummaries(this.summaries, this.journal, { caller, request, until })
  }

  /** The newest view of this thread, whoever asked for it. */
  async lastView(): Promise<BuiltView | undefined> {
    const known = this.#lastView
    return known?.seq === newestSeq(this.journal)
      ? known?.built
      : newestView(this.journal, this.rules)
  }

  /**
   * Which messages the newest view that was made here shows whole; before one was made, which the edits in the log leave whole. Undefined
   * where nothing is reduced.
   */
  shownNow(): IsShown | undefined {
    const { state } = this.journal
    const built = this.#lastView?.built
    if (built !== undefined) return shownIn(built.shown)
    if (state.checkpoint === undefined && state.dropEdits.length === 0) return undefined
    const visible = new Set(state.visible.map(({ entry }) => entry.seq))
    return (seq) => visible.has(seq)
  }

  /** Makes a checkpoint now, whatever the limit says. */
  compact(
    options: CompactOptions,
    run: SharedParts['run'],
  ): Promise<{ readonly tokensSaved: number }> {
    return this.#compacting.compact(options, run)
  }

  /** Jobs of a schedule that never waits: their results come back as entries, for a later view. */
  #summarizeBehind(wanted: SummaryPass['wanted']): void {
    const caller = this.#caller
    if (this.summaries === undefined || caller === undefined || wanted.size === 0) return
    const { journal } = this
    const { step } = journal.state
    const done = this.summaries.run(wanted, { caller, step, until: Infinity })
    const keep = async (): Promise<void> => {
      const finished = await done
      const build: Build<Entry> = (_, stamp) => summaryEntries(journal, finished, stamp)
      this.#share(await this.run(() => journal.commit(build)))
    }
    this.inBackground('summary', keep)
  }

  /** Lets the tenant's other threads find the summaries in these entries. */
  #share(entries: readonly Entry[]): void {
    if (this.#caller === undefined || summariesIn(entries).length === 0) return
    this.inBackground('summary', () => this.#shareable.share(entries))
  }

  /** Runs work that no operation waits for. Resolves when it is over; a failure is an event and nothing else. */
  inBackground(task: BackgroundTask, work: () => Promise<unknown>): Promise<void> {
    const done = inBackground(work, (error) => this.backgroundFailed(task, error))
    this.#background = Promise.all([this.#background, done])
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
    await this.#background
  }

  /** The policy that was given and is not in the log yet. */
  #pendingSetting(stamp: Stamp): readonly Entry[] {
    return this.#policyEntries(this.journal, stamp, { own: this.#pending })
  }

  /** Entries for what a log does not say yet: a policy, and the stored settings in force. */
  #policyEntries(
    journal: Journal,
    stamp: Stamp,
    { own, stored = this.#pendingStored }: Partial<Omit<LayeredPolicy, 'policy'>>,
  ): readonly Entry[] {
    const logged = journal.setting(settings.policy) ?? {}
    const isNew = own !== undefined && !equalJson(logged, own as JsonObject)
    const entries: Entry[] = []
    if (isNew) entries.push(stamp.entry(settings.policy.body(own as JsonObject)))
    const rows = stored as unknown as JsonObject | undefined
    if (rows !== undefined && !equalJson(loggedStored(journal) as unknown as Json, rows)) {
      entries.push(stamp.entry(settings.agentSettings.body(rows)))
    }
    return entries
  }

  #forgetPending(): void {
    this.#pending = undefined
    this.#pendingStored = undefined
  }

  async #writeFiles(
    { toolOutput }: Policy,
    pass: (fileOf: FileOf) => unknown,
  ): Promise<readonly OutputFile[]> {
    if (toolOutput?.directory === undefined) return []
    return this.#files.prepare(pass, (files) => this.#noteFiles(files))
  }

  /** Of a thread that was erased while its files were written, none may be left. */
  async #commitView(
    build: (state: State, stamp: Stamp) => readonly Entry[],
    { durable = 'now', files }: Pick<ViewAround, 'durable'> & { files: readonly OutputFile[] },
  ): Promise<readonly Entry[]> {
    if (files.length === 0) return this.journal.commit(build, { durable })
    const { store, key } = this.journal
    try {
      return await this.journal.commit(build, { durable })
    } finally {
      if ((await store.info(key)) === undefined) {
        for (const file of files) await removeOutputFile(file)
      }
    }
  }

  /** Erasing the thread removes its files. */
  async #noteFiles(files: readonly OutputFile[]): Promise<void> {
    const { journal } = this
    const isNoted = ({ directory, sha256 }: OutputFile): boolean =>
      journal.setting(settings.outputFile.at(sha256)) === directory
    await journal.commit((_, stamp) =>
      files
        .filter((file) => !isNoted(file))
        .map(({ directory, sha256 }) =>
          stamp.entry(settings.outputFile.at(sha256).body(directory)),
        ),
    )
  }

  /** The policy in force, for a branch that has another one: logged with the history, so that every object sees it. */
  #carriedPolicy(journal: Journal, stamp: Stamp): readonly Entry[] {
    const { ownPolicy: own, stored } = this
    return this.#policyEntries(journal, stamp, { own, stored })
  }

  async setPolicy(policy: Policy): Promise<void> {
    const had = this.journal.setting(settings.policy) !== undefined
    const stored = this.#options.agent === undefined ? nothingStored : undefined
    const written = await this.journal.commit((_, stamp) =>
      this.#policyEntries(this.journal, stamp, { own: policy, stored }),
    )
    if (had && written.length > 0) this.emit('policy-changed', { message: 'The policy changed.' })
    this.#forgetPending()
  }

  async set<T>(setting: Setting<T>, value: T): Promise<void> {
    await this.journal.commit((_, stamp) => [stamp.entry(setting.body(value))])
  }

  async mark(id: string, mark: MarkEntry['mark']): Promise<void> {
    await this.journal.refresh()
    // What was dropped may have to come back.
    await this.journal.complete()
    await markMessage(this.journal, id, mark)
  }

  /** A message by its own id, by a block's, or by the caller's. */
  find(id: string): Promise<FoundMessage | undefined> {
    return findMessage(this.journal, id)
  }

  say(line: string): void {
    this.#reporter.say(line)
  }

  emit<Type extends EventType>(type: Type, fields: FieldsOf<Type>): void {
    this.#reporter.emit(this.journal, type, fields)
  }

  #epoch(applied: number, reason: Epoch['cause'] = 'policy'): Epoch {
    const cause = applied === 0 ? 'none' : reason
    return { id: this.journal.facts.newestEpoch ?? '', applied, cause }
  }
}

/** What a request gets beside its messages. */
interface Added {
  readonly pluginSystem: ViewRequest['pluginSystem']
  readonly memory: MemoryTail
  readonly tail: MemoryTail['blocks']
}

/** Messages that a view shows whole. */
function shownIn(shown: readonly ViewMessage[]): IsShown {
  const whole = new Set<number>()
  for (const { entry, blocks } of shown) {
    if (entry?.blocks.every((block) => block.type === 'reasoning' || blocks.includes(block)))
      whole.add(entry.seq)
  }
  return (seq) => whole.has(seq)
}

/** A thread's own policy with what is stored for its agent. */
interface LayeredPolicy {
  readonly own: Policy | undefined
  readonly stored: StoredSettings | undefined
  readonly policy: Policy
}

const nothingStored: StoredSettings = { tools: {}, toolDefaults: {} }

function loggedStored(journal: Pick<Journal, 'setting'>): StoredSettings {
  // Written above from stored settings, and read back unchanged.
  const logged = journal.setting(settings.agentSettings) as unknown as StoredSettings | undefined
  return logged ?? nothingStored
}

function isPolicy(entry: Entry): boolean {
  return policySettings.some((one) => one.names(entry))
}

function newestSeq({ facts }: Journal): number | undefined {
  return facts.newestRequest?.seq
}

/** Values of entries never change, so each is read once. */
const parsed = new WeakMap<JsonObject, Policy>()

/** The newest policy in the log; without one, the empty policy. */
/** The policy that a log says is in force, with the settings that were stored for its agent. */
export function policyIn(journal: Pick<Journal, 'setting'>, rules: readonly CustomRule[]): Policy {
  const own = loggedPolicy(journal, rules)
  const policy = withStoredSettings(own, loggedStored(journal))
  return policy === own ? own : parsePolicy(policy, 'policy', rules)
}

function loggedPolicy(journal: Pick<Journal, 'setting'>, rules: readonly CustomRule[]): Policy {
  const logged = journal.setting(settings.policy)
  if (logged === undefined) return parsePolicy(undefined)
  // What this process wrote itself needs no note: one for each thread would make the collector's work longer.
  if (isChecked(logged, rules)) return logged
  const known = parsed.get(logged)
  if (isChecked(known, rules)) return known
  const policy = parsePolicy(logged, 'policy', rules)
  parsed.set(logged, policy)
  return policy
}
