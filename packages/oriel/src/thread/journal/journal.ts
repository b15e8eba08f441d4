// A thread's log in its store, and the state folded from it. Every write is one compare-and-append.

import { hash, randomBytes } from 'node:crypto'
import type {
  Entry,
  EntryId,
  MessageEntry,
  SettingEntry,
  UsageEntry,
} from '../../core/log/entry.ts'
import { assert, OrielError } from '../../core/log/errors.ts'
import { entryId } from '../../core/log/ids.ts'
import type { Scope } from '../../core/log/scope.ts'
import {
  type Header,
  headerOf,
  headerVersion,
  type Setting,
  settings,
} from '../../core/log/settings.ts'
import { State, type TokenCounts } from '../../core/state/state.ts'
import type { Counter } from '../../core/tokens/counter.ts'
import { resolveCounter, type TokensOption } from '../../counters.ts'
import type { Store, ThreadKey, WriteOptions } from '../../stores/store.ts'
import { threadNotFound } from '../../stores/stored/errors.ts'
import { inBackground } from '../background.ts'
import { KeyIndex } from '../branches/sync.ts'
import { isPlausible, learn } from '../view/calibration.ts'
import { withRequest, withUsage } from '../view/lanes.ts'
import { inputTokens } from '../view/read-usage.ts'
import { Batch, type BatchHost, type Build } from './batch.ts'
import {
  type JournalFacts,
  type LoadedSnapshot,
  loadSnapshot,
  type SnapshotValue,
  saveSnapshot,
} from './snapshot.ts'

/** How often a writer that loses races tries again before it says so. */
const maxAttempts = 50

/** A tail of this length is read in a few milliseconds. */
const defaultSnapshotEvery = 256

/** The part of a long log that may lie behind its snapshot, and is read when it is opened. Writing a snapshot costs a little for each entry. */
const tailShare = 1 / 64

export interface JournalOptions {
  readonly store: Store
  readonly key: ThreadKey
  readonly tokens: TokensOption | undefined
  /** The scope that a new thread begins in. One that is there keeps its own. @default none */
  readonly scope?: Scope | undefined
  readonly now: () => number
  /** Entries between two snapshots, at least; 0 = never. @default 256 */
  readonly snapshotEvery?: number | undefined
  /** Called when a snapshot could not be saved: the log is unaffected. */
  readonly onSnapshotFailed?: (error: unknown, journal: Journal) => void
}

/** An entry without what the log itself gives it. */
export type EntryBody<E extends Entry = Entry> = E extends Entry
  ? Omit<E, 'id' | 'seq' | 'at'>
  : never

/** Numbers entries that are about to be appended. */
export interface Stamp {
  readonly at: number
  entry(body: EntryBody): Entry
  /** Leaves room for an entry that was numbered elsewhere. */
  skip(): void
}

export class Journal {
  readonly key: ThreadKey
  readonly store: Store
  readonly #options: JournalOptions
  readonly #counter: Counter
  #state: State
  #header: Header
  #facts: JournalFacts = { settings: [], newestChange: 0, lastAt: 0 }
  readonly #settings = new Map<string, SettingEntry>()
  #settingNames: string[] = []
  #keys: KeyIndex | undefined
  #snapshotVersion = 0
  /** The batch that is open. */
  #batch: Batch | undefined
  /** The log's length before a batch that was dropped, whose entries the state still has. */
  #reloadFrom: number | undefined
  /** Whether an append failed with an open outcome, and none was acknowledged since. */
  #isInDoubt = false
  /** Whether it is a copy in memory: it is never read from the store again, and never written. */
  #isCopy = false
  /** What was committed to a copy. */
  readonly #rehearsed: Entry[] = []
  #saving: Promise<void> = Promise.resolve()

