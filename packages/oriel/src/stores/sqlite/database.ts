// Opens a database file: checks what it is, sets what durability needs, and brings its schema up to date.

import { accessSync, constants, openSync, readSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { assert, OrielError } from '../../core/log/errors.ts'
import { isBusy, isUnfinished } from './errors.ts'
import { closeQuietly, prepareFile } from './files.ts'
import type { Migration } from './schema.ts'
import { applicationId, migrations } from './schema.ts'

/** The first version without the bug that can damage a database when two connections write and checkpoint at once. */
export const minSqliteVersion = '3.51.3'

/** What every database file begins with. */
const magic = 'SQLite format 3\0'

/** A page of 4 KiB keeps commits small; larger pages save a few percent of the disk. */
const pageSize = 4096

/** A write-ahead log that grew beyond this is cut back when it is empty again. */
const maxIdleLogBytes = 64 * 1024 * 1024

export interface DatabaseOptions {
  /** How long to wait for another process's lock. */
  readonly busyTimeoutMs: number
  /** Called at every named point of the opening; tests stop the process there. */
  readonly at: (point: string) => void
  /** The steps of the schema. @default all that this version knows */
  readonly steps?: readonly Migration[]
}

/** Opens for writing. Creates the file if there is none; never touches one that this version does not know. */
export function openForWriting(path: string, options: DatabaseOptions): DatabaseSync {
  // While another process creates the file or is the last to close it, SQLite answers "busy" without waiting.
  return retryWhileBusy(options.busyTimeoutMs, () => openOnce(path, options))
}

function openOnce(path: string, options: DatabaseOptions): DatabaseSync {
  const { busyTimeoutMs, steps = migrations } = options
  prepareFile(path)
  if (statSync(path).size > 0) probe(path, busyTimeoutMs, steps)
  const database = connect(path, { readOnly: false, busyTimeoutMs })
  try {
    setDurable(database)
    migrate(database, path, options)
    return database
  } catch (error) {
    closeDatabase(database)
    throw error
  }
}

/**
 * Opens for reading only, on a file that `openForWriting` has opened before. Where nothing can be written (a mount that is read-only),
 * SQLite cannot open a file with a write-ahead log in the usual way; without a log the file is taken as one that nobody changes.
 * SQLite refuses every read of a file that is shorter than its header says; with `isCut` what is there can be read.
 */
export function openForReading(
  path: string,
  busyTimeoutMs: number,
  { isCut = false }: { readonly isCut?: boolean } = {},
): DatabaseSync {
  const isFixed = isReadOnly(path) && !hasLog(path)
  return connect(path, { readOnly: true, busyTimeoutMs, isFixed, isCut })
}

/** Whether nothing can be written beside a file: it is on a mount that is read-only, or this user may not write there. */
export function isReadOnly(path: string): boolean {
  try {
    accessSync(dirname(path), constants.W_OK)
    return false
  } catch {
    return true
  }
}

function hasLog(path: string): boolean {
  return (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0
}

/** Never throws. Whatever was acknowledged was synced before; whoever opens the file again checks it. */
export function closeDatabase(database: DatabaseSync): void {
  try {
    database.close()
  } catch {
    // The handle is gone either way.
  }
}

/** Throws 'storage-failed' unless the SQLite version is known not to damage databases. */
export function checkSqliteVersion(version: string): void {
  const [found, least] = [version, minSqliteVersion].map((text) => text.split('.').map(Number))
  for (const [index, part] of (least ?? []).entries()) {
    const own = found?.[index] ?? 0
    if (own > part) return
    if (own < part || Number.isNaN(own)) {
      throw new OrielError(
        'storage-failed',
        `This Node.js carries SQLite ${version}; at least ${minSqliteVersion} is needed, because older ones can damage a database that two processes use. Update Node.js.`,
        { details: { found: version, needed: minSqliteVersion } },
      )
    }
  }
}

/** The value of a pragma that answers with one row. */
export function pragma(database: DatabaseSync, name: string): number | string {
  const row = database.prepare(`pragma ${name}`).get() ?? {}
  const [value] = Object.values(row)
  assert(typeof value === 'number' || typeof value === 'string', `pragma ${name} has an answer`)
  return value
}

/** Loaded when a database is opened, so that the library can be imported where Node has no SQLite. */
function loadSqlite(): typeof import('node:sqlite') {
  const module = process.getBuiltinModule?.('node:sqlite')
  if (module !== undefined) return module
  throw new OrielError(
    'not-installed',
    `sqliteStore needs Node 22.13 or newer, which brings SQLite; this is Node ${process.versions.node}. Use a newer Node, or memoryStore or postgresStore.`,
  )
}

function connect(
  path: string,
  options: { readOnly: boolean; busyTimeoutMs: number; isFixed?: boolean; isCut?: boolean },
): DatabaseSync {
  const { readOnly, busyTimeoutMs, isFixed = false, isCut = false } = options
  const place = isFixed ? new URL(`${pathToFileURL(path).href}?immutable=1`) : path
  // The types of Node do not have `defensive` yet. Without it SQLite ignores the setting below.
  const { DatabaseSync } = loadSqlite()
  const database = new DatabaseSync(place, { readOnly, ...(isCut ? { defensive: false } : {}) })
  try {
    // Only for a connection that cannot write: nothing is changed by it.
    if (isCut) database.exec('pragma writable_schema = on')
    checkSqliteVersion(String(database.prepare('select sqlite_version() as v').get()?.v))
    database.exec(`pragma busy_timeout = ${Math.trunc(busyTimeoutMs)}`)
    // A damaged or hostile schema must not run functions; damaged pages are to be noticed early.
    database.exec('pragma trusted_schema = off; pragma cell_size_check = on; pragma mmap_size = 0')
    return database
  } catch (error) {
    closeDatabase(database)
    throw error
  }
}

/** Looks at an existing file without changing a byte of it, except to undo an interrupted change. */
function probe(path: string, busyTimeoutMs: number, steps: readonly Migration[]): void {
  // SQLite takes anything shorter than a header for an empty database, and would write over it.
  if (!hasMagic(path)) throw foreignFile(path)
  try {
    probeWith(connect(path, { readOnly: true, busyTimeoutMs }), path, steps)
  } catch (error) {
    if (!isUnfinished(error)) throw error
    // A process died while it changed the file. Only a connection that may write can take that back, as every reader must.
    probeWith(connect(path, { readOnly: false, busyTimeoutMs }), path, steps)
  }
}

function probeWith(database: DatabaseSync, path: string, steps: readonly Migration[]): void {
  try {
    const id = pragma(database, 'application_id')
    const tables = database.prepare('select count(*) as n from sqlite_schema').get()?.n
    if (id !== applicationId && (id !== 0 || tables !== 0)) throw foreignFile(path)
    const found = Number(pragma(database, 'user_version'))
    const supported = steps.at(-1)?.version ?? 0
    const isNew = found === 0 && tables === 0
    if (!isNew && (found < 1 || found > supported)) throw unknownSchema(path, { found, supported })
  } finally {
    closeDatabase(database)
  }
}

function hasMagic(path: string): boolean {
  const start = Buffer.alloc(magic.length)
  const descriptor = openSync(path, 'r')
  try {
    readSync(descriptor, start, 0, start.length, 0)
  } finally {
    closeQuietly(descriptor)
  }
  return start.toString('latin1') === magic
}

/**
 * From now on commits do not wait until the disk has the write-ahead log, and copy nothing of it into the database. SQLite still
 * syncs the log's new beginning after a copy, so that its order holds; a process that dies loses nothing.
 */
export function setLight(database: DatabaseSync): void {
  database.exec('pragma synchronous = normal; pragma wal_autocheckpoint = 0')
}

function setDurable(database: DatabaseSync): void {
  database.exec(`pragma page_size = ${pageSize}`)
  // Only a new file takes this setting, an older one when it is rewritten; to set it again would write to the file.
  if (pragma(database, 'page_count') === 0) database.exec('pragma auto_vacuum = incremental')
  // Deleted content is overwritten with zeros, in rows and in free pages: erasing needs no rewrite of the file.
  database.exec('pragma secure_delete = on')
  assert(pragma(database, 'journal_mode = wal') === 'wal', 'the database keeps a write-ahead log')
  database.exec('pragma synchronous = full')
  database.exec(`pragma journal_size_limit = ${maxIdleLogBytes}`)
  // With anything less than FULL an acknowledged append can vanish when the power fails.
  assert(pragma(database, 'synchronous') === 2, 'every commit is synced to the disk')
  assert(pragma(database, 'mmap_size') === 0, 'the file is not mapped into memory')
  assert(pragma(database, 'secure_delete') === 1, 'deleted content is overwritten')
}

/** Runs the missing steps in one transaction: the file has the old schema or the new one, never something between. */
function migrate(
  database: DatabaseSync,
  path: string,
  { at, steps = migrations }: DatabaseOptions,
): void {
  const latest = steps.at(-1)?.version ?? 0
  const before = Number(pragma(database, 'user_version'))
  if (before === latest) return
  const backup = `${path}.bak-${before}`
  if (before > 0) copyDatabase(database, backup)
  at('migrate:begin')
  database.exec('begin immediate')
  try {
    // Another process may have been faster.
    const current = Number(pragma(database, 'user_version'))
    for (const step of steps) if (step.version > current) database.exec(step.sql)
    at('migrate:before-commit')
    database.exec(
      `pragma application_id = ${applicationId}; pragma user_version = ${latest}; commit`,
    )
  } catch (error) {
    // On a full disk SQLite has rolled back itself; asking again would fail, and hide why.
    if (database.isTransaction) database.exec('rollback')
    throw error
  }
  at('migrate:after-commit')
  assert(pragma(database, 'quick_check') === 'ok', 'the migrated database is sound')
  if (before > 0) rmSync(backup, { force: true })
}

/** A whole copy, kept until the migrated file was checked. */
function copyDatabase(database: DatabaseSync, target: string): void {
  rmSync(target, { force: true })
  prepareFile(target)
  database.prepare('vacuum into ?').run(target)
}

function retryWhileBusy<T>(timeoutMs: number, action: () => T): T {
  const giveUpAtMs = performance.now() + timeoutMs
  const pause = new Int32Array(new SharedArrayBuffer(4))
  for (;;) {
    try {
      return action()
    } catch (error) {
      if (!isBusy(error) || performance.now() > giveUpAtMs) throw error
      Atomics.wait(pause, 0, 0, 10)
    }
  }
}

function foreignFile(path: string): OrielError {
  return new OrielError(
    'storage-failed',
    `The file ${path} is not a store of Oriel and was left as it is. Choose another path.`,
  )
}

function unknownSchema(path: string, versions: { found: number; supported: number }): OrielError {
  return new OrielError(
    'schema-version',
    `The file ${path} has schema ${versions.found}; this version of Oriel knows 1 to ${versions.supported} and left the file as it is. Update Oriel.`,
    { details: versions },
  )
}
