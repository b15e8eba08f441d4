// Keeps logs in the memory of the process: for tests, trials and threads that need not outlive it.

import type { Entry } from '../../core/log/entry.ts'
import type { JsonObject } from '../../core/log/json.ts'
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
  ThreadPosition,
  Watch,
  WatchListener,
} from '../store.ts'
import { ChainWalk, type Link } from '../stored/chain.ts'
import type { ChainedEntry, WrittenEntry } from '../stored/entry-form.ts'
import {
  blobHash,
  chainEntries,
  contentHash,
  createSalt,
  erasedEntry,
  genesis,
  namedHashes,
  readEntry,
  writeEntries,
} from '../stored/entry-form.ts'
import { storeClosed, threadNotFound, versionConflict } from '../stored/errors.ts'
import {
  checkBlob,
  checkExternalId,
  checkKey,
  checkLease,
  checkListOptions,
  checkNewestOptions,
  checkRange,
  writeSnapshot,
} from '../stored/input.ts'
import { LocalLeases } from './leases.ts'
import { Watchers } from './watchers.ts'

export interface MemoryStoreOptions {
  /** The clock behind `createdAt` and `updatedAt`. @default Date.now */
  readonly now?: () => number
}

/** A store that lives as long as the process. Reads give fresh objects: nothing a caller does to them changes the log. */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  const { now = Date.now } = options
  return new MemoryStore(now)
}

interface Log {
  readonly key: ThreadKey
  readonly salt: string
  readonly entries: ChainedEntry[]
  readonly createdAt: number
  updatedAt: number
  bytes: number
  snapshot?: { readonly version: number; readonly format: number; readonly text: string }
}

/** What is left of an erased thread: enough to check the chain, nothing of its content. */
interface Tombstone {
  readonly key: ThreadKey
  readonly links: readonly Link[]
}

interface Blob {
  readonly content: Uint8Array
  /** The threads that name it. */
  readonly threads: Set<string>
  /** Put, and not yet named by an entry: kept, since the entry may be on its way. */
  isWaiting: boolean
}

class MemoryStore implements Store {
  readonly name = 'memory'
  readonly settings = agentSettings(this)
  readonly #now: () => number
  readonly #logs = new Map<string, Log>()
  readonly #tombstones = new Map<string, Tombstone>()
  readonly #blobs = new Map<string, Map<string, Blob>>()
  readonly #watchers = new Watchers()
  readonly #leases = new LocalLeases()
  #isClosed = false

  constructor(now: () => number) {
    this.#now = now
  }

