// What an error of SQLite means for a caller, and whether the connection can still be trusted after it.

import { OrielError } from '../../core/log/errors.ts'
import type { ThreadKey } from '../store.ts'

// Primary result codes of SQLite: https://sqlite.org/rescode.html
const busy = 5
const locked = 6
const corrupt = 11
const full = 13
const tooBig = 18
const constraint = 19
const notADatabase = 26
/** An extended code. */
const readonlyRollback = 776

/** The primary result code of an error thrown by `node:sqlite`; undefined for any other error. */
function sqliteCode(error: unknown): number | undefined {
  const code = extendedCode(error)
  return code === undefined ? undefined : code & 0xff
}

/** True when another connection holds the lock. */
export function isBusy(error: unknown): boolean {
  const code = sqliteCode(error)
  return code === busy || code === locked
}

/** True when a change of the file was interrupted, and a connection that only reads cannot undo it (SQLITE_READONLY_ROLLBACK). */
export function isUnfinished(error: unknown): boolean {
  return extendedCode(error) === readonlyRollback
}

/**
 * True when nothing must be acknowledged on this connection any more: it has to be closed, opened again and checked. After a
 * failed fsync the kernel may report success for data that never reached the disk.
 */
export function isFatal(error: unknown): boolean {
  if (OrielError.is(error)) return false
  const code = sqliteCode(error)
  return code === undefined || ![busy, locked, full, tooBig, constraint].includes(code)
}

/** The typed error for anything that goes wrong while writing or opening. */
export function storageError(error: unknown): OrielError {
  if (OrielError.is(error)) return error
  const details = { sqlite: extendedCode(error) ?? 0 }
  switch (sqliteCode(error)) {
    case full:
      return new OrielError(
        'storage-full',
        'The disk is full. Nothing was written. Free some space and retry.',
        {
          cause: error,
          details,
        },
      )
    case busy:
    case locked:
      return new OrielError(
        'storage-failed',
        'Another process kept the database locked. Nothing was written. Retry, or end that process.',
        { cause: error, details },
      )
    case tooBig:
      return new OrielError('too-large', 'A value is larger than SQLite accepts. Split it.', {
        cause: error,
        details,
      })
    default:
      return new OrielError(
        'storage-failed',
        'The database failed, and whether the write took place is not known. Retrying the same append is safe.',
        { cause: error, details },
      )
  }
}

/** The typed error for a file that cannot be opened. */
export function openError(error: unknown, path: string): OrielError {
  if (OrielError.is(error) || sqliteCode(error) === full || isBusy(error))
    return storageError(error)
  const reason = error instanceof Error ? error.message : String(error)
  return new OrielError(
    'storage-failed',
    `The store at ${path} cannot be opened: ${reason}. Check the path, its permissions and the disk.`,
    { cause: error, details: { sqlite: extendedCode(error) ?? 0 } },
  )
}

/** The typed error for anything that goes wrong while reading. */
export function readError(error: unknown): OrielError {
  if (OrielError.is(error)) return error
  const code = sqliteCode(error)
  if (code !== corrupt && code !== notADatabase) return storageError(error)
  return new OrielError('corrupt-entry', 'A page of the database is damaged. Run `oriel doctor`.', {
    cause: error,
    details: { sqlite: extendedCode(error) ?? 0 },
  })
}

function extendedCode(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('errcode' in error)) return undefined
  return typeof error.errcode === 'number' ? error.errcode : undefined
}

/** For a file that is not the one that was opened first. */
export function movedFile(): OrielError {
  return new OrielError(
    'storage-failed',
    'The database file was moved, removed or replaced while it was open. Put it back, or start again.',
  )
}

/** For a write-ahead log that is not the one that was opened. */
export function movedLog({ isSaved }: { readonly isSaved: boolean }): OrielError {
  const entries = isSaved
    ? 'All acknowledged entries were copied into the database.'
    : 'They could not be copied into the database: export the threads before you stop this process.'
  return new OrielError(
    'storage-failed',
    `The write-ahead log of the database (-wal) or its index (-shm) was removed or replaced while the database was open. Nothing more is acknowledged. ${entries} Stop all processes that use the database and start them again; leave its files alone while they run.`,
    { details: { isSaved } },
  )
}

/** For a database that lacks what was acknowledged. `found` is the number of its newest entry. */
export function lostEntries(
  path: string,
  { position, found }: { readonly position: number; readonly found: number },
): OrielError {
  const isEmpty = found === 0
  const what = isEmpty
    ? `The database ${path} is empty, but ${position} entries were acknowledged, as ${path}-high-water says. If you removed the database on purpose, remove ${path}-high-water too. Otherwise put the database back, with its -wal file.`
    : `Entries that were acknowledged are missing from ${path}: the write-ahead log was damaged or removed, or an older copy was put back. ${path}-high-water names the newest one. Put the newest copy back, or run \`oriel doctor\` to go on with what is left.`
  return new OrielError('log-truncated', what, { details: { position, found } })
}

/** For a thread in doubt whose chain does not hold together. */
export function damagedThread(key: ThreadKey, problem: string): OrielError {
  return new OrielError(
    'storage-failed',
    `After an I/O error thread ${key.thread} is damaged: ${problem} Run \`oriel doctor\`.`,
    { details: { thread: key.thread } },
  )
}

/** For erased content of which the file may still hold copies. */
export function scrubError(error: unknown): OrielError {
  const { code } = storageError(error)
  return new OrielError(
    code,
    'The content is erased from the log, but copies may remain in the file, which could not be cleaned. Erase again to retry.',
    { cause: error },
  )
}
