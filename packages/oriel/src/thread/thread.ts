// The public object: one conversation, its log and its policy.

import { randomUUID } from 'node:crypto'
import type { EditEntry, Entry, Message, MessageEntry } from '../core/log/entry.ts'
import { wrongOption } from '../core/log/errors.ts'
import { cloneJson, copyPlain, type Json } from '../core/log/json.ts'
import { assertOptions, type OptionNames } from '../core/log/options.ts'
import { settings } from '../core/log/settings.ts'
import { type Policy, type PolicyInput, parsePolicy } from '../policy/schema.ts'
import { assertTogether } from '../propose.ts'
import type { FormatName } from '../providers/format.ts'
import type { MessageOf } from '../providers/message-types.ts'
import type { CustomRule } from '../rules/custom.ts'
import type { StoredSettings } from '../stores/agent-settings.ts'
import type { ReadOptions } from '../stores/store.ts'
import { type Rehearsal, type ThreadAction, undoEdits } from './actions.ts'
import { type AppendOptions, decodeDrafts } from './append.ts'
import { codeOf } from './background.ts'
import { type Branch, Conversation, type HistoryMatch } from './branches/conversation.ts'
import { noteResent } from './branches/places.ts'
import { asRead, type ReadHistory } from './branches/read-history.ts'
import { hiddenDrafts, type SyncCounts, saysOnly } from './branches/sync.ts'
import type { EngineOptions, ThreadEngine } from './engine.ts'
import { eventOf, notify } from './events.ts'
import type { ExpandOptions, Expansion } from './expand/expand.ts'
import { type HintsAnswer, hintsOf } from './expand/hints.ts'
import { expandMessage } from './expand/show-again.ts'
import { Journal, type JournalOptions } from './journal/journal.ts'
import { tokensSaved } from './lifecycle.ts'
import { recallBounds } from './memory/recall.ts'
import {
  type AnyThreadOptions,
  assertId,
  assertThreadOptions,
  type CompactOptions,
  givenBy,
  linesOf,
  readCompactOptions,
  type ThreadOptions,
} from './options.ts'
import { Queue } from './queue.ts'
import { previewView, readViewOptions, requestView, type Synced, syncHistory } from './request.ts'
import { type SearchOptions, type SearchResult, searchJournal } from './search/search.ts'
import type { ShownTools } from './tools/deferral.ts'
import type { Accuracy } from './view/calibration.ts'
import { type Explanation, explainBlock } from './view/explain.ts'
import { readUsage } from './view/read-usage.ts'
import { type ReadMessage, readMessages } from './view/reading.ts'
import { type RebuiltRequest, rebuildRequest } from './view/rebuild.ts'
import { accuracy, estimateOf } from './view/usage.ts'
import type { RequestOptions, View, ViewOptions } from './view/view.ts'

export type { ThreadOptions }

/** A thread whatever data its host keeps with messages. */
export type AnyThread = Thread<unknown>

/** What became of a resent history, and where it continues. */
export interface SyncResult<Meta = Json> extends SyncCounts {
  /** The branch as a thread of its own, which no other object's `sync` moves. It shares the queue and the logs of this one. */
  readonly branch: Thread<Meta>
}

interface FormatOptions {
  /** The messages' format. @default the one that they show */
  readonly format?: FormatName
}
const formatOptions: OptionNames<FormatOptions> = { format: true }
const readOptions: OptionNames<ReadOptions> = { from: true, to: true }
const appendOptions: OptionNames<AppendOptions> = {
  format: true,
  ownFields: true,
  expected: true,
  resentAs: true,
  isPaused: true,
  usage: true,
}

/**
 * A thread of a conversation. Operations on a conversation run in the order they were called, whichever of its branches they are for.
 * Every write is one compare-and-append: other objects and processes may write to the same thread. An operation that fails changes
 * nothing. Each branch is an object with an id that never changes; this one stands on a branch, and its own `sync` and `request` continue
 * to the one that a history continues. `Meta` is the type of the data that you keep with messages, `Own` are the rules of your own that
 * its policy may name.
 */
export class Thread<Meta = Json, Own extends readonly CustomRule[] = readonly []> {
  readonly #conversation: Conversation
  #branch: Branch
  /** The task of `exclusive` that this object was made for: until it ends, operations wait for no others than its own. */
  readonly #task: ExclusiveTask | undefined

