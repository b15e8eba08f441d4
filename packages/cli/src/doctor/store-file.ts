// Direct access to a store file: reads every thread of every tenant as far as possible, even if the
// store itself does not open.

import { statSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import {
  type Entry,
  isReadOnly,
  OrielError,
  openForReading,
  pragma,
  SqliteReader,
  type Store,
  sqliteStore,
  type ThreadKey,
  type ThreadState,
} from 'oriel'
import { type Choice, isChosen, nameOf } from './store-options.ts'

/** How long to wait for a lock of another process. */
const busyTimeoutMs = 5000

// Primary result codes of SQLite: https://sqlite.org/rescode.html
const corrupt = 11
const cannotOpen = 14
const notADatabase = 26

/** Settings in the file before the store opened it. */
export interface FileSettings {
  readonly journalMode: string
  readonly schema: number
  readonly pageSize: number
}

/**
 * Guarantees:
 * - Rejects a missing or empty file; creates nothing.
 * - While this is open, closing the store does not truncate the write-ahead log, so that damage in
 *   it can be copied.
 */
export class StoreFile {
  readonly path: string
  readonly settings: FileSettings
  /**
   * Nothing can be written at the file's location. The store cannot be opened, but its threads can
   * be read.
   */
  readonly isReadOnly: boolean
  readonly #database: DatabaseSync
  readonly #reader: SqliteReader
  #store: Store

  constructor(path: string) {
    checkFile(path)
    this.path = path
    this.isReadOnly = isReadOnly(path)
    const { database, settings } = openFile(path)
    this.#database = database
    this.settings = settings
    this.#reader = new SqliteReader(database)
    this.#store = sqliteStore(path, { busyTimeoutMs })
  }

  get store(): Store {
    return this.#store
  }

  /** Opens the store. Throws if the file as a whole is damaged. */
  async open(): Promise<void> {
    await this.#store.list('default', { limit: 1 })
  }

  /**
   * Opens the store although acknowledged entries are missing, and accepts the rest as the whole
   * log.
   */
  async openTruncated(): Promise<void> {
    const store = sqliteStore(this.path, { busyTimeoutMs, truncated: 'accept' })
    try {
      await store.list('default', { limit: 1 })
    } finally {
      await store.close()
    }
    await this.#store.close()
    this.#store = sqliteStore(this.path, { busyTimeoutMs })
    await this.open()
  }

  /** The first complaint of SQLite's integrity check, if any. */
  complaint(): string | undefined {
    const answer = reading(this.path, () => String(pragma(this.#database, 'integrity_check')))
    return answer === 'ok' ? undefined : answer
  }

  /**
   * The selected threads in order of creation, including erased ones. If the list is damaged, it
   * yields everything that can be found, then throws; the details name the `lost` threads.
   */
  *threads(choice: Choice): Generator<ThreadState> {
    const passed = new Set<string>()
    try {
      for (const state of this.#list()) {
        passed.add(JSON.stringify([state.key.tenant, state.key.thread]))
        if (isChosen(choice, state.key)) yield state
      }
    } catch (error) {
      if (!isDamage(error)) throw error
      const lost: string[] = []
      for (const key of this.#names()) {
        if (passed.has(JSON.stringify([key.tenant, key.thread])) || !isChosen(choice, key)) continue
        const state = this.#find(key)
        if (state === undefined) lost.push(nameOf(key))
        else yield state
      }
      throw damagedList(this.path, lost, error)
    }
  }

  *#list(): Generator<ThreadState> {
    let last = 0
    for (;;) {
      const page = reading(this.path, () => this.#reader.threadsAfter(last))
      if (page.length === 0) return
      for (const state of page) {
        // A damaged page may return rows in any order, or repeat them forever.
        if (state.id <= last) throw damagedFile(this.path, corrupt)
        last = state.id
        yield state
      }
    }
  }

  /** Thread names, as far as the index can be read. */
  *#names(): Generator<ThreadKey> {
    const names = this.#reader.names()
    for (;;) {
      let next: IteratorResult<ThreadKey>
      try {
        next = reading(this.path, () => names.next())
      } catch (error) {
        if (!isDamage(error)) throw error
        return
      }
      if (next.done === true) return
      yield next.value
    }
  }

  #find(key: ThreadKey): ThreadState | undefined {
    try {
      return reading(this.path, () => this.#reader.thread(key))
    } catch (error) {
      if (!isDamage(error)) throw error
      return undefined
    }
  }

  /**
   * A thread's entries up to `last`, each verified by its hash. Works without opening the store.
   * Throws 'corrupt-entry' or 'log-truncated' at the first damaged or missing entry; ends early if
   * the thread is erased.
   */
  *entries({ key }: ThreadState, last: number): Generator<Entry> {
    for (let next = 1; next <= last; ) {
      const page = reading(this.path, () => {
        const state = this.#reader.thread(key)
        return state?.salt === undefined ? [] : this.#reader.entries(state, next, last)
      })
      if (page.length === 0) return
      yield* page
      next += page.length
    }
  }

  /** Runs `copy` while no process can change the file and its log. */
  frozen<T>(copy: () => T): T {
    this.#database.exec('begin')
    try {
      // The transaction takes its lock with the first read.
      pragma(this.#database, 'user_version')
      return copy()
    } finally {
      this.#database.exec('commit')
    }
  }

  async close(): Promise<void> {
    // The store closes last, so that SQLite cleans up its log files.
    this.#reader.close()
    await this.#store.close()
  }

  /** Closes without cleanup, so that a damaged write-ahead log is preserved. */
  async leave(): Promise<void> {
    await this.#store.close()
    this.#reader.close()
  }
}

/** True if the error means damaged pages, rather than a foreign, locked or forbidden file. */
export function isDamage(error: unknown): error is OrielError {
  if (!OrielError.is(error)) return false
  const code = Number(error.details?.sqlite ?? 0) & 0xff
  return code === corrupt || code === notADatabase
}

function checkFile(path: string): void {
  let size: number
  try {
    const stat = statSync(path)
    if (!stat.isFile()) throw notAStore(path)
    size = stat.size
  } catch (cause) {
    if (OrielError.is(cause)) throw cause
    throw new OrielError(
      'storage-failed',
      `there is no store at ${path}; name one with --data or --store.`,
      { cause },
    )
  }
  // SQLite would turn an empty file into a new database.
  if (size === 0) throw notAStore(path)
}

/** Opens a file for reading, even a truncated one. */
function openFile(path: string): { database: DatabaseSync; settings: FileSettings } {
  const open = (isCut: boolean): { database: DatabaseSync; settings: FileSettings } =>
    reading(path, () => {
      const database = openForReading(path, busyTimeoutMs, { isCut })
      try {
        return { database, settings: settingsOf(database) }
      } catch (error) {
        database.close()
        throw error
      }
    })
  try {
    return open(false)
  } catch (error) {
    if (!isDamage(error)) throw error
    return open(true)
  }
}

function settingsOf(database: DatabaseSync): FileSettings {
  return {
    schema: Number(pragma(database, 'user_version')),
    journalMode: String(pragma(database, 'journal_mode')),
    pageSize: Number(pragma(database, 'page_size')),
  }
}

/** Wraps SQLite errors of the library's read functions in a readable error. */
function reading<T>(path: string, read: () => T): T {
  try {
    return read()
  } catch (cause) {
    if (OrielError.is(cause)) throw cause
    const code = cause instanceof Error && 'errcode' in cause ? Number(cause.errcode) : 0
    if ((code & 0xff) === notADatabase) throw notAStore(path)
    if ((code & 0xff) === corrupt) throw damagedFile(path, code, cause)
    if ((code & 0xff) === cannotOpen && isReadOnly(path)) throw needsCopy(path, cause)
    throw new OrielError(
      'storage-failed',
      `The file ${path} cannot be read (SQLite code ${code}). Check its permissions, or end the process that locks it.`,
      { cause, details: { sqlite: code } },
    )
  }
}

function needsCopy(path: string, cause: unknown): OrielError {
  return new OrielError(
    'storage-failed',
    `The store at ${path} was not closed, and nothing can be written there, so that its write-ahead log cannot be read. Copy ${path} and ${path}-wal to another folder and name the copy with --store.`,
    { cause, details: { sqlite: cannotOpen } },
  )
}

function damagedFile(path: string, code: number, cause?: unknown): OrielError {
  return new OrielError(
    'storage-failed',
    `The file ${path} is damaged (SQLite code ${code}). Put a backup in its place.`,
    { cause, details: { sqlite: code } },
  )
}

function damagedList(path: string, lost: readonly string[], cause: OrielError): OrielError {
  const names = lost.slice(0, 20).join(', ')
  const named = lost.length === 0 ? '' : ` Among them: ${names}${lost.length > 20 ? ' ...' : ''}.`
  return new OrielError(
    'storage-failed',
    `The list of threads in ${path} is damaged, and some may be missing.${named} Put a backup in its place.`,
    { cause, details: { sqlite: corrupt, lost } },
  )
}

function notAStore(path: string): OrielError {
  return new OrielError(
    'storage-failed',
    `${path} is not a store of Oriel and was left as it is; name one with --data or --store.`,
  )
}
