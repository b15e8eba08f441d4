// The working parts of a thread: what its public operations have in common.

import type { Draft, Edit, EditEntry, Entry, MarkEntry, MessageEntry } from '../core/entry.ts'
import { assert, OrielError } from '../core/errors.ts'
import { parseId } from '../core/handle.ts'
import { equalJson, type Json, type JsonObject } from '../core/json.ts'
import { prepare } from '../core/prepare.ts'
import { type Policy, parsePolicy } from '../policy.ts'
import { checkpoint, limitOf } from '../rules/compaction.ts'
import { type EventType, type Listener, notify, type ThreadEvent } from './events.ts'
import type { ExpandOptions, Expansion } from './expand.ts'
import { expandIn } from './expanding.ts'
import { freshDrafts, type History, leadingSetting, revisionEdits } from './incoming.ts'
import { Jobs } from './jobs.ts'
import type { Journal, Stamp } from './journal.ts'
import { leadingOf } from './leading.ts'
import { happeningsOf, pruningLine } from './lifecycle.ts'
import type { Plugin } from './plugin.ts'
import { Plugins, replaced, systemSetting } from './plugins.ts'
import { askingOf, prepareSummaries, summaryEntries, waitsForJobs } from './prepare-summaries.ts'
import { newestView } from './requests.ts'
import { type Asking, Summaries } from './summaries.ts'
import { type Summarize, summaryJob, withSummary } from './summary.ts'
import type { Meeting } from './sync.ts'
import {
  type BuiltView,
  buildView,
  coverageOf,
  type Epoch,
  entriesOf,
  toView,
  type View,
  type ViewOptions,
  type ViewRequest,
} from './viewing.ts'

export interface SessionOptions {
  readonly now: () => number
  readonly on?: Listener | undefined
  readonly log?: ((line: string) => void) | undefined
  readonly verbose: boolean
  readonly summarize?: Summarize | undefined
  /** Tokens that the summarizer's model can read. @default 32000 */
  readonly summarizeWindow?: number | undefined
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
  readonly #jobs = new Jobs()
  readonly #summaries: Summaries | undefined
  #behind: Promise<unknown> = Promise.resolve()
  readonly #plugins: Plugins
  #lastView: { readonly seq: number | undefined; readonly built: BuiltView } | undefined