  /** Use `openThread`. */
  constructor({ conversation, branch, task }: ThreadParts) {
    this.#conversation = conversation
    this.#branch = branch
    this.#task = task
  }

  /** The id of the branch that this object stands on. Only its own `sync` and `request` change it. */
  get id(): string {
    return this.#journal.key.thread
  }

  get tenant(): string {
    return this.#journal.key.tenant
  }

  /** The model call that comes next, from 1. */
  get step(): number {
    return this.#journal.state.step
  }

  /** Whether nothing was ever written to it. */
  get isEmpty(): boolean {
    return this.#journal.state.version === 0
  }

  /** The name under which its requests carry the expand tool; undefined before the first one does. */
  get expandTool(): string | undefined {
    return this.#journal.setting(settings.expandTool)
  }

  /** The tool definitions that its requests carry where most are deferred; undefined before the first one is. */
  get shownTools(): ShownTools | undefined {
    return this.#journal.setting(settings.shownTools)
  }

  /** Remembers which tool definitions the thread's requests carry: in its log, so that the list begins the same from then on. */
  async showTools({ find, names }: ShownTools): Promise<void> {
    const value = { find: String(find), names: names.map(String) }
    return this.#run(() => this.#engine.set(settings.shownTools, value))
  }

  /** The policy in force. */
  get policy(): Policy {
    return this.#engine.policy
  }