  async append(key: ThreadKey, entries: readonly Entry[], expected: number): Promise<AppendResult> {
    this.#check(key)
    const written = writeEntries(entries, expected)
    const name = nameOf(key)
    if (this.#tombstones.has(name)) throw threadNotFound(key)
    const log = this.#logs.get(name)
    const version = log?.entries.length ?? 0
    if (version !== expected || written.length === 0)
      return repeatedAppend(key, log, written, expected)
    const now = this.#now()
    const target = log ?? createLog(key, now)
    const previous = target.entries.at(-1)?.header ?? genesis
    const chained = chainEntries({ key, salt: target.salt, previous }, written)
    target.entries.push(...chained)
    target.bytes += chained.reduce((sum, entry) => sum + entry.bytes, 0)
    // A clock that goes backwards must not make a thread look older than it was.
    target.updatedAt = Math.max(target.updatedAt, now)
    this.#logs.set(name, target)
    this.#useBlobs(key, chained)
    this.#tell(key, target.entries.length)
    return { version: target.entries.length, head: headAt(target, target.entries.length) }
  }

  async *read(key: ThreadKey, options: ReadOptions = {}): AsyncGenerator<Entry> {
    this.#check(key)
    const { from, to } = checkRange(options)
    const log = this.#logs.get(nameOf(key))
    if (log === undefined) return
    const last = Math.min(to, log.entries.length)
    for (let seq = from; seq <= last; seq++) {
      this.#check(key)
      if (this.#tombstones.has(nameOf(key))) throw threadNotFound(key)
      const chain = { key, salt: log.salt, previous: headAt(log, seq - 1) }
      yield readEntry(chain, log.entries[seq - 1] as ChainedEntry)
    }
  }

  async findExternalId(key: ThreadKey, externalId: string): Promise<number | undefined> {
    this.#check(key)
    checkExternalId(externalId)
    const log = this.#logs.get(nameOf(key))
    return log?.entries.find((entry) => entry.externalId === externalId)?.seq
  }

  async info(key: ThreadKey): Promise<ThreadInfo | undefined> {
    this.#check(key)
    const log = this.#logs.get(nameOf(key))
    return log === undefined ? undefined : infoOf(log)
  }

  async list(
    tenant: string,
    options: { readonly after?: string; readonly limit?: number } = {},
  ): Promise<readonly ThreadInfo[]> {
    this.#check({ tenant, thread: 'any' })
    const { after, limit } = checkListOptions(options)
    return [...this.#logs.values()]
      .filter((log) => log.key.tenant === tenant && compareNames(log.key.thread, after) > 0)
      .sort((a, b) => compareNames(a.key.thread, b.key.thread))
      .slice(0, limit)
      .map(infoOf)
  }

  async newest(tenant: string, options: NewestOptions = {}): Promise<readonly ThreadInfo[]> {
    this.#check({ tenant, thread: 'any' })
    const { after, limit } = checkNewestOptions(options)
    return [...this.#logs.values()]
      .filter((log) => log.key.tenant === tenant)
      .map(infoOf)
      .filter((info) => compareAges(info, after) > 0)
      .sort(compareAges)
      .slice(0, limit)
  }

  async saveSnapshot(key: ThreadKey, snapshot: Snapshot): Promise<void> {
    this.#check(key)
    const text = writeSnapshot(snapshot)
    const log = this.#logs.get(nameOf(key))
    if (log === undefined) throw threadNotFound(key)
    const { version, format } = snapshot
    if (version > log.entries.length) {
      throw versionConflict(key, { expected: version, actual: log.entries.length })
    }
    if (version >= (log.snapshot?.version ?? 0)) log.snapshot = { version, format, text }
  }

  async loadSnapshot(key: ThreadKey): Promise<Snapshot | undefined> {
    this.#check(key)
    const snapshot = this.#logs.get(nameOf(key))?.snapshot
    if (snapshot === undefined) return undefined
    const { version, format, text } = snapshot
    return { version, format, value: JSON.parse(text) as JsonObject }
  }

  async putBlob(tenant: string, content: Uint8Array): Promise<string> {
    this.#check({ tenant, thread: 'any' })
    checkBlob(content)
    const hash = blobHash(content)
    const blobs = this.#blobs.get(tenant) ?? new Map<string, Blob>()
    const blob = blobs.get(hash) ?? {
      content: content.slice(),
      threads: new Set(),
      isWaiting: true,
    }
    blob.isWaiting = true
    blobs.set(hash, blob)
    this.#blobs.set(tenant, blobs)
    return hash
  }

  async readBlob(tenant: string, hash: string): Promise<Uint8Array | undefined> {
    this.#check({ tenant, thread: 'any' })
    return this.#blobs.get(tenant)?.get(hash)?.content.slice()
  }

  async erase(key: ThreadKey): Promise<void> {
    this.#check(key)
    const name = nameOf(key)
    const log = this.#logs.get(name)
    if (log === undefined) return
    const links: Link[] = log.entries.map(({ seq, type, content, header }) => {
      return { seq, type, content, header }
    })
    const seq = links.length + 1
    const previous = headAt(log, links.length)
    links.push(erasedEntry(log.key, { seq, previous, at: this.#now() }))
    this.#tombstones.set(name, { key: log.key, links })
    this.#logs.delete(name)
    this.#releaseBlobs(key)
    this.#tell(key, 0)
  }

  async eraseTenant(tenant: string): Promise<void> {
    this.#check({ tenant, thread: 'any' })
    const keys = [...this.#logs.values()].map((log) => log.key)
    for (const key of keys) if (key.tenant === tenant) await this.erase(key)
    this.#blobs.delete(tenant)
  }

  async tenants(
    options: { readonly after?: string; readonly limit?: number } = {},
  ): Promise<readonly string[]> {
    this.#check({ tenant: 'any', thread: 'any' })
    const { after, limit } = checkListOptions(options, 'tenant')
    const all = [...this.#logs.values(), ...this.#tombstones.values()].map(({ key }) => key.tenant)
    const later = [...new Set(all)].filter((tenant) => compareNames(tenant, after) > 0)
    return later.sort(compareNames).slice(0, limit)
  }

  async watch(listener: WatchListener): Promise<Watch> {
    this.#check({ tenant: 'any', thread: 'any' })
    return this.#watchers.add(listener)
  }

  async lease(key: ThreadKey, options: LeaseOptions): Promise<Lease | undefined> {
    this.#check(key)
    checkLease(options)
    return this.#leases.take(key, options)
  }

  async *verify(key?: ThreadKey): AsyncGenerator<Problem> {
    this.#check(key ?? { tenant: 'any', thread: 'any' })
    const isAsked = (own: ThreadKey): boolean => key === undefined || nameOf(own) === nameOf(key)
    for (const log of this.#logs.values()) {
      if (!isAsked(log.key)) continue
      const end = { version: log.entries.length, head: headAt(log, log.entries.length) }
      const walk = new ChainWalk(log.key, log.salt)
      for (const entry of log.entries) yield* walk.check(entry)
      yield* walk.finish(end)
    }
    for (const { key: own, links } of this.#tombstones.values()) {
      if (!isAsked(own)) continue
      const walk = new ChainWalk(own, undefined)
      for (const link of links) yield* walk.check(link)
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#logs.clear()
    this.#tombstones.clear()
    this.#blobs.clear()
    this.#watchers.clear()
  }

  /** Told a moment later, as by any other store: whoever appended goes on first. */
  #tell({ tenant, thread }: ThreadKey, version: number): void {
    queueMicrotask(() => this.#watchers.tell({ type: 'changed', tenant, thread, version }))
  }

  #check(key: ThreadKey): void {
    if (this.#isClosed) throw storeClosed()
    checkKey(key)
  }

  #useBlobs(key: ThreadKey, entries: readonly ChainedEntry[]): void {
    const blobs = this.#blobs.get(key.tenant)
    if (blobs === undefined) return
    for (const hash of entries.flatMap(namedHashes)) {
      const blob = blobs.get(hash)
      if (blob === undefined) continue
      blob.threads.add(key.thread)
      blob.isWaiting = false
    }
  }

  #releaseBlobs(key: ThreadKey): void {
    const blobs = this.#blobs.get(key.tenant)
    for (const [hash, blob] of blobs ?? []) {
      if (!blob.threads.delete(key.thread)) continue
      if (blob.threads.size === 0 && !blob.isWaiting) blobs?.delete(hash)
    }
  }
}

/** One name for one key, whatever characters its parts hold. */
function nameOf(key: ThreadKey): string {
  return JSON.stringify([key.tenant, key.thread])
}

function createLog(key: ThreadKey, now: number): Log {
  const { tenant, thread } = key
  const salt = createSalt()
  return { key: { tenant, thread }, salt, entries: [], createdAt: now, updatedAt: now, bytes: 0 }
}

/** Answers an append whose entries are already there as it was answered the first time; anything else is a conflict. */
function repeatedAppend(
  key: ThreadKey,
  log: Log | undefined,
  written: readonly WrittenEntry[],
  expected: number,
): AppendResult {
  const version = expected + written.length
  const actual = log?.entries.length ?? 0
  const isThere = written.every(
    ({ seq, text }) =>
      log !== undefined && log.entries[seq - 1]?.content === contentHash(log.salt, text),
  )
  if (version > actual || !isThere) throw versionConflict(key, { expected, actual })
  return { version, head: log === undefined ? genesis : headAt(log, version) }
}

function headAt(log: Log, version: number): string {
  return log.entries[version - 1]?.header ?? genesis
}

function infoOf(log: Log): ThreadInfo {
  const { key, entries, createdAt, updatedAt, bytes } = log
  const version = entries.length
  return { thread: key.thread, version, head: headAt(log, version), createdAt, updatedAt, bytes }
}

/** The newest first. */
function compareAges(a: ThreadPosition, b: ThreadPosition): number {
  return b.updatedAt - a.updatedAt || compareNames(a.thread, b.thread)
}

/** The order of UTF-8 bytes, as databases sort: JavaScript's own order differs outside the basic plane. */
function compareNames(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}
