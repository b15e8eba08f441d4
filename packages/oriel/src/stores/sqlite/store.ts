// The store over one database file: writes go to the worker, reads use a connection of their own.

import { setImmediate } from 'node:timers/promises'
import type { Entry } from '../../core/log/entry.ts'
import type { ErrorCode } from '../../core/log/errors.ts'
import { OrielError } from '../../core/log/errors.ts'
import { agentSettings } from '../agent-settings.ts'
import { LocalLeases } from '../memory/leases.ts'
import { Watchers } from '../memory/watchers.ts'
import type {
  AppendResult,
  Lease,
  LeaseOptions,
  NewestOptions,
  Problem,
  ReadOptions,
  Snapshot,
  Store,
  ThreadInfo,
  ThreadKey,
  Watch,
  WatchListener,
  WriteOptions,
} from '../store.ts'
import { ChainWalk } from '../stored/chain.ts'
import { writeEntries } from '../stored/entry-form.ts'
import { eraseBatch } from '../stored/erase-batch.ts'
import { storeClosed, threadNotFound } from '../stored/errors.ts'
import {
  checkBlob,
  checkExternalId,
  checkKey,
  checkLease,
  checkListOptions,
  checkName,
  checkNewestOptions,
  checkRange,
  writeSnapshot,
} from '../stored/input.ts'
import { openForReading } from './database.ts'
import { readError } from './errors.ts'
import type { ThreadState } from './read.ts'
import { SqliteReader, threadInfo } from './read.ts'
import type { WriterSettings } from './write-queue.ts'
import { SqliteWriter } from './write-queue.ts'

interface StoreSettings extends WriterSettings {
  readonly now: () => number
}

/** What an operation takes in memory beside its content. */
const operationBytes = 200

/** Errors of reading that say something about the thread, not about the moment. */
const damageCodes: readonly ErrorCode[] = ['corrupt-entry', 'isolation', 'schema-version']

export class SqliteStore implements Store {
  readonly name = 'sqlite'
  readonly settings = agentSettings(this)
  readonly #settings: StoreSettings
  readonly #writer: SqliteWriter
  #reader: { readonly generation: number; readonly reader: SqliteReader } | undefined
  readonly #watchers = new Watchers()
  readonly #leases = new LocalLeases()
  #isClosed = false

  constructor(settings: StoreSettings) {
    this.#settings = settings
    this.#writer = new SqliteWriter(settings)
  }

  async append(
    key: ThreadKey,
    entries: readonly Entry[],
    expected: number,
    { durable = 'now' }: WriteOptions = {},
  ): Promise<AppendResult> {
    this.#check(key)
    const written = writeEntries(entries, expected)
    const bytes = written.reduce((sum, entry) => sum + entry.bytes, operationBytes)
    const input = { key: plainKey(key), entries: written, expected, now: this.#settings.now() }
    const operation = { type: 'append', input, durable } as const
    const result = (await this.#writer.perform(operation, bytes)) as AppendResult
    if (written.length > 0) this.#tell(key, result.version)
    return result
  }

  async *read(key: ThreadKey, options: ReadOptions = {}): AsyncGenerator<Entry> {
    this.#check(key)
    const { from, to } = checkRange(options)
    const found = await this.#query((reader) => reader.thread(key))
    if (found?.salt === undefined) return
    const last = Math.min(to, found.version)
    for (let next = from; next <= last; ) {
      const page = await this.#query((reader) => reader.entries(living(reader, key), next, last))
      for (const entry of page) {
        this.#check(key)
        yield entry
      }
      next += page.length
      // Between pages, others get their turn.
      if (next <= last) await setImmediate()
    }
  }

  async findExternalId(key: ThreadKey, externalId: string): Promise<number | undefined> {
    this.#check(key)
    checkExternalId(externalId)
    return this.#query((reader) => {
      const state = reader.thread(key)
      return state === undefined ? undefined : reader.findExternalId(state, externalId)
    })
  }

  async info(key: ThreadKey): Promise<ThreadInfo | undefined> {
    this.#check(key)
    const state = await this.#query((reader) => reader.thread(key))
    return state?.salt === undefined ? undefined : threadInfo(state)
  }

  async list(
    tenant: string,
    options: { readonly after?: string; readonly limit?: number } = {},
  ): Promise<readonly ThreadInfo[]> {
    this.#checkTenant(tenant)
    const page = checkListOptions(options)
    return this.#query((reader) => reader.list(tenant, page))
  }

  async newest(tenant: string, options: NewestOptions = {}): Promise<readonly ThreadInfo[]> {
    this.#checkTenant(tenant)
    const page = checkNewestOptions(options)
    return this.#query((reader) => reader.newest(tenant, page))
  }

  async saveSnapshot(key: ThreadKey, snapshot: Snapshot): Promise<void> {
    this.#check(key)
    const text = writeSnapshot(snapshot)
    const { version, format } = snapshot
    const input = { key: plainKey(key), version, format, text }
    await this.#writer.perform({ type: 'snapshot', input }, text.length + operationBytes)
  }