  /**
   * Appends messages. One whose id is already in the log is skipped, so a retry appends nothing. With `usage`, the provider's numbers
   * for the view that they answer are written with them, in one append.
   */
  append(
    messages: Message<Meta> | readonly Message<Meta>[],
    options?: AppendOptions,
  ): Promise<readonly MessageEntry<Meta>[]>
  append(
    messages: readonly unknown[] | object,
    options?: AppendOptions,
  ): Promise<readonly MessageEntry<Meta>[]>
  async append(
    messages: readonly unknown[] | object,
    options: AppendOptions = {},
  ): Promise<readonly MessageEntry<Meta>[]> {
    assertOptions(options, appendOptions, 'append')
    const { format, ownFields, usage, resentAs, expected, isPaused } = options
    if (usage !== undefined) assertOptions(usage, { sample: true, view: true }, 'append', 'usage')
    const list = Array.isArray(messages) ? messages : [messages]
    const own = decodeDrafts(list, { format, ownFields, path: 'messages' })
    const drafts =
      resentAs === undefined
        ? own
        : hiddenDrafts(own, decodeDrafts(resentAs, { format, ownFields, path: 'resentAs' }))
    const numbers = usage && { sample: readUsage(usage.sample), view: usage.view }
    return this.#run(async () => {
      const entries = await this.#engine.append(drafts, { expected, isPaused, usage: numbers })
      // The host's own data is stored and never read: it has the type that the host gave it.
      return copyPlain(entries) as unknown as readonly MessageEntry<Meta>[]
    })
  }

  /** Takes a whole history as a client resends it: appends what is new; where it was edited, continues in a fork. */
  async sync(
    history: readonly unknown[] | ReadHistory,
    options: FormatOptions = {},
  ): Promise<SyncResult<Meta>> {
    assertOptions(options, formatOptions, 'sync')
    const { format } = options
    const incoming = asRead(history, format)
    return this.#run(async () =>
      this.#follow(await syncHistory(this.#conversation, this.#branch, incoming)),
    )
  }

  /** `sync` and `view` as one: what is new and the record of the request are written together, in one append. */
  request<Format extends FormatName = 'openai-chat'>(
    history: readonly unknown[] | ReadHistory,
    options?: RequestOptions<Own> & { readonly format?: Format },
  ): Promise<SyncResult<Meta> & { readonly view: View<MessageOf<Format>> }>
  request<M>(
    history: readonly unknown[] | ReadHistory,
    options?: RequestOptions<Own>,
  ): Promise<SyncResult<Meta> & { readonly view: View<M> }>
  async request(
    history: readonly unknown[] | ReadHistory,
    options: RequestOptions<Own> = {},
  ): Promise<SyncResult<Meta> & { readonly view: View<unknown> }> {
    const own = readViewOptions(options, this.#rules, 'request')
    const incoming = asRead(history, options.format)
    return this.#run(async () => {
      const asked = { incoming, options, own }
      const made = await requestView(this.#conversation, this.#branch, asked)
      // The messages are of the format's own type, which only the caller can name.
      return this.#follow(made) as unknown as SyncResult<Meta> & { readonly view: View<unknown> }
    })
  }

  /**
   * What `request` would show for a history, and where it would go. Nothing is written, to the log or to files, and no model is asked: a
   * view that would wait for one is shown as if it had failed. Takes no copy of the messages, except where the history would begin a fork.
   */
  async preview<M = Json>(
    history: readonly unknown[] | ReadHistory,
    options: Omit<RequestOptions<Own>, 'dryRun' | 'durable'> = {},
  ): Promise<HistoryMatch & { readonly view: View<M> }> {
    const own = readViewOptions(options, this.#rules, 'preview')
    const incoming = asRead(history, options.format)
    return this.#run(async () => {
      const asked = { incoming, options: { ...options, dryRun: true }, own }
      const shown = await previewView(this.#conversation, this.#branch, asked)
      // The messages are of the format's own type, which only the caller can name.
      return shown as unknown as HistoryMatch & { readonly view: View<M> }
    })
  }

  /** How a resent history meets this thread and its forks, without writing anything. */
  async match(
    history: readonly unknown[] | ReadHistory,
    options: FormatOptions = {},
  ): Promise<HistoryMatch> {
    assertOptions(options, formatOptions, 'match')
    const { format } = options
    const { parts } = asRead(history, format)
    return this.#run(() => this.#conversation.match(this.#branch, parts.sent))
  }

  /**
   * Whether all that was said behind an entry is these messages, as after a request that was never answered. Answers where they end.
   * @internal
   */
  async endsWith(
    history: ReadHistory,
    { after }: { readonly after: number },
  ): Promise<{ readonly seq: number; readonly messages: number } | undefined> {
    return this.#run(async () => {
      await this.#journal.refresh()
      const { state } = this.#journal
      const said = state.visibleFrom(state.positionOf(after + 1)).map(({ entry }) => entry)
      return saysOnly(said, history.parts.sent)
        ? { seq: state.version, messages: state.messageCount }
        : undefined
    })
  }

  /** What the model should see now, in a provider's format. Commits the policy's edits and a record of the request. */
  view<Format extends FormatName = 'openai-chat'>(
    options?: ViewOptions<Own> & { readonly format?: Format },
  ): Promise<View<MessageOf<Format>>>
  /** The messages are of the type that you name, such as that of a provider's SDK. */
  view<M>(options?: ViewOptions<Own>): Promise<View<M>>
  async view(options: ViewOptions<Own> = {}): Promise<View<unknown>> {
    const own = readViewOptions(options, this.#rules, 'view')
    return this.#run(async () => {
      await this.#journal.refresh()
      // The messages are of the format's own type, which only the caller can name.
      return (await this.#engine.view(options, own)) as unknown as View<unknown>
    })
  }

  /**
   * Makes a checkpoint now: everything but the newest messages gives way to one summary. `instructions` tell the summarizer what
   * matters; without one, or when it fails, Oriel's own digest is used. Nothing happens where nothing can give way.
   */
  async compact(options: CompactOptions = {}): Promise<{ readonly tokensSaved: number }> {
    return this.#engine.compact(readCompactOptions(options), (task) => this.#run(task))
  }

  /**
   * A smaller view after the provider refused the last one as too long: a checkpoint is made, and what remains is fitted. Needs no
   * model and always makes progress, once for a request; else it rejects with 'cannot-project'. Rejects with 'invalid-option' for any
   * other error: a rate limit is not cured by forgetting.
   */
  recover<Format extends FormatName = 'openai-chat'>(
    error: unknown,
    options?: ViewOptions<Own> & { readonly format?: Format },
  ): Promise<View<MessageOf<Format>>>
  recover<M>(error: unknown, options?: ViewOptions<Own>): Promise<View<M>>
  async recover(error: unknown, options: ViewOptions<Own> = {}): Promise<View<unknown>> {
    const own = readViewOptions(options, this.#rules, 'recover')
    return this.#run(
      async () => (await this.#engine.recover(error, options, own)) as unknown as View<unknown>,
    )
  }

  /**
   * Reads an original by the id that a placeholder or the trace names, or by its position in the newest view. With `inPlace` it is also
   * shown where it was, for `steps` requests.
   */
  async expand(id: string | number, options: ExpandOptions = {}): Promise<Expansion> {
    return this.#run(() => expandMessage(this.#engine, id, options))
  }

  /** What an original holds, without showing it: a summary, its size, its items and keys. */
  hints(id: string | number): Promise<HintsAnswer> {
    return this.#run(() => hintsOf(this.#engine, id))
  }

  /**
   * The messages that answer a query best, over originals: also those that are shortened, folded or left out now. Ranked by the words
   * that they share with it, and by their meaning where `embed` is given. Waits for no other operation on the thread.
   */
  async search(query: string, options: SearchOptions = {}): Promise<readonly SearchResult[]> {
    const { journal, isShown } = await this.#run(async () => {
      await this.#journal.refresh()
      return { journal: this.#journal, isShown: this.#engine.shownNow() }
    })
    return searchJournal(journal, query, options, isShown)
  }

  /** Messages in their original words, as a model may read them: without what is for people only or was not preserved. */
  async *read(options: ReadOptions = {}): AsyncGenerator<ReadMessage> {
    assertOptions(options, readOptions, 'read')
    await this.#run(() => this.#journal.refresh())
    yield* readMessages(this.#journal, options)
  }

  /**
   * Takes an edit back by its id, all edits of an epoch by its id, or, by the id that the trace names, the edit that changed that block;
   * those forms stay forbidden for those blocks.
   */
  undo(id: string): Promise<void> {
    return this.#run(async () => {
      assertId(id)
      await this.#journal.refresh()
      await this.#journal.complete()
      const count = await undoEdits(this.#journal, id)
      this.#engine.emit('edit-undone', { id, message: `${count} edits were undone.` })
    })
  }

  /**
   * The next view as it is, and as an action on a block would make it: what undoing, expanding in place or a mark costs, before it is done.
   * Nothing is written and no model is asked. An action that would be refused answers why.
   */
  rehearse(action: ThreadAction, options: ViewOptions = {}): Promise<Rehearsal> {
    const own = readViewOptions(options, this.#rules, 'view')
    return this.#run(async () => {
      assertId(action.id)
      await this.#journal.refresh()
      await this.#journal.complete()
      return this.#engine.rehearse(action, options, own)
    })
  }

  /** The live edits, oldest first: what `undo` can take back, with rule, reason and tokens. */
  edits(): Promise<readonly EditEntry[]> {
    return this.#run(async () => {
      await this.#journal.refresh()
      return [...this.#journal.state.liveEdits()]
    })
  }

  /**
   * Why a message or block looks as it does in views now, by the id that the trace or a placeholder names: its form, and every live edit
   * that acts on it. Rejects with 'not-found' for an id that is not in this thread.
   */
  explain(id: string): Promise<Explanation> {
    return this.#run(async () => {
      assertId(id)
      await this.#journal.refresh()
      await this.#journal.complete()
      return explainBlock(this.#journal.state, id)
    })
  }

  /** Keeps a message verbatim in every view from now on. */
  async pin(id: string, options: { readonly pinned?: boolean } = {}): Promise<void> {
    assertOptions(options, { pinned: true }, 'pin')
    const { pinned = true } = options
    return this.#run(() => this.#engine.mark(id, pinned ? 'pin' : 'unpin'))
  }

  /** Leaves a message out of every view; the log keeps it. */
  async exclude(id: string, options: { readonly excluded?: boolean } = {}): Promise<void> {
    assertOptions(options, { excluded: true }, 'exclude')
    const { excluded = true } = options
    return this.#run(() => this.#engine.mark(id, excluded ? 'exclude' : 'include'))
  }

  /** A new branch that begins with the first `atSeq` entries of this one. This object stays where it is. */
  fork(atSeq: number): Promise<Thread<Meta, Own>> {
    return this.#run(async () => {
      await this.#journal.refresh()
      const branch = await this.#conversation.fork(this.#branch, atSeq)
      const id = branch.journal.key.thread
      this.#engine.emit('thread-forked', { id, message: `Forked at ${atSeq}.` })
      return this.#on(branch)
    })
  }

  /** Changes the policy for future views; what was decided before stays. */
  async setPolicy(policy: PolicyInput<Own>): Promise<void> {
    const parsed = parsePolicy(policy, 'policy', this.#rules)
    assertTogether(parsed)
    return this.#run(async () => {
      await this.#journal.refresh()
      await this.#engine.setPolicy(parsed)
    })
  }

  /** What the host keeps with the thread under a name; undefined for nothing. */
  setting(name: string): Json | undefined {
    return copyPlain(this.#journal.setting(settings.host.at(name)))
  }

  /** Keeps something of the host's with the thread: in its log, so that restarts, other processes and forks know it. Never shown. */
  async set(name: string, value: Json): Promise<void> {
    if (typeof name !== 'string') throw wrongOption('name', 'a text')
    const own = cloneJson(value, 'value')
    return this.#run(() => this.#engine.set(settings.host.at(name), own))
  }

  /** What was sent at a step, rebuilt from the log, and what changed against the step before. */
  async requestAt(step: number): Promise<RebuiltRequest> {
    // It reads the store alone: once its turn has come, nobody need wait for it.
    const journal = await this.#run(async () => this.#journal)
    return rebuildRequest(journal, step, this.#rules)
  }

  /** Records the provider's own numbers for a view. */
  async usage(sample: object, viewId: string): Promise<void> {
    const usage = readUsage(sample)
    return this.#run(() => this.#engine.recordUsage(usage, viewId))
  }

  /** Tokens of the next request: the provider's own number for the newest view plus what came after, else an estimate. */
  estimate(): number {
    return estimateOf(this.#journal)
  }

  /** Tokens that the edits in force keep out of a view, in all. */
  get tokensSaved(): number {
    return tokensSaved(this.#journal.state)
  }

  /** What estimates are multiplied by, learned from `usage` for the newest model, and how far off they are. */
  get accuracy(): Accuracy {
    return accuracy(this.#journal)
  }

  /** The whole log: iterate it, or await it for an array. */
  log(): LogReader<Meta> {
    return new LogReader<Meta>(() => this.#journal.store.read(this.#journal.key))
  }

  /** Resolves when everything asked for is done, snapshots included. Call it before closing the store, and in no task of `exclusive`. */
  settled(): Promise<void> {
    return this.#conversation.settled()
  }

  /**
   * Runs a task that no other operation on the conversation comes between. It gets this thread as an object of its own, to which the task
   * keeps: operations of any other object wait for the task to end.
   */
  async exclusive<T>(task: (thread: Thread<Meta, Own>) => Promise<T>): Promise<T> {
    if (typeof task !== 'function') throw wrongOption('task', 'a function')
    return this.#run(async () => {
      const running = { queue: new Queue(), isOver: false }
      const own = this.#on(this.#branch, running)
      try {
        const result = await task(own)
        this.#branch = own.#branch
        return result
      } finally {
        await running.queue.idle()
        running.isOver = true
      }
    })
  }

  /** Another branch of this conversation, by its id, as a thread of its own; undefined where there is none. */
  branch(id: string): Promise<Thread<Meta, Own> | undefined> {
    return this.#run(async () => {
      const branch = await this.#conversation.find(this.#branch, id)
      return branch && this.#on(branch)
    })
  }

  /** Whether this process has a branch of the conversation in memory. */
  hasOpen(id: string): boolean {
    return this.#conversation.has(id)
  }

  #run<T>(task: () => Promise<T>): Promise<T> {
    const isInside = this.#task?.isOver === false
    return isInside ? this.#task.queue.run(task) : this.#conversation.run(task)
  }

  /** Continues in the branch that a history led to. */
  #follow<T extends Synced>({
    branch,
    resent,
    ...rest
  }: T): Omit<T, 'branch' | 'resent'> & SyncResult<Meta> {
    this.#branch = branch
    const result = { ...rest, branch: this.#on(branch) }
    noteResent(result, resent)
    return result
  }

  #on(branch: Branch, task = this.#task): Thread<Meta, Own> {
    return new Thread({ conversation: this.#conversation, branch, task })
  }

  get #engine(): ThreadEngine {
    return this.#branch.engine
  }

  get #journal(): Journal {
    return this.#branch.journal
  }

  get #rules(): readonly CustomRule[] {
    return this.#engine.rules
  }
}

