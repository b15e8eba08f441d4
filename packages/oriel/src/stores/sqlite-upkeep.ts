// What keeps the file of a database in order, beside its transactions.

import type { DatabaseSync } from 'node:sqlite'
import { OrielError } from '../core/errors.ts'
import { pragma } from './sqlite-database.ts'

/** Frames of the write-ahead log from which on writers wait, so that it begins anew. */
const longLogFrames = 8000

/** SQLite's own check of the file. */
export function complaints(database: DatabaseSync): readonly string[] {
  const rows = database.prepare('pragma integrity_check').all()
  const lines = rows.map((row) => String(Object.values(row)[0]))
  return lines.filter((line) => line !== 'ok')
}

/** Copies what it can without keeping anybody waiting; only a long log makes writers wait until it can begin anew. */
export function checkpoint(database: DatabaseSync): void {
  const row = database.prepare('pragma wal_checkpoint(passive)').get()
  if (Number(row?.log ?? 0) > longLogFrames) database.exec('pragma wal_checkpoint(restart)')
}

/** Copies the write-ahead log into the database, synced. True when all of it was copied. */
export function copyLog(database: DatabaseSync): boolean {
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
export function rewrite(database: DatabaseSync): void {
  database.exec('pragma auto_vacuum = incremental; vacuum')
}

/** Gives a batch of free pages back to the file system. True when there are more. */
export function shrink(database: DatabaseSync): boolean {
  if (!isIncremental(database)) return false
  database.prepare(`pragma incremental_vacuum(${shrinkPages})`).all()
  return Number(pragma(database, 'freelist_count')) > 0
}

/** Copies the write-ahead log into the database, synced, and leaves it empty. */
export function emptyLog(database: DatabaseSync): void {
  const row = database.prepare('pragma wal_checkpoint(truncate)').get()
  if (row?.busy === 0) return
  throw new OrielError(
    'storage-failed',
    'Another process is reading the database, so that its write-ahead log cannot be emptied. Retry, or end that process.',
  )
}
