// A thread's log in its store, and the state folded from it. Every write is one compare-and-append.

import { createHash } from 'node:crypto'
import type { Counter } from '../core/counter.ts'
import type { Entry, EntryId, RequestEntry, SettingEntry, UsageEntry } from '../core/entry.ts'
import { OrielError } from '../core/errors.ts'
import { entryId } from '../core/handle.ts'
import { isObject, type JsonObject } from '../core/json.ts'
import { State } from '../core/state.ts'
import { resolveCounter, type TokensOption } from '../counters.ts'
import type { Store, ThreadKey } from '../stores/store.ts'

/** The stored form of the header; raised when its meaning changes. */
const headerVersion = 1
/** How often a writer that loses races tries again before it says so. */
const maxAttempts = 50

export interface JournalOptions {
  readonly store: Store
  readonly key: ThreadKey
  readonly tokens: TokensOption | undefined
  readonly now: () => number
}

/** An entry without what the log itself gives it. */
export type EntryBody<E extends Entry = Entry> = E extends Entry
  ? Omit<E, 'id' | 'seq' | 'at'>
  : never

/** Numbers entries that are about to be appended. */
export interface Stamp {
  readonly at: number
  entry(body: EntryBody): Entry
}

export class Journal {
  readonly key: ThreadKey
  readonly store: Store
  readonly #now: () => number
  readonly #counter: Counter
  #state: State
  #header: JsonObject
  #lastAt = 0
  readonly #settings = new Map<string, SettingEntry>()
  #newestRequest: RequestEntry | undefined
  #newestUsage: UsageEntry | undefined
  #newestChange = 0
  #newestEpoch: string | undefined

  private constructor(options: JournalOptions, header: JsonObject, counter: Counter) {
    this.key = options.key
    this.store = options.store
    this.#now = options.now
    this.#counter = counter
    this.#header = header
    this.#state = new State({ counter, salt: String(header.salt) })
  }

  /** Reads a thread's log; an absent thread is empty and begins with its first append. */
  static async open(options: JournalOptions, parent?: JsonObject): Promise<Journal> {
    const { store, key, tokens } = options
    for await (const first of store.read(key, { from: 1, to: 1 })) {
      const header = headerOf(first)
      const journal = new Journal(options, header, counterOf(header, tokens))
      await journal.refresh()
      return journal
    }
    const counter = resolveCounter(tokens)
    const header = parent ?? {
      salt: saltOf(key),
      tokens: counter.name,
      version: headerVersion,
    }
    return new Journal(options, header, counter)
  }

  /** The same log as it was when it had `version` entries. Reads it from the store. */
  static async until(
    journal: Journal,
    tokens: TokensOption | undefined,
    version: number,
  ): Promise<Journal> {
    const { store, key, header } = journal
    const options = { store, key, tokens, now: () => 0 }
    const past = new Journal(options, header, counterOf(header, tokens))
    for await (const entry of store.read(key, { to: version })) past.#take(entry)
    return past
  }

  /** The log folded so far. */
  get state(): State {
    return this.#state
  }

  get header(): JsonObject {
    return this.#header
  }

  /** The newest value of a setting. */
  setting(name: string): SettingEntry | undefined {
    return this.#settings.get(name)
  }

