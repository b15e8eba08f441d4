// The one writer of a database: groups of operations become one transaction, and nothing is acknowledged on a connection in doubt.

import type { DatabaseSync } from 'node:sqlite'
import { assertNever, OrielError } from '../../core/log/errors.ts'
import type { AppendBatch, BlobRow, Erasure, IndexBatch, SnapshotRow } from '../backend.ts'
import type { ThreadKey } from '../store.ts'
import { ChainWalk } from '../stored/chain.ts'
import { genesis } from '../stored/entry-form.ts'
import { truncated } from '../stored/errors.ts'
import { linksOf } from '../stored/rows.ts'
import { closeDatabase, openForWriting, pragma, setLight } from './database.ts'
import {
  damagedThread,
  isBusy,
  isFatal,
  lostEntries,
  movedFile,
  movedLog,
  scrubError,
  storageError,
} from './errors.ts'
import { fileIdentity, LogFile } from './files.ts'
import { HighWater } from './high-water.ts'
import { SqliteReader } from './read.ts'
import { SqliteLog, type ValueChange } from './write.ts'

/** What the writer can be asked to do. */
export type Operation =
  | { readonly type: 'append'; readonly batch: AppendBatch }
  | { readonly type: 'snapshot'; readonly key: ThreadKey; readonly snapshot: SnapshotRow }
  | { readonly type: 'blob'; readonly tenant: string; readonly blob: BlobRow }
  | { readonly type: 'value'; readonly change: ValueChange }
  | { readonly type: 'index'; readonly batch: IndexBatch }
  | { readonly type: 'erase'; readonly erasure: Erasure }
  | { readonly type: 'erase-tenant'; readonly tenant: string }
  /** Finishes the erasures that were begun. */
  | { readonly type: 'scrub' }
  /** SQLite's own check of the file: a list of complaints, empty when it is sound. */
  | { readonly type: 'check' }
  /** Copies the write-ahead log into the database. */
  | { readonly type: 'checkpoint' }
  /** Makes durable what was committed without waiting for the disk. */
  | { readonly type: 'sync' }
  /** Makes durable what reads show of a thread: a write that failed, or one of another process, may have left it to the page cache. */
  | { readonly type: 'confirm'; readonly key: ThreadKey }
  /** A commit of another connection of this process failed and left these threads in doubt. */
  | { readonly type: 'doubt'; readonly keys: readonly ThreadKey[] }

export type Outcome =
  | { readonly ok: true; readonly value: boolean | readonly string[] | undefined }
  | { readonly ok: false; readonly error: OrielError }

export type Attempt =
  | { readonly outcomes: readonly Outcome[] }
  /** Nothing is acknowledged. In doubt: a commit failed in a way that leaves its outcome open. */
  | { readonly outcomes?: never; readonly isInDoubt: boolean }

export interface SessionSettings {
  readonly path: string
  readonly busyTimeoutMs: number
  readonly truncated: 'refuse' | 'accept'
  /**
   * Whether commits do only what they are asked for: they copy nothing of the write-ahead log into the database, and sync it by
   * themselves where that is wanted, since telling SQLite before each one costs more than the rest of it. @default false
   */
  readonly isLight?: boolean
}

interface Connection {
  readonly database: DatabaseSync
  readonly log: SqliteLog
  readonly highWater: HighWater
  readonly logFile: LogFile
  readonly identity: string
}

/** After an I/O error, the newest entries of every thread in doubt are checked before anything is acknowledged. */
const recheckedEntries = 1000

export class WriterConnection {
  readonly #settings: SessionSettings
  /** Does nothing, except in tests: they stop the process or fail the operation at a named point. */
  readonly #at: (point: string) => void
  #connection: Connection | undefined
  /** Threads whose last write failed in a way that leaves its outcome open. */
  readonly #doubtful = new Map<string, ThreadKey>()
  #generation = 0
  /** The file that was opened first. */
  #identity: string | undefined
  /** Whether space of erased content was not given back yet. */
  #hasFreePages = false
  /** Set when the write-ahead log was removed: the error of every operation from then on. */
  #refusal: OrielError | undefined

  constructor(settings: SessionSettings, at: (point: string) => void = () => {}) {
    this.#settings = settings
    this.#at = at
  }

  /** Grows whenever the file was opened again. */
  get generation(): number {
    return this.#generation
  }

  /** Opens the file and checks that what was acknowledged is there. */
  open(): void {
    this.#connected()
  }

  /** Never throws. */
  close(): void {
    const connection = this.#connection
    if (connection === undefined) return
    // Without this check, the next connection would begin a new log and miss what only the removed one has.
    this.#checkLog(connection)
    this.#connection = undefined
    closeAll(connection)
  }

