// Rows in one database file: writes wait in a line for this thread or the worker, reads use a connection of their own. Changes and
// leases hold within this process: others on the same file are not heard.

import type {
  AppendBatch,
  BlobRow,
  Erasure,
  FoundSnapshot,
  LogBackend,
  LogPage,
  SearchIndex,
  SnapshotRow,
  ThreadQuery,
  ThreadRow,
  ValueKey,
  ValueRow,
} from '../backend.ts'
import type { ThreadKey } from '../store.ts'
import { openForReading } from './database.ts'
import { readError } from './errors.ts'
import { SqliteReader } from './read.ts'
import type { WriterSettings } from './write-queue.ts'
import { SqliteWriter } from './write-queue.ts'
import type { Operation } from './writer-connection.ts'

/** What an operation takes in memory beside its content. */
const operationBytes = 200

export class SqliteBackend implements LogBackend {
  readonly name = 'sqlite'
  readonly search: SearchIndex = {
    index: async (batch) => {
      const bytes = batch.passages.reduce((sum, { tokens }) => sum + tokens.length, 0)
      return (await this.#write({ type: 'index', batch }, bytes)) as boolean
    },
    unindexed: (scope, limit) => this.#read((reader) => reader.unindexed(scope, limit)),
    count: (scope) => this.#read((reader) => reader.countPassages(scope)),
    find: (scope, terms, limit) => this.#read((reader) => reader.findPassages(scope, terms, limit)),
    passages: (tenant, ids) => this.#read((reader) => reader.passages(tenant, ids)),
  }
  readonly #settings: WriterSettings
  readonly #writer: SqliteWriter
  #reader: { readonly generation: number; readonly reader: SqliteReader } | undefined

  constructor(settings: WriterSettings) {
    this.#settings = settings
    this.#writer = new SqliteWriter(settings)
  }

  async append(batch: AppendBatch): Promise<boolean> {
    return (await this.#write({ type: 'append', batch }, batch.bytes)) as boolean
  }

  async confirm(key: ThreadKey): Promise<void> {
    await this.#write({ type: 'confirm', key })
  }

  async erase(erasure: Erasure): Promise<boolean> {
    return (await this.#write({ type: 'erase', erasure })) as boolean
  }

  async eraseTenant(tenant: string): Promise<void> {
    await this.#write({ type: 'erase-tenant', tenant })
  }

  async scrub(): Promise<void> {
    await this.#write({ type: 'scrub' })
  }

  thread(key: ThreadKey): Promise<ThreadRow | undefined> {
    return this.#read((reader) => reader.thread(key))
  }

  page(key: ThreadKey, from: number, to: number): Promise<LogPage | undefined> {
    return this.#read((reader) => reader.page(key, from, to))
  }

  findExternal(key: ThreadKey, external: Uint8Array): Promise<readonly number[]> {
    return this.#read((reader) => reader.findExternal(key, external))
  }

  threads(query: ThreadQuery): Promise<readonly ThreadRow[]> {
    return this.#read((reader) => reader.threads(query))
  }

  tenants(page: { readonly after: string; readonly limit: number }): Promise<readonly string[]> {
    return this.#read((reader) => reader.tenants(page))
  }

  async saveSnapshot(key: ThreadKey, snapshot: SnapshotRow): Promise<boolean> {
    const bytes = snapshot.text.length
    return (await this.#write({ type: 'snapshot', key, snapshot }, bytes)) as boolean
  }

  loadSnapshot(key: ThreadKey): Promise<FoundSnapshot | undefined> {
    return this.#read((reader) => reader.snapshot(key))
  }

  async putBlob(tenant: string, blob: BlobRow): Promise<void> {
    await this.#write({ type: 'blob', tenant, blob }, blob.content.length)
  }

  readBlob(tenant: string, hash: string): Promise<Uint8Array | undefined> {
    return this.#read((reader) => reader.blob(tenant, hash))
  }

  async putValue(
    key: ValueKey,
    text: string | undefined,
    before?: { readonly text: string | undefined },
  ): Promise<boolean> {
    const value = text === undefined ? { key } : { key, text }
    const change = before === undefined ? value : { ...value, before }
    return (await this.#write({ type: 'value', change }, text?.length)) as boolean
  }

  readValue(key: ValueKey): Promise<string | undefined> {
    return this.#read((reader) => reader.value(key))
  }

  listValues(
    place: Omit<ValueKey, 'name'>,
    page: { readonly after: string; readonly limit: number },
  ): Promise<readonly ValueRow[]> {
    return this.#read((reader) => reader.values(place, page))
  }

  async check(): Promise<readonly string[]> {
    return (await this.#write({ type: 'check' })) as readonly string[]
  }

  async close(): Promise<void> {
    this.#reader?.reader.close()
    this.#reader = undefined
    await this.#writer.close()
  }

  #write(operation: Operation, bytes = 0): Promise<unknown> {
    return this.#writer.perform(operation, bytes + operationBytes)
  }

  /** Runs a synchronous read on a connection to the file that the writer has open. */
  async #read<T>(read: (reader: SqliteReader) => T): Promise<T> {
    await this.#writer.open()
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
}