  constructor(journal: Journal, options: SessionOptions, policy: Policy | undefined) {
    this.journal = journal
    this.#options = options
    this.#pending = policy
    this.#plugins = new Plugins(options.plugins, (name, reason) => {
      this.emit('plugin-failed', { id: name, message: `The plugin ${name} added nothing.`, reason })
    })
    const { summarize, summarizeWindow: window = defaultWindow } = options
    if (summarize === undefined) return
    const onFailed = (reason: string, count: number): void => {
      const message = `${count} summaries failed: the deterministic form serves.`
      this.emit('job-failed', { message, reason })
    }
    this.#summaries = new Summaries({ summarize, jobs: this.#jobs, window, onFailed })
  }

  /** The policy in force: the newest in the log, unless one was given that is not there yet. */
  get policy(): Policy {
    return this.#pending ?? parsePolicy(this.journal.setting('policy')?.value)
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
  async append(drafts: readonly Draft[]): Promise<readonly MessageEntry[]> {
    const known = await this.#knownIds(drafts)
    const asked = freshDrafts(this.journal.state, drafts, known)
    const enriched = replaced(drafts, await this.#enrich(asked, this.journal))
    const entries = await this.journal.commit((state, stamp) =>
      prepare(state, freshDrafts(state, enriched, known), stamp.at),
    )
    this.#reportAdded(entries)
    return entries
  }

  /**
   * Writes what a resent history brings, in one append: new messages, results that the client reduced, system messages in front.
   * `meet` tells, at the moment of writing, what is already there.
   */
  async appendHistory(
    journal: Journal,
    history: History,
    meet: () => Meeting,
  ): Promise<{ readonly meeting: Meeting; readonly appended: readonly MessageEntry[] }> {
    let meeting: Meeting | undefined
    const { conversation } = history
    // Of a history that comes for the first time, only what the model has not answered is new to the plugins.
    const asked = Math.max(meet().matched, conversation.findLastIndex(isAssistant) + 1)
    const enriched = await this.#enrich(conversation.slice(asked), journal)
    const entries = await journal.commit((state, stamp): readonly Entry[] => {
      meeting = meet()
      const fresh = replaced(conversation.slice(meeting.matched), enriched)
      const messages = prepare(state, fresh, stamp.at)
      for (const _message of messages) stamp.skip()
      return [
        ...messages,
        ...revisionEdits(state, meeting.revisions).map((edit) => stamp.entry(edit)),
        ...leadingSetting(journal, history.leading, stamp),
      ]
    })
    assert(meeting !== undefined, 'a commit asks for its entries')
    this.journal = journal
    const appended = entries.filter((entry): entry is MessageEntry => entry.type === 'message')
    this.#reportAdded(appended)
    return { meeting, appended: appended.filter(({ origin }) => origin !== 'plugin') }
  }

  #enrich(
    drafts: readonly Draft[],
    journal: Journal,
  ): Promise<ReadonlyMap<Draft, readonly Draft[]>> {
    return this.#plugins.enrich(drafts, journal, this.policy.retention?.unit ?? 'newer')
  }

  #reportAdded(entries: readonly MessageEntry[]): void {
    for (const { id, seq, role } of entries) {
      const index = this.journal.state.item(seq)?.index ?? 0
      this.emit('message-added', { id, index, message: `A ${role} message was added.` })
    }
  }

  async view(options: ViewOptions, own: Policy | undefined): Promise<View> {
    const before = this.journal.state.visible.length
    const pluginSystem = await this.#plugins.system(this.journal)
    const request = (): ViewRequest => ({
      state: this.journal.state,
      policy: own ?? this.policy,
      isTemporary: own !== undefined,
      options,
      leading: leadingOf(this.journal),
      pluginSystem,
      given: this.#options.given,
      now: this.#options.now(),
    })
    const ask = (now: ViewRequest): Asking => askingOf(this.#summaries, this.journal, now)
    if (options.dryRun === true) {
      const now = request()
      const { summaryOf } = ask(now)
      return toView(now, buildView({ ...now, summaryOf }), this.#epoch(0))
    }
    const finished = await prepareSummaries(this.#summaries, this.journal, request)
    const summaries = await this.#summarize(request())
    let view: { request: ViewRequest; built: BuiltView; asking: Asking } | undefined
    const entries = await this.journal.commit((_, stamp) => {
      const asking = ask(request())
      const now: ViewRequest = { ...request(), summaries, summaryOf: asking.summaryOf }
      view = { request: now, built: buildView(now), asking }
      return [
        ...this.#pendingSetting(stamp),
        ...systemSetting(this.journal, pluginSystem, stamp),
        ...(now.isTemporary ? summaryEntries(this.journal, finished, stamp) : []),
        ...entriesOf(now, view.built, stamp, this.journal),
      ]
    })
    this.#pending = undefined
    this.#plugins.settle(this.journal)
    assert(view !== undefined, 'a commit asks for its entries')
    this.#lastView = { seq: this.journal.facts.newestRequest?.seq, built: view.built }
    const edits = entries.filter((entry): entry is EditEntry => entry.type === 'edit')
    if (edits.length > 0) this.#report(edits, before)
    if (!waitsForJobs(view.request.policy)) this.#summarizeBehind(view.asking.wanted)
    return toView(view.request, view.built, this.#epoch(edits.length))
  }

  /** The newest view of this thread, whoever asked for it. */
  async lastView(): Promise<BuiltView | undefined> {
    const isKnown = this.#lastView?.seq === this.journal.facts.newestRequest?.seq
    return isKnown ? this.#lastView?.built : newestView(this.journal)
  }

  /** Shows an original again; see `expandIn`. */
  async expand(target: string | number, options: ExpandOptions): Promise<Expansion> {
    await this.journal.refresh()
    const { found, ...expansion } = await expandIn(this, target, options)
    if (!expansion.ok || found === undefined) return expansion
    const { seq } = found.entry
    const id = this.journal.state.blockIdAt({ seq, block: found.block ?? 0 })
    const index = this.journal.state.facts(seq)?.index ?? 0
    const { reason = 'Agent requested expansion', inPlace = false } = options
    const message = inPlace ? `${id} is shown in its place again.` : `${id} was expanded.`
    this.emit('message-expanded', { id, index, message, reason, canExpand: !inPlace })
    this.say(`[Turn ${this.journal.state.step}] Expanded message at index ${index}`)
    return expansion
  }

  /** Makes a checkpoint now, whatever the limit says. */
  async compact(): Promise<{ readonly tokensSaved: number }> {
    const settings = this.policy.compaction ?? {}
    this.emit('compaction-started', { message: 'A checkpoint was asked for.' })
    const limit = limitOf(settings) || Infinity
    const entries = await this.journal.commit((state, stamp) => {
      const epoch = `k${(state.version + 1).toString(36)}`
      const edits = checkpoint(state, settings, { limit, reason: 'asked for', planned: [] })
      return edits.map((edit) => stamp.entry({ ...edit, type: 'edit', epoch }) as EditEntry)
    })
    const tokensSaved = entries.reduce((sum, edit) => sum + edit.tokensBefore - edit.tokensAfter, 0)
    const message = entries.length > 0 ? 'A checkpoint was made.' : 'Nothing could give way.'
    this.emit('compaction-ended', { message, tokensSaved })
    return { tokensSaved }
  }

  /** Jobs of a schedule that never waits: their results come back as entries, for a later view. */
  #summarizeBehind(wanted: Asking['wanted']): void {
    if (this.#summaries === undefined || wanted.size === 0) return
    const { journal } = this
    const done = this.#summaries.fulfil(wanted, journal.state.step)
    const keep = async (): Promise<void> => {
      const finished = await done
      await this.run(() => journal.commit((_, stamp) => summaryEntries(journal, finished, stamp)))
    }
    this.#behind = Promise.allSettled([this.#behind, keep()])
  }

  /** Resolves when no job is under way behind a view. */
  async settled(): Promise<void> {
    await this.#behind
    await this.run(() => this.journal.settled())
  }

  /** The policy that was given and is not in the log yet. */
  #pendingSetting(stamp: Stamp): readonly Entry[] {
    const logged = this.journal.setting('policy')?.value
    if (this.#pending === undefined || equalJson(logged ?? {}, this.#pending)) return []
    return [stamp.entry({ type: 'setting', name: 'policy', value: this.#pending as JsonObject })]
  }

  /** Asks the model for the summary of a checkpoint that is about to be made. A failure changes nothing but an event. */
  async #summarize(request: ViewRequest): Promise<ReadonlyMap<string, Edit>> {
    const summaries = new Map<string, Edit>()
    const { summarize } = this.#options
    if (summarize === undefined || request.policy.compaction === undefined) return summaries
    const { state } = request
    const edit = buildView(request).planned.find(
      ({ rule, text }) => rule === 'compaction' && text !== undefined,
    )
    if (edit === undefined) return summaries
    const key = coverageOf(edit)
    try {
      const answer = await this.#jobs.run(key, (signal) =>
        summarize(summaryJob(state, edit, signal)),
      )
      summaries.set(key, withSummary(edit, answer, state.counter))
    } catch (error) {
      const reason = OrielError.is(error) ? error.message : 'unknown'
      this.emit('job-failed', { message: 'No summary: the digest stands alone.', reason })
    }
    return summaries
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
  async find(
    id: string,
  ): Promise<{ readonly entry: MessageEntry; readonly block?: number } | undefined> {
    const seq = await this.journal.seqOf(id)
    const place =
      seq === undefined ? parseId(this.journal.state.salt, id) : { seq, block: undefined }
    const entry = place === undefined ? undefined : await this.journal.message(place.seq)
    if (entry === undefined) return undefined
    const block = entry.blocks.length <= 1 ? undefined : place?.block
    return block === undefined ? { entry } : { entry, block }
  }

  /** A line for people who asked for them. */
  say(line: string): void {
    if (this.#options.verbose) this.#options.log?.(line)
  }

  emit(type: EventType, fields: Omit<ThreadEvent, 'type' | 'thread' | 'turn' | 'step'>): void {
    const { turn, step } = this.journal.state
    const event: ThreadEvent = { type, thread: this.journal.key.thread, turn, step, ...fields }
    notify(this.#options.on, event, (line) => this.#options.log?.(line))
  }

  /** Ids that only the store knows: of messages from before the snapshot that the state began from. */
  async #knownIds(drafts: readonly Draft[]): Promise<ReadonlySet<string>> {
    const known = new Set<string>()
    if (!this.journal.state.isPartial) return known
    for (const { id } of drafts) {
      if (id !== undefined && (await this.journal.seqOf(id)) !== undefined) known.add(id)
    }
    return known
  }

  #epoch(applied: number): Epoch {
    const cause = applied === 0 ? 'none' : 'policy'
    return { id: this.journal.facts.newestEpoch ?? '', applied, cause }
  }

  #report(edits: readonly EditEntry[], before: number): void {
    const { state } = this.journal
    for (const { id, rule, reason, tokensBefore, tokensAfter } of edits) {
      if (rule !== 'compaction') continue
      const tokensSaved = tokensBefore - tokensAfter
      this.emit('compaction-started', { id, message: 'The limit was reached.', reason })
      this.emit('compaction-ended', { id, message: 'A checkpoint was made.', tokensSaved })
    }
    const others = edits.filter(({ rule }) => rule !== 'compaction')
    for (const { type, ...fields } of happeningsOf(state, others)) this.emit(type, fields)
    const tokensSaved = edits.reduce((sum, edit) => sum + edit.tokensBefore - edit.tokensAfter, 0)
    const id = (edits[0] as EditEntry).epoch
    this.emit('epoch-applied', { id, message: `${edits.length} edits were applied.`, tokensSaved })
    const after = state.visible.length
    const line = pruningLine(state, edits)
    if (line !== undefined) this.say(line)
    if (after < before) this.say(`[History] Trimmed messages from ${before} to ${after}`)
  }
}

function isAssistant({ role }: Draft): boolean {
  return role === 'assistant'
}
