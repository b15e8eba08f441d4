// Keeps logs in one SQLite file: the embedded store, durable without a server.

import { resolve } from 'node:path'
import { OrielError } from '../../core/log/errors.ts'
import { assertOptions, type OptionNames } from '../../core/log/options.ts'
import { createStore } from '../create-store.ts'
import type { Store } from '../store.ts'
import { SqliteBackend } from './backend.ts'

export interface SqliteStoreOptions {
  /** The clock behind `createdAt` and `updatedAt`. @default Date.now */
  readonly now?: () => number
  /** How long to wait for another process that writes, in milliseconds. @default 5000 */
  readonly busyTimeoutMs?: number
  /** Bytes of content that may wait for the disk; further appends wait for their turn. @default 67108864 */
  readonly maxQueueBytes?: number
  /** Operations that may wait for the disk; further ones wait for their turn. @default 10000 */
  readonly maxQueueCount?: number
  /**
   * What to do when acknowledged entries are missing from the file. `refuse` rejects every call with 'log-truncated';
   * `accept` takes what is left as the whole log, for repairs. @default 'refuse'
   */
  readonly truncated?: 'refuse' | 'accept'
  /**
   * Who writes. `auto`: the calling thread makes small writes itself while most of them take less than 5 ms and all of them
   * less than a quarter of its time, which saves the way to another thread; everything else is the worker's. `worker`: the calling thread never touches the disk to write. @default 'auto'
   */
  readonly writes?: 'auto' | 'worker'
}

const sqliteOptions: OptionNames<SqliteStoreOptions> = {
  now: true,
  busyTimeoutMs: true,
  maxQueueBytes: true,
  maxQueueCount: true,
  truncated: true,
  writes: true,
}

/** The options with the path of the file among them. */
export interface SqliteStoreLocation extends SqliteStoreOptions {
  readonly path: string
}

/**
 * A store in the file at `path`, which is created when it is first used, readable by its owner alone.
 * - An append that resolved survives a power loss: it was synced to the disk, unless `durable: 'soon'` was asked for. Appends that
 *   arrive together share one sync.
 * - Several processes may use one file, on a local disk.
 * - The files `-wal`, `-shm` and `-high-water` beside it belong to it. The last one notices when acknowledged entries are lost.
 * - `verify` without a key also checks the file itself; what it finds there has an empty tenant and thread.
 * - Nothing is opened before the first call; what is wrong with the file is the error of that call.
 * - `erase` overwrites what it deletes and empties the write-ahead log. The space is given back afterwards, a little at a time. A file
 *   that an earlier version created is rewritten once, at its first erasure.
 * - The path may stand among the options: `sqliteStore({ path })`.
 * - Needs Node 22.13 or newer; an older one gets 'not-installed' at the first call. In a bundle without the worker's file beside it, the
 *   calling thread writes.
 */
export function sqliteStore(
  location: string | SqliteStoreLocation,
  options: SqliteStoreOptions = {},
): Store {
  // Null is no path either: it is refused like any other value.
  const isLocation = typeof location === 'object' && location !== null
  if (isLocation) assertOptions(location, { path: true, ...sqliteOptions }, 'sqliteStore')
  assertOptions(options, sqliteOptions, 'sqliteStore')
  const { path, ...own } = isLocation ? location : { path: location }
  const given = { ...own, ...options }
  const {
    now = Date.now,
    busyTimeoutMs = 5000,
    maxQueueBytes = 64 * 1024 * 1024,
    maxQueueCount = 10_000,
    truncated = 'refuse',
    writes = 'auto',
  } = given
  checkPath(path)
  checkAtLeast(busyTimeoutMs, { name: 'busyTimeoutMs', least: 0 })
  checkAtLeast(maxQueueBytes, { name: 'maxQueueBytes', least: 1 })
  checkAtLeast(maxQueueCount, { name: 'maxQueueCount', least: 1 })
  if (truncated !== 'refuse' && truncated !== 'accept') {
    throw invalidOption('truncated', `must be 'refuse' or 'accept'; got ${String(truncated)}`)
  }
  if (writes !== 'auto' && writes !== 'worker') {
    throw invalidOption('writes', `must be 'auto' or 'worker'; got ${String(writes)}`)
  }
  const backend = new SqliteBackend({
    path: resolve(path),
    busyTimeoutMs,
    maxQueueBytes,
    maxQueueCount,
    truncated,
    writes,
    worker: workerFile(),
  })
  return createStore(backend, { now })
}

/** The worker beside this file: TypeScript in the sources, JavaScript in the package. Bundled as CommonJS, a file has no address. */
function workerFile(): URL | undefined {
  const url = import.meta.url as string | undefined
  if (url === undefined) return undefined
  return new URL(`./worker${url.endsWith('.ts') ? '.ts' : '.js'}`, url)
}

function checkPath(path: unknown): void {
  if (typeof path !== 'string' || path === '' || path.includes('\0')) {
    throw invalidOption('path', 'must be the path of a file')
  }
  if (path === ':memory:' || path.startsWith('file:')) {
    throw invalidOption('path', 'must be a plain path; use memoryStore() to keep nothing')
  }
}

function checkAtLeast(value: unknown, { name, least }: { name: string; least: number }): void {
  if (Number.isSafeInteger(value) && (value as number) >= least) return
  throw invalidOption(name, `must be an integer of at least ${least}; got ${String(value)}`)
}

function invalidOption(name: string, rule: string): OrielError {
  return new OrielError('invalid-option', `The option ${name} ${rule}.`, { path: name })
}