  private constructor(options: JournalOptions, header: Header, loaded?: LoadedSnapshot) {
    this.key = options.key
    this.store = options.store
    this.#options = options
    this.#header = header
    this.#counter = counterOf(header, options.tokens)
    const stateOptions = { counter: this.#counter, salt: header.salt }
    if (loaded === undefined) {
      this.#state = new State(stateOptions)
      return
    }
    const { state, facts, keys } = loaded.value
    this.#state = new State(stateOptions, state, loaded.messages)
    this.#facts = facts
    for (const setting of facts.settings) this.#keepSetting(setting)
    if (keys !== undefined) this.#keys = new KeyIndex(keys, state.version)
    this.#snapshotVersion = state.version
  }

  /** Opens a thread's log from its snapshot and tail; an absent thread is empty and begins with its first append. */
  static async open(options: JournalOptions, parent?: Header): Promise<Journal> {
    const { store, key } = options
    const header = await readHeader(store, key)
    if (header === undefined) return Journal.begin(options, parent)
    const isOff = options.snapshotEvery === 0
    const loaded = isOff ? undefined : await loadSnapshot(store, key)
    const journal = new Journal(options, header, loaded)
    await journal.refresh()
    return journal
  }

  /** The log of a thread that the store does not have. Where it has it after all, the first append notices. */
  static begin(options: JournalOptions, parent?: Header): Journal {
    const { key, tokens, scope } = options
    const { name } = resolveCounter(tokens)
    const own = { salt: saltOf(key), tokens: name, version: headerVersion }
    const header = parent ?? (scope === undefined ? own : { ...own, scope: { ...scope } })
    return new Journal(options, header)
  }

  /** The same log as it was when it had `version` entries. Reads it from the store. */
  static async until(journal: Journal, version: number): Promise<Journal> {
    const past = Journal.emptyCopyOf(journal)
    for await (const entry of journal.store.read(journal.key, { to: version })) past.#take(entry)
    return past
  }

  /**
   * The same log in memory before its first entry: `advance` folds entries that somebody has. `counts` are tokens of messages that were
   * counted before.
   */
  static emptyCopyOf(journal: Journal, counts?: TokenCounts): Journal {
    const past = new Journal(journal.#options, journal.#header)
    if (counts !== undefined) {
      past.#state = new State({ counter: past.#counter, salt: past.#header.salt, counts })
    }
    past.#isCopy = true
    return past
  }

  /** Folds the next entries of the log into a copy in memory. */
  advance(entries: Iterable<Entry>): void {
    assert(this.#isCopy, 'only a copy is given its entries')
    for (const entry of entries) this.#take(entry)
  }

  /**
   * The same log in memory, for a rehearsal: it shares the messages, and what is committed to it is never written. `build` makes the
   * first entries of its own.
   */
  static copyOf(journal: Journal, build?: Build<Entry>): Journal {
    const copy = new Journal(journal.#options, journal.#header)
    copy.#state = journal.#state.copy()
    copy.#facts = journal.#facts
    for (const setting of journal.#settings.values()) copy.#keepSetting(setting)
    copy.#isCopy = true
    if (build !== undefined) copy.#commitInMemory(build)
    return copy
  }

  /** The log folded so far. */
  get state(): State {
    return this.#state
  }

  get header(): Header {
    return this.#header
  }

  /** The newest value of a setting. Throws 'corrupt-entry' where it does not fit. */
  setting<T>(setting: Setting<T>): T | undefined {
    const entry = this.#settings.get(setting.name)
    return entry === undefined ? undefined : setting.read(entry)
  }

  /** Names of all settings that the log holds, in the order they first came. */
  get settingNames(): readonly string[] {
    return this.#settingNames
  }

  /** The newest record of a request, the newest usage and epoch, and where the view last changed. */
  get facts(): JournalFacts {
    return this.#facts
  }

  /** The keys of all messages. After a snapshot without them, the log is read once. */
  async keys(): Promise<KeyIndex> {
    if (this.#keys === undefined) await this.complete()
    return this.knownKeys ?? new KeyIndex()
  }

  /** The same, as far as nothing must be read for them. */
  get knownKeys(): KeyIndex | undefined {
    if (this.#keys === undefined && !this.#state.isPartial) this.#keys = new KeyIndex()
    this.#keys?.update(this.#state)
    return this.#keys
  }

  /** One message, also where the state no longer holds it. */
  async message(seq: number): Promise<MessageEntry | undefined> {
    const known = this.#state.item(seq)?.entry
    if (known !== undefined || !this.#state.isPartial) return known
    for await (const entry of this.store.read(this.key, { from: seq, to: seq })) {
      if (entry.type === 'message') return entry
    }
    return undefined
  }

  /** The seq of the message with a caller's id. */
  async seqOf(externalId: string): Promise<number | undefined> {
    const known = this.#state.seqOf(externalId)
    if (known !== undefined || !this.#state.isPartial) return known
    return this.store.findExternalId(this.key, externalId)
  }

  /** Makes the state whole where it began from a snapshot: needed before something that was dropped comes back. */
  async complete(): Promise<void> {
    if (!this.#state.isPartial) return
    const staged = this.#isCopy ? this.#rehearsed : (this.#batch?.staged ?? [])
    const whole = await Journal.until(this, this.#state.version - staged.length)
    whole.#fold(staged)
    this.#state = whole.#state
  }

  /** Whether the state has entries of a batch that was dropped: `ready` reads it again from the store. */
  get isStale(): boolean {
    return this.#reloadFrom !== undefined
  }

  /** Reads the state again where a batch was dropped. */
  async ready(): Promise<void> {
    if (this.#reloadFrom !== undefined) await this.#reload(this.#reloadFrom)
  }

  /** Resolves when no snapshot is being saved. */
  settled(): Promise<void> {
    return this.#saving
  }

  /** Takes in what other writers appended since. Throws when the thread was erased: what is in memory must not be shown. */
  async refresh(): Promise<void> {
    if (this.#isCopy) return
    await this.ready()
    // Nobody else can have written between what is staged and what it builds on: the store will say so.
    if (this.#batch !== undefined && this.#batch.staged.length > 0) return
    const known = this.#state.version
    let isThere = known === 0
    // The newest known entry is read again: where it is gone, so is the thread.
    for await (const entry of this.store.read(this.key, { from: Math.max(1, known) })) {
      isThere = true
      if (entry.seq <= known) continue
      // Another writer may bring back what was dropped before the snapshot.
      if (entry.type === 'undo' || entry.type === 'mark') await this.complete()
      this.#take(entry)
    }
    if (!isThere) throw threadNotFound(this.key)
  }

  /**
   * Begins a batch; one at a time. What is committed to the journal while it is open goes into its append. `onWritten` is called when the
   * store has it.
   */
  async begin(onWritten?: () => void): Promise<Batch> {
    await this.ready()
    assert(this.#batch === undefined, 'a journal has one batch at a time')
    this.#batch = new Batch(this.#batchHost(), onWritten)
    return this.#batch
  }

  /**
   * Appends what `build` makes of the current state. When another writer was first, the log is read and `build` asked again. Nothing
   * changes when the store fails. With an open batch, both go into one append, which is not tried again: see `Batch.isLost`.
   */
  async commit<E extends Entry>(
    build: Build<E>,
    options: WriteOptions = {},
  ): Promise<readonly E[]> {
    if (this.#isCopy) return this.#commitInMemory(build)
    if (this.#batch !== undefined) return this.#batch.commit(build, options)
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const batch = await this.begin()
      try {
        return await batch.commit(build, options)
      } catch (error) {
        if (!batch.isLost) throw error
        await this.refresh()
      }
    }
    throw new OrielError(
      'version-conflict',
      `Thread ${this.key.thread} is written to so often that ${maxAttempts} attempts failed. Try again.`,
    )
  }

  #commitInMemory<E extends Entry>(build: Build<E>): readonly E[] {
    if (this.#state.version === 0) this.#take(this.#headerEntry())
    const entries = build(this.#state, this.#stamp())
    this.#fold(entries)
    this.#rehearsed.push(...entries)
    return entries
  }

  #batchHost(): BatchHost {
    let isWritten = false
    return {
      header: () => (this.#state.version === 0 ? this.#headerEntry() : undefined),
      make: (build) => {
        const by = nextWriter()
        const entries = build(this.#state, this.#stamp())
        // They were made for this append, and nobody else has them yet.
        for (const entry of entries) (entry as { by?: string }).by = by
        return entries
      },
      fold: (entries) => this.#fold(entries),
      append: async (entries, staged, options) => {
        const { durable = 'now' } = options
        try {
          await this.store.append(this.key, entries, this.#state.version - staged, { durable })
        } catch (error) {
          if (!OrielError.is(error, 'version-conflict')) this.#isInDoubt = true
          throw error
        }
        isWritten = true
        this.#isInDoubt = false
      },
      confirm: async (staged) => {
        if (!this.#isInDoubt) return
        await this.store.append(this.key, [], this.#state.version - staged)
        this.#isInDoubt = false
      },
      closed: (staged) => {
        this.#batch = undefined
        if (isWritten) this.#maybeSnapshot()
        else if (staged > 0) this.#reloadFrom = this.#state.version - staged
      },
    }
  }

  #fold(entries: readonly Entry[]): void {
    for (const entry of entries) this.#take(entry)
  }

  /** Begins again from what the store has. */
  async #reload(stored: number): Promise<void> {
    const fresh = await Journal.open(this.#options, this.#header)
    if (fresh.#state.version < stored) throw threadNotFound(this.key)
    // Whoever works with a whole state counts on it: a snapshot would hide messages that others dropped meanwhile.
    if (!this.#state.isPartial) await fresh.complete()
    this.#state = fresh.#state
    this.#header = fresh.#header
    this.#facts = fresh.#facts
    this.#settings.clear()
    this.#settingNames = []
    for (const setting of fresh.#settings.values()) this.#keepSetting(setting)
    this.#keys = fresh.#keys
    this.#snapshotVersion = fresh.#snapshotVersion
    this.#reloadFrom = undefined
  }

  /** Snapshots cost the size of the state, so they are made the more rarely the longer the log is. */
  #maybeSnapshot(): void {
    const { snapshotEvery = defaultSnapshotEvery, onSnapshotFailed } = this.#options
    const interval = Math.max(snapshotEvery, Math.ceil(this.#snapshotVersion * tailShare))
    if (snapshotEvery <= 0 || this.#state.version - this.#snapshotVersion < interval) return
    this.#snapshotVersion = this.#state.version
    const before = this.#saving
    const save = async (): Promise<void> => {
      // At once: the state continues while the store is busy.
      const value = this.#snapshot()
      await before
      await saveSnapshot(this.store, this.key, value)
    }
    this.#saving = inBackground(save, (error) => onSnapshotFailed?.(error, this))
  }

  #snapshot(): SnapshotValue {
    this.#keys?.update(this.#state)
    return {
      state: this.#state.data(),
      facts: { ...this.#facts, settings: [...this.#settings.values()] },
      ...(this.#keys === undefined ? {} : { keys: this.#keys.data(this.#state) }),
    }
  }

  #take(entry: Entry): void {
    this.#state.apply(entry)
    this.#facts = factsOf(entry, this.#facts)
    if (entry.type === 'setting') this.#keepSetting(entry)
    if (settings.header.names(entry)) this.#adopt(headerOf(entry))
  }

  #keepSetting(setting: SettingEntry): void {
    if (!this.#settings.has(setting.name)) this.#settingNames.push(setting.name)
    this.#settings.set(setting.name, setting)
  }

  /** Another writer began the thread first: its salt holds, and its counter. */
  #adopt(header: Header): void {
    assertCounter(header, this.#counter)
    if (header.salt === this.#header.salt) return
    assertFresh(this.#state)
    this.#header = header
    this.#state = new State({ counter: this.#counter, salt: header.salt })
    this.#state.apply(this.#headerEntry())
  }

  #headerEntry(): SettingEntry {
    return this.#stamp().entry(settings.header.body(this.#header)) as SettingEntry
  }

  #stamp(): Stamp {
    // The clock may go backwards; the log's times never do.
    const at = Math.max(this.#options.now(), this.#facts.lastAt)
    const { salt } = this.#state
    let seq = this.#state.version
    return {
      at,
      entry: (body) => {
        seq += 1
        return { ...body, id: entryId(salt, seq) as EntryId, seq, at } as Entry
      },
      skip: () => {
        seq += 1
      },
    }
  }
}

/** Tells one append from every other, also of other processes: what a retry finds in the store may be its own. */
const writer = randomBytes(9).toString('base64url')
let appends = 0

function nextWriter(): string {
  appends += 1
  return `${writer}${appends.toString(36)}`
}

/** What is known of the log after an entry, beside its state; the same object where the entry says nothing new. */
function factsOf(entry: Entry, before: JournalFacts): JournalFacts {
  const lastAt = Math.max(before.lastAt, entry.at)
  const { lanes = [] } = before
  switch (entry.type) {
    case 'request':
      return { ...before, newestRequest: entry, lanes: withRequest(lanes, entry), lastAt }
    case 'usage': {
      const calibrations = calibrated(entry, before)
      const { measured: _, ...rest } = before
      const measured = measuredBy(entry, before)
      return {
        ...rest,
        lanes: withUsage(lanes, entry),
        lastAt,
        ...(measured === undefined ? {} : { measured }),
        ...(calibrations === undefined ? {} : { calibrations }),
      }
    }
    case 'edit':
      return { ...before, newestChange: entry.seq, newestEpoch: entry.epoch, lastAt }
    case 'undo': {
      const { epoch = before.newestEpoch } = entry
      const facts = { ...before, newestChange: entry.seq, lastAt }
      return epoch === undefined ? facts : { ...facts, newestEpoch: epoch }
    }
    case 'mark':
      return { ...before, newestChange: entry.seq, lastAt }
    default:
      return lastAt === before.lastAt ? before : { ...before, lastAt }
  }
}

/**
 * The newest request, if that is what a sample measured: one of another says nothing about what comes next, and neither does one that showed
 * what is not kept, such as reductions for a budget.
 */
function measuredBy(
  { view, sample }: UsageEntry,
  { newestRequest: request }: JournalFacts,
): JournalFacts['measured'] {
  const tokens = inputTokens(sample)
  if (request?.view !== view) return undefined
  const { tokens: estimated = 0, unkeptFrom } = request.details ?? {}
  if (unkeptFrom !== undefined) return undefined
  if (!isPlausible({ estimated, measured: tokens })) return undefined
  const { seq, model, frameHash } = request
  return { seq, ...(model === undefined ? {} : { model }), frameHash, tokens }
}

/** A sample teaches something only about the request that it measured. */
function calibrated(
  { view, sample }: UsageEntry,
  { newestRequest: request, calibrations }: JournalFacts,
): JournalFacts['calibrations'] {
  const estimated = request?.details?.tokens
  if (request?.view !== view || estimated === undefined) return calibrations
  const measured = inputTokens(sample)
  return learn(calibrations ?? {}, { model: request.model ?? '', estimated, measured })
}

async function readHeader(store: Store, key: ThreadKey): Promise<Header | undefined> {
  for await (const first of store.read(key, { from: 1, to: 1 })) return headerOf(first)
  return undefined
}

function assertFresh(state: State): void {
  if (state.version <= 1) return
  throw new OrielError('corrupt-entry', 'A thread has two different headers. Run `oriel doctor`.')
}

/** Handles derive from it. Thread ids are unguessable, so this is too; and two stores give one thread the same handles. */
function saltOf(key: ThreadKey): string {
  return hash('sha256', `oriel:${key.tenant}:${key.thread}`).slice(0, 32)
}

function counterOf(header: Header, tokens: TokensOption | undefined): Counter {
  const name = header.tokens
  const counter =
    tokens === undefined && (name === 'estimate' || name === 'o200k')
      ? resolveCounter(name)
      : resolveCounter(tokens)
  assertCounter(header, counter)
  return counter
}

function assertCounter(header: Header, counter: Counter): void {
  if (header.tokens === counter.name) return
  throw new OrielError(
    'invalid-option',
    `The thread counts tokens by '${header.tokens}', which is fixed for a thread; got '${counter.name}'. Pass the same counter.`,
    { path: 'tokens' },
  )
}
