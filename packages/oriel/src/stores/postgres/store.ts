// The store over a PostgreSQL server: appends to one thread run in the order they were asked for, everything else side by side.

import type { Entry } from '../../core/log/entry.ts'
import type { ErrorCode } from '../../core/log/errors.ts'
import { OrielError } from '../../core/log/errors.ts'
import { agentSettings } from '../agent-settings.ts'
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
} from '../store.ts'
import { ChainWalk } from '../stored/chain.ts'
import { writeEntries } from '../stored/entry-form.ts'
import { storeClosed, threadNotFound, truncated } from '../stored/errors.ts'
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
import { type ConnectionSettings, PostgresConnections } from './connections.ts'
import { PostgresChannel } from './notify.ts'
import { PostgresReader, type ThreadState, threadInfo } from './read.ts'
import { prepareSchema } from './schema.ts'
import { createSql } from './sql.ts'
import { type AppendInput, PostgresWriter } from './write.ts'

export interface StoreSettings extends ConnectionSettings {
  readonly now: () => number
  readonly schema: string
  readonly partitions: number
  readonly isNotifying: boolean
  /** Where LISTEN connects, if not to the same. */
  readonly listenUrl: string | undefined
}

interface Waiting {
  readonly input: AppendInput
  resolve(result: AppendResult): void
  reject(error: unknown): void
}

/** What is written in one statement at most, when appends wait for each other. */
const maxTogether = 200
const maxBytesTogether = 1024 * 1024

/** Errors of reading that say something about the thread, not about the moment. */
const damageCodes: readonly ErrorCode[] = ['corrupt-entry', 'isolation', 'schema-version']

export class PostgresStore implements Store {
  readonly name = 'postgres'
  readonly settings = agentSettings(this)
  readonly #settings: StoreSettings
  readonly #connections: PostgresConnections
  readonly #direct: PostgresConnections
  readonly #reader: PostgresReader
  readonly #writer: PostgresWriter
  readonly #channel: PostgresChannel
  #ready: Promise<void> | undefined
  /** Appends that wait, of each thread that is being written. */
  readonly #waiting = new Map<string, Waiting[]>()
  /** Everything that was begun and is not over. */
  readonly #begun = new Set<Promise<unknown>>()
  #closing: Promise<void> | undefined

