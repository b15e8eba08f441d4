// The stateful object: one conversation, its log and its policy. It only wires the pieces it calls.

import { randomUUID } from 'node:crypto'
import type { Draft, EditEntry, MarkEntry, MessageEntry } from '../core/entry.ts'
import { OrielError } from '../core/errors.ts'
import { parseId } from '../core/handle.ts'
import { cloneJson, equalJson, type Json, type JsonObject } from '../core/json.ts'
import { prepare } from '../core/prepare.ts'
import type { TokensOption } from '../counters.ts'
import type { FormatName } from '../formats/format.ts'
import { decodeNeutral } from '../formats/neutral.ts'
import { formatNamed } from '../formats/registry.ts'
import { type Policy, type PolicyInput, parsePolicy } from '../policy.ts'
import { assertAvailable } from '../propose.ts'
import type { Store } from '../stores/store.ts'
import { type EventType, type Listener, notify, type ThreadEvent } from './events.ts'
import { type ExpandOptions, type Expansion, expandText, originalText } from './expand.ts'
import { Family } from './family.ts'
import { forkJournal } from './fork.ts'
import { Journal } from './journal.ts'
import { leadingOf } from './leading.ts'
import { LogReader } from './log-reader.ts'
import { type RebuiltRequest, rebuildRequest } from './requests.ts'
import { keysOf, splitLeading } from './sync.ts'
import { estimateOf, readUsage } from './usage.ts'
import { buildView, type Epoch, entriesOf, toView, type View, type ViewOptions } from './viewing.ts'

export interface ThreadOptions {
  /** The thread's id. @default a new random one */
  readonly id?: string
  /** Whose thread it is; other tenants cannot see it. @default 'default' */
  readonly tenant?: string
  readonly store: Store
  /** @default the policy the log has, or none */
  readonly policy?: PolicyInput
  /** How tokens are counted: fixed when the thread begins. @default 'estimate' */
  readonly tokens?: TokensOption
  /** The clock. @default Date.now */
  readonly now?: () => number
  /** Called after each event; cannot change the outcome. */
  readonly on?: Listener
  /** Where lines for people go. @default nowhere */
  readonly log?: (line: string) => void
  /** Write a line for everything that changes a view. @default false */
  readonly verbose?: boolean
}

export interface SyncResult {
  /** The branch the history is on now. */
  readonly thread: string
  /** Messages that were already there. */
  readonly matched: number
  readonly appended: number
  readonly isForked: boolean
}

export class Thread {
  readonly #options: ThreadOptions
  readonly #family: Family
  #journal: Journal
  #policy: Policy
  #queue: Promise<unknown> = Promise.resolve()