  async loadSnapshot(key: ThreadKey): Promise<Snapshot | undefined> {
    this.#check(key)
    return this.#query((reader) => {
      const state = reader.thread(key)
      return state === undefined ? undefined : reader.snapshot(state)
    })
  }

  async putBlob(tenant: string, content: Uint8Array): Promise<string> {
    this.#checkTenant(tenant)
    checkBlob(content)
    // Copied now: the caller may change its bytes while the blob waits in the queue.
    const copy = Uint8Array.from(content)
    const bytes = copy.length + operationBytes
    return (await this.#writer.perform({ type: 'blob', tenant, content: copy }, bytes)) as string
  }

  async readBlob(tenant: string, hash: string): Promise<Uint8Array | undefined> {
    this.#checkTenant(tenant)
    return this.#query((reader) => reader.blob(tenant, hash))
  }

  async erase(key: ThreadKey): Promise<void> {
    this.#check(key)
    const now = this.#settings.now()
    await this.#writer.perform({ type: 'erase', key: plainKey(key), now }, operationBytes)
    this.#tell(key, 0)
  }

  async eraseTenant(tenant: string): Promise<void> {
    this.#checkTenant(tenant)
    // Batch by batch, so that others can write in between.
    for (;;) {
      const batch = eraseBatch(await this.list(tenant))
      if (batch.length === 0) break
      await Promise.all(batch.map(({ thread }) => this.erase({ tenant, thread })))
    }
    const now = this.#settings.now()
    await this.#writer.perform({ type: 'erase-tenant', tenant, now }, operationBytes)
  }

  async tenants(
    options: { readonly after?: string; readonly limit?: number } = {},
  ): Promise<readonly string[]> {
    this.#check(undefined)
    const page = checkListOptions(options, 'tenant')
    return this.#query((reader) => reader.tenants(page))
  }

  /** Of what this object writes: other processes on the file are not heard. */
  async watch(listener: WatchListener): Promise<Watch> {
    this.#check(undefined)
    return this.#watchers.add(listener)
  }

  /** Among users of this object: two processes on one file may both hold it. */
  async lease(key: ThreadKey, options: LeaseOptions): Promise<Lease | undefined> {
    this.#check(key)
    checkLease(options)
    return this.#leases.take(key, options)
  }

  async *verify(key?: ThreadKey): AsyncGenerator<Problem> {
    this.#check(key)
    if (key !== undefined) {
      const state = await this.#query((reader) => reader.thread(key))
      if (state !== undefined) yield* this.#verifyThread(state)
      return
    }
    const lost = await this.#lostEntries()
    if (lost !== undefined) {
      yield lost
      return
    }
    const complaints = await this.#writer.perform({ type: 'check' }, operationBytes)
    for (const message of complaints as readonly string[]) {
      yield { tenant: '', thread: '', code: 'corrupt-entry', message }
    }
    let states = await this.#query((reader) => reader.threadsAfter(0))
    while (states.length > 0) {
      for (const state of states) yield* this.#verifyThread(state)
      const last = states.at(-1)?.id ?? 0
      states = await this.#query((reader) => reader.threadsAfter(last))
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#watchers.clear()
    this.#reader?.reader.close()
    this.#reader = undefined
    await this.#writer.close()
  }

  /** A store that lost entries refuses to open; for whoever verifies it, that is a finding like any other. */
  async #lostEntries(): Promise<Problem | undefined> {
    try {
      await this.#writer.open()
      return undefined
    } catch (error) {
      if (!OrielError.is(error, 'log-truncated')) throw error
      return { tenant: '', thread: '', code: 'log-truncated', message: error.message }
    }
  }

  async *#verifyThread(state: ThreadState): AsyncGenerator<Problem> {
    const walk = new ChainWalk(state.key, state.salt)
    const last = state.version
    try {
      for (let next = 1; next <= last; ) {
        const links = await this.#query((reader) => reader.links(state, next, last))
        for (const link of links) yield* walk.check(link)
        if (links.length === 0) break
        next = (links.at(-1)?.seq ?? last) + 1
        await setImmediate()
      }
      yield* walk.finish(state)
    } catch (error) {
      const { code, message } = readError(error)
      if (!damageCodes.includes(code)) throw error
      yield { ...state.key, code: 'corrupt-entry', message }
    }
  }

  /** Runs a synchronous read on a connection to the file that the writer has open. */
  async #query<T>(read: (reader: SqliteReader) => T): Promise<T> {
    await this.#writer.open()
    if (this.#isClosed) throw storeClosed()
    try {
      return read(this.#currentReader())
    } catch (error) {
      throw readError(error)
    }
  }

  #currentReader(): SqliteReader {
    const { generation } = this.#writer
    if (this.#reader?.generation === generation) return this.#reader.reader
    this.#reader?.reader.close()
    const { path, busyTimeoutMs } = this.#settings
    const reader = new SqliteReader(openForReading(path, busyTimeoutMs))
    this.#reader = { generation, reader }
    return reader
  }

  #tell({ tenant, thread }: ThreadKey, version: number): void {
    this.#watchers.tell({ type: 'changed', tenant, thread, version })
  }

  #check(key: ThreadKey | undefined): void {
    if (this.#isClosed) throw storeClosed()
    if (key !== undefined) checkKey(key)
  }

  #checkTenant(tenant: string): void {
    if (this.#isClosed) throw storeClosed()
    checkName(tenant, 'tenant')
  }
}

/** The thread as it is now: it may have been erased since the read began. */
function living(reader: SqliteReader, key: ThreadKey): ThreadState {
  const state = reader.thread(key)
  if (state?.salt === undefined) throw threadNotFound(key)
  return state
}

/** Only the two names travel to the worker, whatever else the caller's object holds. */
function plainKey({ tenant, thread }: ThreadKey): ThreadKey {
  return { tenant, thread }
}