  constructor(settings: StoreSettings) {
    const { schema, listenUrl } = settings
    const sql = createSql(schema)
    this.#settings = settings
    this.#connections = new PostgresConnections(settings)
    this.#direct =
      listenUrl === undefined
        ? this.#connections
        : new PostgresConnections({ ...settings, source: listenUrl, maxConnections: 1 })
    this.#reader = new PostgresReader(this.#connections, sql)
    this.#writer = new PostgresWriter(this.#connections, this.#reader, { sql, schema })
    const channel = { schema, sql, connections: this.#connections, direct: this.#direct }
    this.#channel = new PostgresChannel(channel)
  }

  async append(key: ThreadKey, entries: readonly Entry[], expected: number): Promise<AppendResult> {
    this.#check(key)
    const written = writeEntries(entries, expected)
    const { tenant, thread } = key
    const input = {
      key: { tenant, thread },
      entries: written,
      expected,
      now: this.#settings.now(),
    }
    const appending = this.#inOrder(input)
    this.#begun.add(appending)
    const result = await appending.finally(() => this.#begun.delete(appending))
    if (written.length > 0) this.#tell(key, result.version)
    return result
  }

  async *read(key: ThreadKey, options: ReadOptions = {}): AsyncGenerator<Entry> {
    this.#check(key)
    const { from, to } = checkRange(options)
    let last: number | undefined
    for (let next = from; next <= (last ?? to); ) {
      const page = await this.#do(() => this.#reader.page(key, next, last ?? to))
      const isFirst = last === undefined
      if (page?.state.salt === undefined) {
        if (isFirst) return
        throw threadNotFound(key)
      }
      if (isFirst) this.#writer.learn(page.state)
      last ??= Math.min(to, page.state.version)
      if (next > last) return
      const entries = this.#reader.checked(page, next)
      if (entries.length === 0) throw truncated(key, next)
      for (const entry of entries) {
        this.#check(key)
        // The page may know of entries that came after the read began.
        if (entry.seq <= last) yield entry
      }
      next += entries.length
    }
  }

  async findExternalId(key: ThreadKey, externalId: string): Promise<number | undefined> {
    this.#check(key)
    checkExternalId(externalId)
    return this.#do(() => this.#reader.findExternalId(key, externalId))
  }

  async info(key: ThreadKey): Promise<ThreadInfo | undefined> {
    this.#check(key)
    const state = await this.#do(() => this.#reader.thread(key))
    return state?.salt === undefined ? undefined : threadInfo(state)
  }

  async list(
    tenant: string,
    options: { readonly after?: string; readonly limit?: number } = {},
  ): Promise<readonly ThreadInfo[]> {
    this.#checkTenant(tenant)
    const page = checkListOptions(options)
    return this.#do(() => this.#reader.list(tenant, page))
  }

  async newest(tenant: string, options: NewestOptions = {}): Promise<readonly ThreadInfo[]> {
    this.#checkTenant(tenant)
    const page = checkNewestOptions(options)
    return this.#do(() => this.#reader.newest(tenant, page))
  }

  async tenants(
    options: { readonly after?: string; readonly limit?: number } = {},
  ): Promise<readonly string[]> {
    this.#check(undefined)
    const page = checkListOptions(options, 'tenant')
    return this.#do(() => this.#reader.tenants(page))
  }

  async saveSnapshot(key: ThreadKey, snapshot: Snapshot): Promise<void> {
    this.#check(key)
    const text = writeSnapshot(snapshot)
    const { version, format } = snapshot
    await this.#do(() => this.#writer.saveSnapshot(key, { version, format, text }))
  }

  async loadSnapshot(key: ThreadKey): Promise<Snapshot | undefined> {
    this.#check(key)
    return this.#do(() => this.#reader.snapshot(key))
  }

  async putBlob(tenant: string, content: Uint8Array): Promise<string> {
    this.#checkTenant(tenant)
    checkBlob(content)
    // Copied now: the caller may change its bytes while the blob waits for a connection.
    const copy = Uint8Array.from(content)
    return this.#do(() => this.#writer.putBlob(tenant, copy))
  }

  async readBlob(tenant: string, hash: string): Promise<Uint8Array | undefined> {
    this.#checkTenant(tenant)
    return this.#do(() => this.#reader.blob(tenant, hash))
  }

  async erase(key: ThreadKey): Promise<void> {
    this.#check(key)
    const isErased = await this.#do(() => this.#writer.erase(key, this.#settings.now()))
    if (isErased) this.#tell(key, 0)
  }

  async eraseTenant(tenant: string): Promise<void> {
    this.#checkTenant(tenant)
    const threads = await this.#do(() => this.#writer.eraseTenant(tenant, this.#settings.now()))
    for (const thread of threads) this.#tell({ tenant, thread }, 0)
  }

  async watch(listener: WatchListener): Promise<Watch> {
    this.#check(undefined)
    return this.#do(() => this.#channel.watch(listener))
  }

  async lease(key: ThreadKey, options: LeaseOptions): Promise<Lease | undefined> {
    this.#check(key)
    checkLease(options)
    return this.#do(() => this.#writer.lease(key, options))
  }

  async *verify(key?: ThreadKey): AsyncGenerator<Problem> {
    this.#check(key)
    if (key !== undefined) {
      const state = await this.#do(() => this.#reader.thread(key))
      if (state !== undefined) yield* this.#verifyThread(state)
      return
    }
    let after: ThreadKey = { tenant: '', thread: '' }
    for (;;) {
      const from = after
      const states = await this.#do(() => this.#reader.threadsAfter(from))
      for (const state of states) yield* this.#verifyThread(state)
      const last = states.at(-1)
      if (last === undefined) return
      after = last.key
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await Promise.allSettled(this.#begun)
    await this.#writer.releaseLeases()
    await this.#channel.close()
    await this.#connections.close()
    if (this.#direct !== this.#connections) await this.#direct.close()
  }

  async *#verifyThread(state: ThreadState): AsyncGenerator<Problem> {
    const { key, version } = state
    const walk = new ChainWalk(key, state.salt)
    try {
      for (let next = 1; next <= version; ) {
        const page = await this.#do(() => this.#reader.page(key, next, version))
        const links = page?.links ?? []
        // Erased meanwhile: what was said is gone, and that is no damage.
        if (page?.state.salt === undefined && state.salt !== undefined) return
        for (const link of links) yield* walk.check(link)
        if (links.length === 0) break
        next = (links.at(-1)?.seq ?? version) + 1
      }
      yield* walk.finish(state)
    } catch (error) {
      if (!OrielError.is(error) || !damageCodes.includes(error.code)) throw error
      yield { ...key, code: 'corrupt-entry', message: error.message }
    }
  }

  /** Appends to one thread follow each other: the second of two that were made at once expects what the first one writes. */
  #inOrder(input: AppendInput): Promise<AppendResult> {
    const name = JSON.stringify([input.key.tenant, input.key.thread])
    const waiting = this.#waiting.get(name) ?? []
    const isIdle = !this.#waiting.has(name)
    this.#waiting.set(name, waiting)
    const done = new Promise<AppendResult>((resolve, reject) => {
      waiting.push({ input, resolve, reject })
    })
    if (isIdle) void this.#drain(name, waiting)
    return done
  }

  async #drain(name: string, waiting: Waiting[]): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.splice(0, countTogether(waiting))
      const inputs = batch.map(({ input }) => input)
      try {
        const outcomes = await this.#do(() => this.#writer.appendAll(inputs))
        outcomes.forEach((outcome, index) => {
          if (outcome.status === 'fulfilled') batch[index]?.resolve(outcome.value)
          else batch[index]?.reject(outcome.reason)
        })
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    this.#waiting.delete(name)
  }

  /** Runs something once the tables are there, and lets `close` wait for it. */
  async #do<T>(work: () => Promise<T>): Promise<T> {
    const doing = this.#prepared().then(work)
    this.#begun.add(doing)
    try {
      return await doing
    } finally {
      this.#begun.delete(doing)
    }
  }

  #prepared(): Promise<void> {
    this.#ready ??= prepareSchema(this.#connections, this.#settings).catch((error: unknown) => {
      // The server may be there the next time.
      this.#ready = undefined
      throw error
    })
    return this.#ready
  }

  #tell(key: ThreadKey, version: number): void {
    if (this.#settings.isNotifying && this.#closing === undefined) this.#channel.tell(key, version)
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

/** How many of the first appends follow each other without a gap, and may be made as one. */
function countTogether(waiting: readonly Waiting[]): number {
  let next = waiting[0]?.input.expected ?? 0
  let bytes = 0
  let count = 0
  for (const { input } of waiting.slice(0, maxTogether)) {
    bytes += input.entries.reduce((sum, entry) => sum + entry.bytes, 0)
    const fits = input.expected === next && input.entries.length > 0 && bytes <= maxBytesTogether
    if (count > 0 && !fits) break
    count += 1
    if (!fits) break
    next += input.entries.length
  }
  return count
}