  /** Use `openThread`. */
  constructor(options: ThreadOptions, journal: Journal) {
    this.#options = options
    this.#journal = journal
    this.#family = new Family(journal, this.#journalOptions())
    const logged = journal.setting('policy')?.value
    this.#policy = parsePolicy(options.policy ?? logged)
    assertAvailable(this.#policy)
  }

  /** The id of the branch that this object works on. `sync` may change it. */
  get id(): string {
    return this.#journal.key.thread
  }

  get tenant(): string {
    return this.#journal.key.tenant
  }

  get policy(): Policy {
    return this.#policy
  }

  /** Appends messages. One whose id is already in the log is skipped, so a retry appends nothing. */
  append(
    messages: readonly unknown[] | object,
    { format }: { readonly format?: FormatName } = {},
  ): Promise<readonly MessageEntry[]> {
    const list = Array.isArray(messages) ? messages : [messages]
    const decoded =
      format === undefined
        ? decodeNeutral(list, 'messages')
        : formatNamed(format).decode(list, 'messages')
    return this.#run(() => this.#appendDrafts(decoded.map(({ draft }) => draft)))
  }

  /** Takes a whole history as a client resends it: appends what is new; where it was edited, goes on in a fork. */
  sync(
    history: readonly unknown[],
    { format = 'openai-chat' }: { readonly format?: FormatName } = {},
  ): Promise<SyncResult> {
    const decoded = formatNamed(format).decode(history, 'history')
    const { leading, history: conversation } = splitLeading(decoded.map(({ draft }) => draft))
    const keys = keysOf(conversation)
    return this.#run(async () => {
      const { journal, matched, isForked } = await this.#family.place(keys)
      this.#journal = journal
      if (isForked) this.#emit('thread-forked', { message: 'A resent history was edited: forked.' })
      await this.#setLeading(leading)
      const appended = await this.#appendDrafts(conversation.slice(matched))
      return { thread: this.id, matched, appended: appended.length, isForked }
    })
  }

  /** What the model should see now, in a provider's format. Commits the policy's edits and a record of the request. */
  view<M = Json>(options: ViewOptions = {}): Promise<View<M>> {
    const { policy, dryRun = false, frame, budget } = options
    if (budget !== undefined && !(Number.isFinite(budget) && budget > 0)) {
      throw new OrielError('invalid-option', `budget must be above 0, got ${String(budget)}.`, {
        path: 'budget',
      })
    }
    const own = policy === undefined ? undefined : parsePolicy(policy)
    if (own !== undefined) assertAvailable(own)
    if (frame !== undefined) cloneJson(frame, 'frame')
    return this.#run(async () => {
      await this.#journal.refresh()
      // The view is in the format's own message type, which only the caller can name.
      return (await this.#view(options, own, dryRun)) as unknown as View<M>
    })
  }

  /** Reads an original by the id that a placeholder or the trace names. */
  expand(id: string, options: ExpandOptions = {}): Promise<Expansion> {
    return this.#run(async () => {
      await this.#journal.refresh()
      const found = this.#find(id)
      if (found === undefined) {
        return { ok: false, reason: `Not expanded: nothing here has the id ${id.slice(0, 40)}.` }
      }
      this.#emit('message-expanded', { id, message: `${id} was expanded.`, ...reasonOf(options) })
      return expandText(originalText(found.entry, found.block), options)
    })
  }

  /** Takes an edit, or all edits of an epoch, back; those forms stay forbidden for those blocks. */
  undo(id: string): Promise<void> {
    return this.#run(async () => {
      await this.#journal.refresh()
      const undone = await this.#journal.commit((state, stamp) => {
        const edits = [...state.liveEdits()].filter((edit) => edit.id === id || edit.epoch === id)
        return edits.map((edit) => stamp.entry({ type: 'undo', edit: edit.id }))
      })
      if (undone.length === 0) {
        throw new OrielError('cannot-undo', `No live edit has the id ${id.slice(0, 40)}.`)
      }
      this.#emit('edit-undone', { id, message: `${undone.length} edits were undone.` })
    })
  }

  /** Keeps a message verbatim in every view from now on. */
  pin(id: string, { pinned = true }: { readonly pinned?: boolean } = {}): Promise<void> {
    return this.#mark(id, pinned ? 'pin' : 'unpin')
  }

  /** Leaves a message out of every view; the log keeps it. */
  exclude(id: string, { excluded = true }: { readonly excluded?: boolean } = {}): Promise<void> {
    return this.#mark(id, excluded ? 'exclude' : 'include')
  }

  /** A new thread that begins with the first `atSeq` entries of this one. */
  fork(atSeq: number): Promise<Thread> {
    return this.#run(async () => {
      await this.#journal.refresh()
      const journal = await forkJournal(this.#journal, atSeq, this.#journalOptions())
      this.#emit('thread-forked', { id: journal.key.thread, message: `Forked at ${atSeq}.` })
      return new Thread({ ...this.#options, policy: this.#policy }, journal)
    })
  }

  /** Changes the policy for future views; what was decided before stays. */
  setPolicy(policy: PolicyInput): Promise<void> {
    const parsed = parsePolicy(policy)
    assertAvailable(parsed)
    return this.#run(async () => {
      this.#policy = parsed
      await this.#commitPolicy()
    })
  }

  /** What was sent at a step, rebuilt from the log, and what changed against the step before. */
  requestAt(step: number): Promise<RebuiltRequest> {
    return this.#run(() => rebuildRequest(this.#journal, this.#options.tokens, step))
  }

  /** Records the provider's own numbers for a view. */
  usage(sample: object, viewId: string): Promise<void> {
    const usage = readUsage(sample)
    return this.#run(async () => {
      await this.#journal.commit((_, stamp) => [
        stamp.entry({ type: 'usage', view: viewId, sample: { ...usage } }),
      ])
    })
  }

  /** Tokens of the next request: the provider's own number for the newest view plus what came after, else an estimate. */
  estimate(): number {
    return estimateOf(this.#journal)
  }

  /** The whole log: iterate it, or await it for an array. */
  log(): LogReader {
    return new LogReader(() => this.#journal.store.read(this.#journal.key))
  }

  /** One operation after the other: a view sees every append that was asked for before it. */
  #run<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(task)
    this.#queue = result.catch(() => undefined)
    return result
  }

  async #appendDrafts(drafts: readonly Draft[]): Promise<readonly MessageEntry[]> {
    const entries = await this.#journal.commit((state, stamp) => {
      const seen = new Set<string>()
      const fresh = drafts.filter(({ id }) => {
        if (id === undefined) return true
        if (seen.has(id) || state.seqOf(id) !== undefined) return false
        seen.add(id)
        return true
      })
      return prepare(state, fresh, stamp.at)
    })
    for (const entry of entries) {
      this.#emit('message-added', {
        id: entry.id,
        index: this.#journal.state.item(entry.seq)?.index ?? 0,
        message: `A ${entry.role} message was added.`,
      })
    }
    return entries
  }

  async #view(options: ViewOptions, own: Policy | undefined, dryRun: boolean): Promise<View> {
    const before = this.#journal.state.visible.length
    const request = () => ({
      state: this.#journal.state,
      policy: own ?? this.#policy,
      isTemporary: own !== undefined,
      options,
      leading: leadingOf(this.#journal),
      now: (this.#options.now ?? Date.now)(),
    })
    let built = buildView(request())
    if (dryRun) return toView(request(), built, this.#epoch(0))
    await this.#commitPolicy()
    const entries = await this.#journal.commit((_, stamp) => {
      built = buildView(request())
      return entriesOf(request(), built, stamp, this.#journal)
    })
    const edits = entries.filter((entry): entry is EditEntry => entry.type === 'edit')
    this.#reportEdits(edits, before)
    return toView(request(), built, this.#epoch(edits.length))
  }

  #epoch(applied: number): Epoch {
    const cause = applied === 0 ? 'none' : 'policy'
    return { id: this.#journal.newestEpoch ?? '', applied, cause }
  }

  #reportEdits(edits: readonly EditEntry[], before: number): void {
    if (edits.length === 0) return
    const saved = edits.reduce((sum, edit) => sum + edit.tokensBefore - edit.tokensAfter, 0)
    for (const edit of edits) {
      const type = edit.form === 'dropped' ? 'message-removed' : 'message-compacted'
      this.#emit(type, {
        id: edit.id,
        message: `${edit.rule}: ${edit.form}`,
        reason: edit.reason,
        tokensSaved: edit.tokensBefore - edit.tokensAfter,
        canExpand: true,
      })
    }
    const id = (edits[0] as EditEntry).epoch
    this.#emit('epoch-applied', {
      id,
      message: `${edits.length} edits applied.`,
      tokensSaved: saved,
    })
    const after = this.#journal.state.visible.length
    if (this.#options.verbose === true && after < before) {
      this.#options.log?.(`[History] Trimmed messages from ${before} to ${after}`)
    }
  }

  async #commitPolicy(): Promise<void> {
    const value = this.#policy as JsonObject
    const logged = this.#journal.setting('policy')?.value
    if (equalJson(logged ?? {}, value)) return
    await this.#journal.commit((_, stamp) => [
      stamp.entry({ type: 'setting', name: 'policy', value }),
    ])
    if (logged !== undefined) this.#emit('policy-changed', { message: 'The policy changed.' })
  }

  async #setLeading(leading: readonly Draft[]): Promise<void> {
    // A history without a system message says nothing about it: formats that keep it elsewhere never send one.
    if (leading.length === 0) return
    const value = cloneJson(leading, 'history') as readonly Json[]
    if (equalJson(this.#journal.setting('leading')?.value, value)) return
    await this.#journal.commit((_, stamp) => [
      stamp.entry({ type: 'setting', name: 'leading', value }),
    ])
  }

  #mark(id: string, mark: MarkEntry['mark']): Promise<void> {
    return this.#run(async () => {
      await this.#journal.refresh()
      const found = this.#find(id)
      if (found === undefined) {
        throw new OrielError('not-found', `Nothing in this thread has the id ${id.slice(0, 40)}.`)
      }
      const target = found.entry.seq
      await this.#journal.commit((_, stamp) => [stamp.entry({ type: 'mark', mark, target })])
    })
  }

  /** A message by its own id, by a block's, or by the caller's. */
  #find(id: string): { readonly entry: MessageEntry; readonly block?: number } | undefined {
    const { state } = this.#journal
    const seq = state.seqOf(id)
    const place = seq === undefined ? parseId(state.salt, id) : { seq, block: undefined }
    const item = place === undefined ? undefined : state.item(place.seq)
    if (item === undefined || place === undefined) return undefined
    const isWhole = place.block === undefined || item.entry.blocks.length <= 1
    return isWhole ? { entry: item.entry } : { entry: item.entry, block: place.block as number }
  }

  #emit(type: EventType, fields: Omit<ThreadEvent, 'type' | 'thread' | 'turn' | 'step'>): void {
    const { turn, step } = this.#journal.state
    const event: ThreadEvent = { type, thread: this.id, turn, step, ...fields }
    notify(this.#options.on, event, (line) => this.#options.log?.(line))
  }

  #journalOptions(): { tokens: TokensOption | undefined; now: () => number } {
    return { tokens: this.#options.tokens, now: this.#options.now ?? Date.now }
  }
}

/** Opens a thread, or begins one: nothing is written before the first append. */
export async function openThread(options: ThreadOptions): Promise<Thread> {
  const { id = randomUUID(), tenant = 'default', store, tokens, now = Date.now } = options
  const journal = await Journal.open({ store, key: { tenant, thread: id }, tokens, now })
  return new Thread(options, journal)
}

function reasonOf(options: ExpandOptions): { reason?: string } {
  return options.reason === undefined ? {} : { reason: options.reason }
}
