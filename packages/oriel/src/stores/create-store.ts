// A store over any backend. Everything that all stores have in common is here: checks of input, the hash chain, salts, large content
// kept apart, snapshots, verifying, settings of agents, values, and errors with codes.

import { createHash, hash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { Entry } from '../core/log/entry.ts'
import type { ErrorCode } from '../core/log/errors.ts'
import { OrielError, wrongOption } from '../core/log/errors.ts'
import type { JsonObject } from '../core/log/json.ts'
import { assertOptions } from '../core/log/options.ts'
import { agentSettings } from './agent-settings.ts'
import { Appender } from './appender.ts'
import type { LogBackend, LogPage, ThreadHead, ThreadRow } from './backend.ts'
import { type KeyValue, keyValue } from './key-value.ts'
import { LocalLeases } from './leases.ts'
import { Searcher } from './search/searcher.ts'
import type {
  AppendResult,
  Lease,
  LeaseOptions,
  NewestOptions,
  Problem,
  ReadOptions,
  Snapshot,
  Store,
  StoreMatches,
  StoreQuery,
  ThreadInfo,
  ThreadKey,
  Watch,
  WatchListener,
  WriteOptions,
} from './store.ts'
import { ChainWalk } from './stored/chain.ts'
import {
  blobHash,
  erasedEntry,
  externalKey,
  genesis,
  jsonPieces,
  storedForm,
  writeEntries,
} from './stored/entry-form.ts'
import { eraseBatch } from './stored/erase-batch.ts'
import {
  backendFailed,
  corruptBlob,
  isolation,
  storeClosed,
  threadNotFound,
  versionConflict,
} from './stored/errors.ts'
import {
  checkBlob,
  checkExternalId,
  checkKey,
  checkLease,
  checkListOptions,
  checkName,
  checkNewestOptions,
  checkRange,
  checkSnapshot,
  checkStoreQuery,
} from './stored/input.ts'
import { entriesOf, linksOf, ownRow, threadInfo } from './stored/rows.ts'
import { Watchers } from './watchers.ts'

export interface CreateStoreOptions {
  /** The clock behind `createdAt` and `updatedAt`. @default Date.now */
  readonly now?: () => number
}

/** The store over a backend. It closes the backend when it is closed. */
export function createStore(backend: LogBackend, options: CreateStoreOptions = {}): Store {
  assertOptions(options, { now: true }, 'createStore')
  assertBackend(backend)
  return new LogStore(backend, options)
}

/** What every backend must have; see `LogBackend`. */
const requiredMethods = [
  'append',
  'erase',
  'eraseTenant',
  'thread',
  'page',
  'findExternal',
  'threads',
  'tenants',
  'saveSnapshot',
  'loadSnapshot',
  'putBlob',
  'readBlob',
  'putValue',
  'readValue',
  'listValues',
  'close',
] as const satisfies readonly (keyof LogBackend)[]

/** Refuses an incomplete backend at once: without types it would fail at the first call that needs the method. */
function assertBackend(backend: LogBackend): void {
  if (typeof backend !== 'object' || backend === null) throw wrongOption('backend', 'a LogBackend')
  if (typeof backend.name !== 'string') throw wrongOption('backend.name', 'a text')
  for (const name of requiredMethods) {
    if (typeof backend[name] !== 'function') throw wrongOption(`backend.${name}`, 'a function')
  }
}

/** Errors of reading that say something about the thread, not about the moment. */
const damageCodes: readonly ErrorCode[] = ['corrupt-entry', 'isolation', 'schema-version']

/** Threads that are looked up at once, to check them all. */
const verifyPage = 100

export class LogStore implements Store {
  readonly name: string
  readonly settings = agentSettings(this)
  readonly values: KeyValue
  readonly #backend: LogBackend
  readonly #now: () => number
  readonly #appender: Appender
  readonly #searcher: Searcher
  readonly #watchers = new Watchers()
  readonly #leases = new LocalLeases()
  /** Everything that was begun and is not over. */
  readonly #begun = new Set<Promise<unknown>>()
  #closing: Promise<void> | undefined

  constructor(backend: LogBackend, { now = Date.now }: CreateStoreOptions = {}) {
    this.name = backend.name
    this.#backend = backend
    this.#now = now
    this.#appender = new Appender(backend)
    this.#searcher = new Searcher(backend, () => this.#closing !== undefined)
    this.values = keyValue(backend, (work) => {
      this.#check(undefined)
      return this.#do(work)
    })
  }

  async append(
    key: ThreadKey,
    entries: readonly Entry[],
    expected: number,
    { durable = 'now' }: WriteOptions = {},
  ): Promise<AppendResult> {
    this.#check(key)
    const written = writeEntries(entries, expected)
    const input = { key: plainKey(key), entries: written, expected, now: this.#now(), durable }
    const result = await this.#do(() => this.#appender.append(input))
    if (written.length > 0) {
      this.#publish(key, result.version)
      this.#searcher.grew(key)
    }
    return result
  }

  async *read(key: ThreadKey, options: ReadOptions = {}): AsyncGenerator<Entry> {
    this.#check(key)
    const { from, to } = checkRange(options)
    let last: number | undefined
    for (let next = from; next <= (last ?? to); ) {
      const page = await this.#do(() => this.#page(key, next, last ?? to))
      const isFirst = last === undefined
      if (page?.thread.salt === undefined) {
        if (isFirst) return
        throw threadNotFound(key)
      }
      if (isFirst) this.#appender.learn(page.thread)
      last ??= Math.min(to, page.thread.version)
      if (next > last) return
      const entries = entriesOf(page, next)
      for (const entry of entries) {
        this.#check(key)
        // The page may know of entries that came after the read began.
        if (entry.seq <= last) yield entry
      }
      next += entries.length
      // Between pages, others get their turn.
      if (next <= last) await setImmediate()
    }
  }

  async findExternalId(key: ThreadKey, externalId: string): Promise<number | undefined> {
    this.#check(key)
    checkExternalId(externalId)
    return this.#do(async () => {
      const salt = this.#appender.known(key)?.salt ?? (await this.#thread(key))?.salt
      if (salt === undefined) return undefined
      const seqs = await this.#backend.findExternal(key, externalKey(salt, externalId))
      // Eight bytes can be shared by two ids: only the entry itself says which one it is.
      for (const seq of seqs) {
        const page = await this.#page(key, seq, seq)
        if (page?.thread.salt === undefined) return undefined
        const [entry] = entriesOf(page, seq)
        if (entry !== undefined && 'externalId' in entry && entry.externalId === externalId)
          return seq
      }
      return undefined
    })
  }

  async info(key: ThreadKey): Promise<ThreadInfo | undefined> {
    this.#check(key)
    const row = await this.#do(() => this.#thread(key))
    return row?.salt === undefined ? undefined : threadInfo(row)
  }

  async list(
    tenant: string,
    options: { readonly after?: string; readonly limit?: number } = {},
  ): Promise<readonly ThreadInfo[]> {
    this.#checkTenant(tenant)
    const query = { by: 'name', tenant, ...checkListOptions(options) } as const
    const rows = await this.#do(() => this.#backend.threads(query))
    return rows.map((row) => ownInfo(tenant, row))
  }

  async newest(tenant: string, options: NewestOptions = {}): Promise<readonly ThreadInfo[]> {
    this.#checkTenant(tenant)
    const query = { by: 'age', tenant, ...checkNewestOptions(options) } as const
    const rows = await this.#do(() => this.#backend.threads(query))
    return rows.map((row) => ownInfo(tenant, row))
  }

  async tenants(
    options: { readonly after?: string; readonly limit?: number } = {},
  ): Promise<readonly string[]> {
    this.#check(undefined)
    const page = checkListOptions(options, 'tenant')
    return this.#do(() => this.#backend.tenants(page))
  }

  async saveSnapshot(key: ThreadKey, snapshot: Snapshot): Promise<void> {
    this.#check(key)
    checkSnapshot(snapshot)
    const { version, format } = snapshot
    const { text, digest } = await snapshotText(snapshot)
    await this.#do(async () => {
      await this.#appender.settled(key)
      // The head ties the snapshot to one history: after a repaired log it must not stand for other entries.
      const head = await this.#headAt(key, version)
      const row = { version, format, head, hash: digest, text }
      if (await this.#backend.saveSnapshot(plainKey(key), row)) return
      // Nothing was saved: there is a newer one, or the thread is not what the caller thinks.
      checkVersion(key, await this.#thread(key), version)
    })
  }

  async loadSnapshot(key: ThreadKey): Promise<Snapshot | undefined> {
    this.#check(key)
    const found = await this.#do(() => this.#backend.loadSnapshot(key))
    if (found === undefined) return undefined
    const { salt, version: length } = ownRow(key, found.thread)
    const { version, format, head, hash: digest, text } = found.snapshot
    const header = version === 0 ? genesis : found.header
    const isWhole = version <= length && header === head && hash('sha256', text) === digest
    // Damaged, or of another history: as good as none.
    if (salt === undefined || !isWhole) return undefined
    return { version, format, value: JSON.parse(text) as JsonObject }
  }

  async putBlob(tenant: string, content: Uint8Array): Promise<string> {
    this.#checkTenant(tenant)
    checkBlob(content)
    // Copied now: the caller may change its bytes while the blob waits to be written.
    const copy = Uint8Array.from(content)
    const name = blobHash(copy)
    await this.#do(() => this.#backend.putBlob(tenant, { hash: name, content: copy }))
    return name
  }

  async readBlob(tenant: string, name: string): Promise<Uint8Array | undefined> {
    this.#checkTenant(tenant)
    if (!/^[0-9a-f]{64}$/.test(name)) return undefined
    const content = await this.#do(() => this.#backend.readBlob(tenant, name))
    if (content !== undefined && blobHash(content) !== name) throw corruptBlob(name)
    return content
  }

  async erase(key: ThreadKey): Promise<void> {
    this.#check(key)
    const isErased = await this.#do(() => this.#erase(plainKey(key)))
    if (isErased) this.#publish(key, 0)
  }

  async eraseTenant(tenant: string): Promise<void> {
    this.#checkTenant(tenant)
    // Batch by batch, so that others can write in between.
    for (;;) {
      const batch = eraseBatch(await this.list(tenant))
      if (batch.length === 0) break
      await Promise.all(batch.map(({ thread }) => this.erase({ tenant, thread })))
    }
    await this.#do(() => this.#backend.eraseTenant(tenant))
  }

  async search(query: StoreQuery): Promise<StoreMatches> {
    this.#checkTenant(query.tenant)
    checkStoreQuery(query)
    return this.#do(() => this.#searcher.search(query))
  }

  async watch(listener: WatchListener): Promise<Watch> {
    this.#check(undefined)
    const { changes } = this.#backend
    if (changes === undefined) return this.#watchers.add(listener)
    return this.#do(() => changes.watch(listener))
  }

  async lease(key: ThreadKey, options: LeaseOptions): Promise<Lease | undefined> {
    this.#check(key)
    checkLease(options)
    if (this.#backend.lease === undefined) return this.#leases.take(key, options)
    return this.#do(async () => this.#backend.lease?.(key, options))
  }

  async *verify(key?: ThreadKey): AsyncGenerator<Problem> {
    this.#check(key)
    if (key !== undefined) {
      const row = await this.#do(() => this.#thread(key))
      if (row !== undefined) yield* this.#verifyThread(row)
      return
    }
    const found = await this.#do(() => this.#checkFiles())
    yield* found
    // Where entries are lost for certain, the backend refuses to be read.
    if (found.some(({ code }) => code === 'log-truncated')) return
    for (let after: ThreadRow | undefined; ; ) {
      const query = { by: 'any', limit: verifyPage, ...(after === undefined ? {} : { after }) }
      const rows = await this.#do(() =>
        this.#backend.threads(query as { by: 'any'; limit: number }),
      )
      for (const row of rows) yield* this.#verifyThread(row)
      after = rows.at(-1)
      if (after === undefined) return
    }
  }

  async close(): Promise<void> {
    if (this.#closing !== undefined) {
      // The first call has its error.
      await this.#closing.catch(() => undefined)
      return
    }
    this.#closing = this.#close()
    await this.#closing
  }

  async #close(): Promise<void> {
    this.#watchers.clear()
    await this.#searcher.close()
    await Promise.allSettled(this.#begun)
    await this.#backend.close()
  }

  async #thread(key: ThreadKey): Promise<ThreadRow | undefined> {
    const row = await this.#backend.thread(key)
    return row === undefined ? undefined : ownRow(key, row)
  }

  async #page(key: ThreadKey, from: number, to: number): Promise<LogPage | undefined> {
    const page = await this.#backend.page(key, from, to)
    if (page !== undefined) ownRow(key, page.thread)
    return page
  }

  /** The header of a thread at a version that it has. */
  async #headAt(key: ThreadKey, version: number): Promise<string> {
    if (version === 0) return genesis
    const known = this.#appender.known(key)
    if (known?.version === version) return known.head
    const row = await this.#thread(key)
    checkVersion(key, row, version)
    if (row?.version === version) return row.head
    return (await this.#page(key, version, version))?.rows[0]?.header ?? genesis
  }

  /** Whether there was something to erase. */
  async #erase(key: ThreadKey): Promise<boolean> {
    await this.#appender.settled(key)
    for (;;) {
      const row = await this.#thread(key)
      this.#appender.forget(key)
      if (row?.salt === undefined) {
        await this.#backend.scrub?.()
        return false
      }
      const now = this.#now()
      const before = { version: row.version, head: row.head }
      // Another process may append meanwhile; then the next attempt ends what that one wrote.
      if (await this.#backend.erase({ key, before, row: erasedRow(key, before, now), now })) {
        return true
      }
    }
  }

  /** What is wrong with the backend's files as a whole. */
  async #checkFiles(): Promise<readonly Problem[]> {
    const whole = { tenant: '', thread: '' }
    try {
      const complaints = (await this.#backend.check?.()) ?? []
      return complaints.map((message) => ({ ...whole, code: 'corrupt-entry', message }))
    } catch (error) {
      // A backend that lost entries refuses to open; for whoever verifies it, that is a finding like any other.
      if (!OrielError.is(error, 'log-truncated')) throw error
      return [{ ...whole, code: 'log-truncated', message: error.message }]
    }
  }

  async *#verifyThread(row: ThreadRow): AsyncGenerator<Problem> {
    const { tenant, thread, version } = row
    const key = { tenant, thread }
    const walk = new ChainWalk(key, row.salt)
    try {
      for (let next = 1; next <= version; ) {
        const page = await this.#do(() => this.#page(key, next, version))
        // Erased meanwhile: what was said is gone, and that is no damage.
        if (page?.thread.salt === undefined && row.salt !== undefined) return
        const links = page === undefined ? [] : linksOf(page)
        for (const link of links) yield* walk.check(link)
        if (links.length === 0) break
        next = (links.at(-1)?.seq ?? version) + 1
        await setImmediate()
      }
      yield* walk.finish(row)
    } catch (error) {
      if (!OrielError.is(error) || !damageCodes.includes(error.code)) throw error
      yield { ...key, code: 'corrupt-entry', message: error.message }
    }
  }

  /** Runs something for which `close` waits, and gives every error a code. */
  async #do<T>(work: () => Promise<T>): Promise<T> {
    const doing = work()
    this.#begun.add(doing)
    try {
      return await doing
    } catch (error) {
      const isKnown = OrielError.is(error) || (error as Error | undefined)?.name === 'AbortError'
      throw isKnown ? error : backendFailed(this.name, error)
    } finally {
      this.#begun.delete(doing)
    }
  }

  /** A moment later: whoever appended continues first. */
  #publish({ tenant, thread }: ThreadKey, version: number): void {
    const { changes } = this.#backend
    if (changes === undefined) {
      queueMicrotask(() => this.#watchers.tell({ type: 'changed', tenant, thread, version }))
    } else if (this.#closing === undefined) changes.publish({ tenant, thread }, version)
  }

  #check(key: ThreadKey | undefined): void {
    if (this.#closing !== undefined) throw storeClosed()
    if (key !== undefined) checkKey(key)
  }

  #checkTenant(tenant: string): void {
    if (this.#closing !== undefined) throw storeClosed()
    checkName(tenant, 'tenant')
  }
}