interface ThreadParts {
  readonly conversation: Conversation
  readonly branch: Branch
  readonly task?: ExclusiveTask | undefined
}

/** A task of `exclusive`, with a queue for the operations that it asks for. */
interface ExclusiveTask {
  readonly queue: Queue
  readonly isOver: boolean
}

/** A thread over a log that was just opened: a conversation of its own. */
export function threadOver<Own extends readonly CustomRule[] = readonly []>(
  options: AnyThreadOptions,
  log: Journal,
  stored?: StoredSettings,
): Thread<Json, Own> {
  const { policy, rules } = options
  const own = policy === undefined ? undefined : parsePolicy(policy, 'policy', rules)
  const conversation = new Conversation({
    engine: engineOptions(options),
    journal: journalOptions(options),
  })
  const branch = conversation.add(log)
  if (own !== undefined) branch.engine.adopt(own)
  if (stored !== undefined) branch.engine.takeStored(stored)
  assertTogether(branch.engine.policy)
  return new Thread({ conversation, branch })
}

function engineOptions(options: AnyThreadOptions): EngineOptions {
  const { now = Date.now, on, plugins = [], prices } = options
  const { summarize, summarizeWindow, summarizeTimeoutMs } = options
  const summarizing = { summarize, summarizeWindow, summarizeTimeoutMs }
  const { judge, ...given } = givenBy(options)
  const recall = recallBounds(options.recall)
  return { now, on, ...summarizing, prices, plugins, recall, given, judge, ...linesOf(options) }
}

