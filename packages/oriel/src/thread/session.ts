// The working parts of a thread: what its public operations have in common.

import { countBlock } from '../core/counter.ts'
import type { Draft, Edit, EditEntry, Entry, MarkEntry, MessageEntry } from '../core/entry.ts'
import { assert, OrielError } from '../core/errors.ts'
import { parseId } from '../core/handle.ts'
import { cloneJson, equalJson, type Json, type JsonObject } from '../core/json.ts'
import { prepare } from '../core/prepare.ts'
import { reduce } from '../core/render.ts'
import type { State } from '../core/state.ts'
import type { FormatName } from '../formats/format.ts'
import { type Policy, parsePolicy } from '../policy.ts'
import { checkpoint, limitOf } from '../rules/compaction.ts'
import { type EventType, type Listener, notify, type ThreadEvent } from './events.ts'
import { Jobs } from './jobs.ts'
import type { EntryBody, Journal, Stamp } from './journal.ts'
import { leadingOf } from './leading.ts'
import { askingOf, prepareSummaries, summaryEntries, waitsForJobs } from './prepare-summaries.ts'
import { type Asking, Summaries } from './summaries.ts'
import { type Summarize, summaryJob, withSummary } from './summary.ts'
import type { Meeting, SeqRevision } from './sync.ts'
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

export interface AppendOptions {
  /** @default Oriel's own */
  readonly format?: FormatName
  /** Messages that the log must have; with another number it rejects with 'unexpected-head'. @default any */
  readonly expected?: number
}

export interface SessionOptions {
  readonly now: () => number
  readonly on?: Listener | undefined
  readonly log?: ((line: string) => void) | undefined
  readonly verbose: boolean
  readonly summarize?: Summarize | undefined
  /** Tokens that the summarizer's model can read. @default 32000 */
  readonly summarizeWindow?: number | undefined
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

  constructor(journal: Journal, options: SessionOptions, policy: Policy | undefined) {
    this.journal = journal
    this.#options = options
    this.#pending = policy
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
  async append(drafts: readonly Draft[], expected?: number): Promise<readonly MessageEntry[]> {
    const known = await this.#knownIds(drafts)
    const entries = await this.journal.commit((state, stamp) => {
      assertCount(state, expected)
      return prepare(state, freshDrafts(state, drafts, known), stamp.at)
    })
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
    const entries = await journal.commit((state, stamp): readonly Entry[] => {
      meeting = meet()
      const messages = prepare(state, history.conversation.slice(meeting.matched), stamp.at)
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
    return { meeting, appended }
  }

  #reportAdded(entries: readonly MessageEntry[]): void {
    for (const { id, seq, role } of entries) {
      const index = this.journal.state.item(seq)?.index ?? 0
      this.emit('message-added', { id, index, message: `A ${role} message was added.` })
    }
  }

  async view(options: ViewOptions, own: Policy | undefined): Promise<View> {
    const before = this.journal.state.visible.length
    const request = (): ViewRequest => ({
      state: this.journal.state,
      policy: own ?? this.policy,
      isTemporary: own !== undefined,
      options,
      leading: leadingOf(this.journal),
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
        ...(now.isTemporary ? summaryEntries(this.journal, finished, stamp) : []),
        ...entriesOf(now, view.built, stamp, this.journal),
      ]
    })
    this.#pending = undefined
    assert(view !== undefined, 'a commit asks for its entries')
    const edits = entries.filter((entry): entry is EditEntry => entry.type === 'edit')
    if (edits.length > 0) this.#report(edits, before)
    if (!waitsForJobs(view.request.policy)) this.#summarizeBehind(view.asking.wanted)
    return toView(view.request, view.built, this.#epoch(edits.length))
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
    let tokensSaved = 0
    for (const { id, form, rule, reason, tokensBefore, tokensAfter } of edits) {
      const saved = tokensBefore - tokensAfter
      tokensSaved += saved
      if (rule === 'compaction') {
        this.emit('compaction-started', { id, message: 'The limit was reached.', reason })
        this.emit('compaction-ended', { id, message: 'A checkpoint was made.', tokensSaved: saved })
        continue
      }
      this.emit(form === 'dropped' ? 'message-removed' : 'message-compacted', {
        id,
        message: `${rule}: ${form}`,
        reason,
        tokensSaved: saved,
        canExpand: true,
      })
    }
    const id = (edits[0] as EditEntry).epoch
    this.emit('epoch-applied', { id, message: `${edits.length} edits were applied.`, tokensSaved })
    const after = this.journal.state.visible.length
    if (this.#options.verbose && after < before) {
      this.#options.log?.(`[History] Trimmed messages from ${before} to ${after}`)
    }
  }
}

/** A history that a client resends: system messages in front, and the conversation. */
export interface History {
  readonly leading: readonly Draft[]
  readonly conversation: readonly Draft[]
}

/** Results that a client reduced in the history it resends: the view follows, the log keeps the originals. */
function revisionEdits(
  state: State,
  revisions: readonly SeqRevision[],
): readonly EntryBody<EditEntry>[] {
  return revisions.flatMap(({ seq, block, text }) => {
    const item = state.item(seq)
    const original = item?.entry.blocks[block]
    if (item === undefined || original === undefined) return []
    const edits = state.blockEdits(seq, block)
    const isKnown = edits.some((edit) => edit.rule === 'client' && edit.text === text)
    // A rule that already shows less of it wins.
    const isWeaker = edits.some(({ form }) => form !== 'clipped' && form !== 'full')
    if (isKnown || isWeaker || state.isVetoed(seq, block, 'clipped')) return []
    const shown = reduce(original, { form: 'clipped', text })
    return [
      {
        type: 'edit',
        epoch: `c${state.version.toString(36)}`,
        rule: 'client',
        form: 'clipped',
        target: { seq, block },
        text,
        reason: 'the client sends it so',
        tokensBefore: item.tokens[block] ?? 0,
        tokensAfter: shown === undefined ? 0 : countBlock(state.counter, shown),
      },
    ]
  })
}

/** Says nothing for a history without system messages: formats that keep system text elsewhere never send it. */
function leadingSetting(
  journal: Journal,
  leading: readonly Draft[],
  stamp: Stamp,
): readonly Entry[] {
  if (leading.length === 0) return []
  const value = cloneJson(leading, 'history')
  if (equalJson(journal.setting('leading')?.value, value)) return []
  return [stamp.entry({ type: 'setting', name: 'leading', value })]
}

/** Refuses where other messages came in between; not by the code that makes `commit` try again. */
function assertCount(state: State, expected: number | undefined): void {
  if (expected === undefined || state.messageCount === expected) return
  throw new OrielError(
    'unexpected-head',
    `The thread has ${state.messageCount} messages, not ${expected}. Read again and decide.`,
  )
}

/** Drafts whose id neither the log nor an earlier draft has. */
function freshDrafts(
  state: State,
  drafts: readonly Draft[],
  known: ReadonlySet<string>,
): readonly Draft[] {
  const seen = new Set<string>(known)
  return drafts.filter(({ id }) => {
    if (id === undefined) return true
    if (seen.has(id) || state.seqOf(id) !== undefined) return false
    seen.add(id)
    return true
  })
}