/** The row that ends an erased log. */
/** Characters of a snapshot after which others have their turn: about a millisecond. */
const charactersAtOnce = 256 * 1024

/** A snapshot's value as text, written in pieces. */
async function snapshotText({
  value,
}: Snapshot): Promise<{ readonly text: string; readonly digest: string }> {
  const digest = createHash('sha256')
  const pieces: string[] = []
  let written = 0
  for (const piece of jsonPieces(value, ['value'])) {
    pieces.push(piece)
    digest.update(piece)
    written += piece.length
    if (written < charactersAtOnce) continue
    written = 0
    await setImmediate()
  }
  return { text: pieces.join(''), digest: digest.digest('hex') }
}

function erasedRow(key: ThreadKey, { version, head }: ThreadHead, now: number) {
  const last = erasedEntry(key, { seq: version + 1, previous: head, at: now })
  const { seq, type, content, header, text } = last
  return { seq, form: storedForm, type, content, header, body: text }
}

/** Refuses a thread that is not there, or has not come to this version. */
function checkVersion(key: ThreadKey, row: ThreadRow | undefined, version: number): void {
  if (row?.salt === undefined) throw threadNotFound(key)
  if (version > row.version) throw versionConflict(key, { expected: version, actual: row.version })
}

function ownInfo(tenant: string, row: ThreadRow): ThreadInfo {
  if (row.tenant !== tenant) throw isolation()
  return threadInfo(row)
}

/** Only the two names go to the backend, whatever else the caller's object holds. */
function plainKey({ tenant, thread }: ThreadKey): ThreadKey {
  return { tenant, thread }
}