/**
 * Opens a thread, or begins one: nothing is written before the first append. `openThread<Meta>()` types the data that you keep with
 * messages, from `append` to the log and events.
 */
export async function openThread<
  Meta = Json,
  const Own extends readonly CustomRule[] = readonly [],
>(options: ThreadOptions<Own, Meta>): Promise<Thread<Meta, Own>> {
  // The type of the host's own data is known to the host alone.
  const own = options as unknown as ThreadOptions<Own>
  assertThreadOptions(own)
  const { id = randomUUID(), tenant = 'default', store, agent, isNew = own.id === undefined } = own
  const around = { ...journalOptions(own), store, key: { tenant, thread: id } }
  const journal = isNew ? Journal.begin(around) : await Journal.open(around)
  const stored = agent === undefined ? undefined : await store.settings.read({ tenant, agent })
  return threadOver(own, journal, stored) as unknown as Thread<Meta, Own>
}

function journalOptions(options: AnyThreadOptions): Omit<JournalOptions, 'key' | 'store'> {
  const { tokens, scope, now = Date.now, snapshotEvery } = options
  const { log } = linesOf(options)
  const message = 'A snapshot could not be saved; the log is unaffected.'
  const onSnapshotFailed = (error: unknown, { key, state }: Journal): void => {
    const report = (line: string): void => log?.(line)
    report(`[Oriel] ${message}`)
    const place = { thread: key.thread, userTurn: state.turn, step: state.step }
    const failure = { id: 'snapshot', message, error: codeOf(error) }
    notify(options.on, eventOf('job-failed', place, failure), report)
  }
  return { tokens, scope, now, snapshotEvery, onSnapshotFailed }
}

/** Streams entries when iterated with `for await`; gives all of them when awaited. */
export class LogReader<Meta = Json>
  implements AsyncIterable<Entry<Meta>>, PromiseLike<Entry<Meta>[]>
{
  readonly #open: () => AsyncIterable<Entry>

  constructor(open: () => AsyncIterable<Entry>) {
    this.#open = open
  }

  [Symbol.asyncIterator](): AsyncIterator<Entry<Meta>> {
    // What the store holds is what was appended.
    return this.#open()[Symbol.asyncIterator]() as AsyncIterator<Entry<Meta>>
  }

  // biome-ignore lint/suspicious/noThenProperty: awaiting the log for an array is the point.
  then<A = Entry<Meta>[], B = never>(
    onFulfilled?: ((entries: Entry<Meta>[]) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): PromiseLike<A | B> {
    return this.#all().then(onFulfilled, onRejected)
  }

  async #all(): Promise<Entry<Meta>[]> {
    const entries: Entry<Meta>[] = []
    for await (const entry of this) entries.push(entry)
    return entries
  }
}