  /** Performs operations in order, neighbours of one kind in one transaction. Never throws: each gets its outcome. */
  execute(operations: readonly Operation[]): readonly Outcome[] {
    const outcomes: Outcome[] = []
    let start = 0
    while (start < operations.length) {
      const kind = kindOf(operations[start] as Operation)
      let end = start + 1
      while (end < operations.length && kindOf(operations[end] as Operation) === kind) end++
      outcomes.push(...this.#perform(kind, operations.slice(start, end)))
      start = end
    }
    return outcomes
  }

  /** One attempt at one transaction, without waiting for anybody; without `isSynced` not for the disk either. */
  attempt(operations: readonly Operation[], { isSynced = true } = {}): Attempt {
    try {
      return { outcomes: this.#transact(this.#connected(), operations, isSynced) }
    } catch (error) {
      this.#rollback()
      const isInDoubt = this.#isFatal(error)
      if (isInDoubt) this.#abandon([])
      return { isInDoubt }
    }
  }

  #perform(kind: Kind, operations: readonly Operation[]): readonly Outcome[] {
    if (kind === 'aside') return operations.map((operation) => this.#aside(operation))
    const outcomes = this.#commit(operations)
    if (kind === 'write' || this.#connection === undefined) return outcomes
    try {
      this.#scrub(this.#connection)
      return outcomes
    } catch (error) {
      return outcomes.map((outcome) =>
        outcome.ok ? { ok: false, error: scrubError(error) } : outcome,
      )
    }
  }

  #commit(operations: readonly Operation[]): readonly Outcome[] {
    try {
      const connection = this.#connected()
      return this.#transact(connection, operations)
    } catch (error) {
      this.#rollback()
      if (this.#isFatal(error)) this.#abandon(operations)
      // One operation that does not fit must not fail its neighbours.
      else if (operations.length > 1 && !isBusy(error) && this.#connection !== undefined) {
        return operations.flatMap((operation) => this.#commit([operation]))
      }
      return operations.map(() => ({ ok: false, error: storageError(error) }))
    }
  }

  #transact(
    connection: Connection,
    operations: readonly Operation[],
    isSynced = true,
  ): readonly Outcome[] {
    const { log, highWater } = connection
    this.#at('begin')
    log.begin()
    const outcomes = operations.map((operation) => apply(log, operation))
    const mark = log.newest()
    this.#at('before-commit')
    log.commit()
    this.#at('after-commit')
    if (isSynced) {
      if (this.#settings.isLight === true) this.#sync(connection)
      else this.#checkIdentity(connection)
      // The mark is never ahead of what is durable.
      highWater.raise(mark)
    }
    this.#at('before-acknowledge')
    return outcomes
  }

  /** Makes durable what was committed without waiting for the disk. */
  #sync(connection: Connection): void {
    this.#at('sync')
    connection.logFile.sync()
    this.#checkIdentity(connection)
  }

  #confirm(key: ThreadKey): void {
    const connection = this.#connected()
    try {
      const mark = connection.log.newest()
      this.#sync(connection)
      connection.highWater.raise(mark)
    } catch (error) {
      // The kernel reports a failed sync once: a second one on this connection would succeed without the data.
      if (this.#isFatal(error)) this.#doubt([key])
      throw error
    }
  }

  /** Nothing is acknowledged that went to a file which no other process and no later one will find. */
  #checkIdentity(connection: Connection): void {
    if (fileIdentity(this.#settings.path) !== connection.identity)
      throw new Error('The database file was moved or replaced while it was open.')
    this.#checkLog(connection)
    if (this.#refusal !== undefined) throw this.#refusal
  }

  /**
   * Where the write-ahead log was removed or replaced, this connection still has the old one open: all of it is copied into the
   * database, and from then on every operation is refused. A new connection would mix two logs.
   */
  #checkLog({ database, logFile, identity }: Connection): void {
    if (this.#refusal !== undefined || logFile.isInPlace()) return
    // Where the database went too, that is the error; it may be put back.
    if (fileIdentity(this.#settings.path) !== identity) return
    const isSaved = copyLog(database)
    this.#refusal = movedLog({ isSaved })
    if (isSaved) logFile.setReplacementAside()
  }

  #isFatal(error: unknown): boolean {
    return isFatal(error) || (error !== undefined && error === this.#refusal)
  }

  /** What is no transaction. */
  #aside(operation: Operation): Outcome {
    try {
      if (operation.type === 'doubt') this.#doubt(operation.keys)
      if (operation.type === 'checkpoint') checkpoint(this.#connected().database)
      if (operation.type === 'sync') this.#sync(this.#connected())
      if (operation.type === 'confirm') this.#confirm(operation.key)
      const value = operation.type === 'check' ? complaints(this.#connected().database) : undefined
      return { ok: true, value }
    } catch (error) {
      // A log that cannot be copied now is copied later.
      if (operation.type === 'checkpoint' && !isFatal(error)) return { ok: true, value: undefined }
      return { ok: false, error: storageError(error) }
    }
  }

  /**
   * Rewrites the file and empties the write-ahead log. `secure_delete` overwrites what is deleted, but not the copies that SQLite leaves in
   * the unused part of a page when it moves rows to another one.
   */
  #scrub({ database, log }: Connection): void {
    if (!log.needsScrub()) return
    this.#at('erase:before-rewrite')
    rewrite(database)
    this.#at('erase:after-rewrite')
    emptyLog(database)
    this.#at('erase:before-confirm')
    log.confirmScrub()
    this.#hasFreePages = true
  }

  /** Gives some of the space of erased content back to the file system. True when there is more of it. Never throws. */
  shrink(): boolean {
    const connection = this.#connection
    if (!this.#hasFreePages || connection === undefined) return false
    try {
      this.#hasFreePages = shrink(connection.database)
    } catch {
      // Another process writes, or the disk failed: free pages are used again, and the next erasure gives them back.
      this.#hasFreePages = false
    }
    return this.#hasFreePages
  }

  /** The connection, opened and checked if need be. */
  #connected(): Connection {
    if (this.#refusal !== undefined) throw this.#refusal
    if (this.#connection !== undefined) return this.#connection
    const { path, busyTimeoutMs, isLight = false } = this.#settings
    // Another file in its place, or none, must not take its name.
    if (this.#identity !== undefined && fileIdentity(path) !== this.#identity) throw movedFile()
    const connection = connect(path, openForWriting(path, { busyTimeoutMs, at: this.#at }))
    const { database } = connection
    try {
      this.#checkMark(connection)
      if (this.#doubtful.size > 0) this.#recheck(database)
      this.#scrub(connection)
      if (isLight) setLight(database)
      this.#doubtful.clear()
      this.#generation++
      this.#identity = connection.identity
      this.#connection = connection
      return connection
    } catch (error) {
      closeAll(connection)
      throw error
    }
  }

  #checkMark({ log, highWater }: Connection): void {
    // The mark is read before the log: another process may raise both meanwhile, the log first.
    const mark = highWater.read()
    if (mark !== undefined && log.holds(mark)) return
    const newest = log.newest()
    if (mark !== undefined && this.#settings.truncated === 'refuse') {
      const { position } = mark
      throw lostEntries(this.#settings.path, { position, found: newest.position })
    }
    highWater.reset(newest)
  }

  /**
   * After a failed commit the frames may be in the write-ahead log although the disk never got them. Copying the log into the
   * database writes and syncs them afresh; then the threads in doubt must hold together.
   */
  #recheck(database: DatabaseSync): void {
    emptyLog(database)
    const reader = new SqliteReader(database)
    for (const key of this.#doubtful.values()) {
      const state = reader.thread(key)
      if (state === undefined) continue
      const from = Math.max(1, state.version - recheckedEntries + 1)
      const before = from === 1 ? genesis : reader.page(key, from, from)?.previous
      if (before === undefined) throw truncated(key, from - 1)
      const walk = new ChainWalk(key, state.salt, { seq: from - 1, header: before })
      const problems = []
      for (let next = from; next <= state.version; ) {
        const page = reader.page(key, next, state.version)
        const links = page === undefined ? [] : linksOf(page)
        if (links.length === 0) break
        problems.push(...links.flatMap((link) => walk.check(link)))
        next = (links.at(-1)?.seq ?? next) + 1
      }
      problems.push(...walk.finish(state))
      const [first] = problems
      if (first !== undefined) throw damagedThread(key, first.message)
    }
  }

  #rollback(): void {
    try {
      this.#connection?.database.exec('rollback')
    } catch {
      // No transaction was open: SQLite has already rolled back, or never began.
    }
  }

  /** Gives up a connection after an error that leaves the outcome open. */
  #abandon(operations: readonly Operation[]): void {
    if (this.#connection === undefined) return
    this.#doubt(appendedTo(operations))
  }

  /** Gives up the connection; before the next operation these threads are checked. */
  #doubt(keys: readonly ThreadKey[]): void {
    for (const key of keys) this.#doubtful.set(JSON.stringify([key.tenant, key.thread]), key)
    this.close()
  }
}

/** Opens what belongs to a database beside it. */
function connect(path: string, database: DatabaseSync): Connection {
  let logFile: LogFile | undefined
  try {
    logFile = new LogFile(path)
    const highWater = new HighWater(path)
    return {
      database,
      highWater,
      logFile,
      log: new SqliteLog(database),
      identity: fileIdentity(path),
    }
  } catch (error) {
    logFile?.close()
    closeDatabase(database)
    throw error
  }
}

/** Never throws. */
function closeAll({ highWater, logFile, database }: Connection): void {
  logFile.close()
  highWater.close()
  closeDatabase(database)
}

/** Logical refusals are outcomes; everything else ends the transaction. */
function apply(log: SqliteLog, operation: Operation): Outcome {
  try {
    return { ok: true, value: perform(log, operation) }
  } catch (error) {
    if (OrielError.is(error)) return { ok: false, error }
    throw error
  }
}

function perform(log: SqliteLog, operation: Operation): boolean | undefined {
  switch (operation.type) {
    case 'append':
      return log.append(operation.batch)
    case 'snapshot':
      return log.saveSnapshot(operation.key, operation.snapshot)
    case 'value':
      return log.putValue(operation.change)
    case 'index':
      return log.index(operation.batch)
    case 'erase':
      return log.erase(operation.erasure)
    case 'blob':
      log.putBlob(operation.tenant, operation.blob)
      return undefined
    case 'erase-tenant':
      log.eraseTenant(operation.tenant)
      return undefined
    case 'scrub':
    case 'check':
    case 'checkpoint':
    case 'sync':
    case 'confirm':
    case 'doubt':
      return undefined
    default:
      return assertNever(operation)
  }
}

/** The threads that operations write to. */
export function appendedTo(operations: readonly Operation[]): readonly ThreadKey[] {
  const keys: ThreadKey[] = []
  for (const operation of operations) {
    if (operation.type === 'append') keys.push(operation.batch.key)
  }
  return keys
}

/** Erasures share one emptying of the write-ahead log; what is no transaction stands alone. */
type Kind = 'write' | 'erase' | 'aside'

const asides: readonly Operation['type'][] = ['check', 'checkpoint', 'sync', 'confirm', 'doubt']

const erasures: readonly Operation['type'][] = ['erase', 'erase-tenant', 'scrub']

function kindOf({ type }: Operation): Kind {
  if (asides.includes(type)) return 'aside'
  return erasures.includes(type) ? 'erase' : 'write'
}

/** Frames of the write-ahead log from which on writers wait, so that it begins anew. */
const longLogFrames = 8000

/** SQLite's own check of the file. */
function complaints(database: DatabaseSync): readonly string[] {
  const rows = database.prepare('pragma integrity_check').all()
  const lines = rows.map((row) => String(Object.values(row)[0]))
  return lines.filter((line) => line !== 'ok')
}

/** Copies what it can without keeping anybody waiting; only a long log makes writers wait until it can begin anew. */
function checkpoint(database: DatabaseSync): void {
  const row = database.prepare('pragma wal_checkpoint(passive)').get()
  if (Number(row?.log ?? 0) > longLogFrames) database.exec('pragma wal_checkpoint(restart)')
}

/** Copies the write-ahead log into the database, synced. True when all of it was copied. */
function copyLog(database: DatabaseSync): boolean {
  try {
    const row = database.prepare('pragma wal_checkpoint(full)').get()
    return row?.busy === 0 && row.log === row.checkpointed
  } catch {
    return false
  }
}

/** Pages that one batch of shrinking gives back: a transaction of about a megabyte. */
const shrinkPages = 256

/** The value of `auto_vacuum` for files whose free pages are given back in batches. */
const incremental = 2

/** Whether free pages can be given back in batches. */
function isIncremental(database: DatabaseSync): boolean {
  return pragma(database, 'auto_vacuum') === incremental
}

/** Rewrites the whole file: nothing of what was deleted is left in it. */
function rewrite(database: DatabaseSync): void {
  database.exec('pragma auto_vacuum = incremental; vacuum')
}

/** Gives a batch of free pages back to the file system. True when there are more. */
function shrink(database: DatabaseSync): boolean {
  if (!isIncremental(database)) return false
  database.prepare(`pragma incremental_vacuum(${shrinkPages})`).all()
  return Number(pragma(database, 'freelist_count')) > 0
}

/** Copies the write-ahead log into the database, synced, and leaves it empty. */
function emptyLog(database: DatabaseSync): void {
  const row = database.prepare('pragma wal_checkpoint(truncate)').get()
  if (row?.busy === 0) return
  throw new OrielError(
    'storage-failed',
    'Another process is reading the database, so that its write-ahead log cannot be emptied. Retry, or end that process.',
  )
}