  /** Names of all settings that the log holds, in the order they first came. */
  get settingNames(): readonly string[] {
    return [...this.#settings.keys()]
  }

  /** The newest record of a request, and the newest usage. */
  get newestRequest(): RequestEntry | undefined {
    return this.#newestRequest
  }

  get newestUsage(): UsageEntry | undefined {
    return this.#newestUsage
  }

  /** The epoch of the newest edit. */
  get newestEpoch(): string | undefined {
    return this.#newestEpoch
  }

  /** The newest entry that changed what is shown, other than a message. */
  get newestChange(): number {
    return this.#newestChange
  }

  /** Takes in what other writers appended since. */
  async refresh(): Promise<void> {
    for await (const entry of this.store.read(this.key, { from: this.#state.version + 1 })) {
      this.#take(entry)
    }
  }

  /**
   * Appends what `build` makes of the current state. When another writer was first, the log is read and `build` asked again, so it
   * must be pure. Nothing changes when the store fails.
   */
  async commit<E extends Entry>(
    build: (state: State, stamp: Stamp) => readonly E[],
  ): Promise<readonly E[]> {
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      try {
        if (this.#state.version === 0 && build(this.#state, this.#stamp()).length === 0) return []
        if (this.#state.version === 0) await this.#append([this.#headerEntry()])
        const entries = build(this.#state, this.#stamp())
        if (entries.length > 0) await this.#append(entries)
        return entries
      } catch (error) {
        if (!OrielError.is(error, 'version-conflict')) throw error
        await this.refresh()
      }
    }
    throw new OrielError(
      'version-conflict',
      `Thread ${this.key.thread} is written to so often that ${maxAttempts} attempts failed. Try again.`,
    )
  }

  async #append(entries: readonly Entry[]): Promise<void> {
    await this.store.append(this.key, entries, this.#state.version)
    for (const entry of entries) this.#take(entry)
  }

  #take(entry: Entry): void {
    this.#state.apply(entry)
    this.#lastAt = Math.max(this.#lastAt, entry.at)
    if (entry.type === 'request') this.#newestRequest = entry
    else if (entry.type === 'usage') this.#newestUsage = entry
    else if (entry.type === 'edit' || entry.type === 'undo' || entry.type === 'mark') {
      this.#newestChange = entry.seq
      if (entry.type === 'edit') this.#newestEpoch = entry.epoch
    } else if (entry.type === 'setting') {
      this.#settings.set(entry.name, entry)
      if (entry.name === 'thread') this.#adopt(headerOf(entry))
    }
  }

  /** Another writer began the thread first: its salt holds. */
  #adopt(header: JsonObject): void {
    if (header.salt === this.#header.salt) return
    assertFresh(this.#state)
    this.#header = header
    this.#state = new State({ counter: this.#counter, salt: String(header.salt) })
    this.#state.apply(this.#headerEntry())
  }

  #headerEntry(): SettingEntry {
    return this.#stamp().entry({
      type: 'setting',
      name: 'thread',
      value: this.#header,
    }) as SettingEntry
  }

  #stamp(): Stamp {
    // The clock may go backwards; the log's times never do.
    const at = Math.max(this.#now(), this.#lastAt)
    const { salt } = this.#state
    let seq = this.#state.version
    return {
      at,
      entry: (body) => {
        seq += 1
        return { ...body, id: entryId(salt, seq) as EntryId, seq, at } as Entry
      },
    }
  }
}

function assertFresh(state: State): void {
  if (state.version <= 1) return
  throw new OrielError('corrupt-entry', 'A thread has two different headers. Run `oriel doctor`.')
}

/** Handles derive from it. Thread ids are unguessable, so this is too; and two stores give one thread the same handles. */
function saltOf(key: ThreadKey): string {
  return createHash('sha256').update(`oriel:${key.tenant}:${key.thread}`).digest('hex').slice(0, 32)
}

function headerOf(entry: Entry): JsonObject {
  if (entry.type === 'setting' && entry.name === 'thread' && isObject(entry.value)) {
    const header = entry.value as JsonObject
    if (typeof header.version === 'number' && header.version <= headerVersion) return header
    throw new OrielError(
      'schema-version',
      `The thread was written by a later version (${String(header.version)}; this one knows ${headerVersion}). Update Oriel.`,
    )
  }
  throw new OrielError('corrupt-entry', 'The log does not begin with a header. Run `oriel doctor`.')
}

function counterOf(header: JsonObject, tokens: TokensOption | undefined): Counter {
  const name = String(header.tokens)
  const counter =
    tokens === undefined && (name === 'estimate' || name === 'o200k')
      ? resolveCounter(name)
      : resolveCounter(tokens)
  if (counter.name === name) return counter
  throw new OrielError(
    'invalid-option',
    `The thread counts tokens by '${name}', which is fixed for a thread; got '${counter.name}'. Pass the same counter.`,
    { path: 'tokens' },
  )
}
