// Keeps logs in PostgreSQL: the store for several processes and machines.

import { OrielError } from '../../core/log/errors.ts'
import { assertOptions, type OptionNames } from '../../core/log/options.ts'
import { createStore } from '../create-store.ts'
import type { Store } from '../store.ts'
import { PostgresBackend } from './backend.ts'
import type { PostgresPool } from './driver.ts'

export interface PostgresStoreOptions {
  /** The clock behind `createdAt` and `updatedAt`. @default Date.now */
  readonly now?: () => number
  /** The schema that holds the tables. @default 'oriel' */
  readonly schema?: string
  /** Hash partitions of each table by tenant and thread; 0 = plain tables. Only heeded when the tables are made. @default 0 */
  readonly partitions?: number
  /** Connections to open at most; a pool of your own has its own limit. @default 10 */
  readonly maxConnections?: number
  /** How long to wait for a connection, and for the answer to a statement, in milliseconds. @default 5000 */
  readonly timeoutMs?: number
  /**
   * Lets the server keep compiled statements, by name, for each connection. Saves its time; fails behind a pooler in transaction mode
   * that does not know of them. @default false
   */
  readonly prepared?: boolean
  /** Tell other processes of changes, so that `watch` hears of them. @default true */
  readonly notify?: boolean
  /** Where `watch` connects: the server itself, when the store goes through a pooler in transaction mode. @default the same */
  readonly listenUrl?: string
}

const postgresOptions: OptionNames<PostgresStoreOptions> = {
  now: true,
  schema: true,
  partitions: true,
  maxConnections: true,
  timeoutMs: true,
  prepared: true,
  notify: true,
  listenUrl: true,
}

/** The options with the address of the server among them, under either name. */
export type PostgresStoreLocation = PostgresStoreOptions &
  ({ readonly url: string } | { readonly connectionString: string })

/**
 * A store on a PostgreSQL server, 13 or later, by its address or a `Pool` of the package `pg`, which must be installed.
 * - The tables are made when the store is first used. Several processes may do so at once.
 * - An append is one statement. When it resolves, it is as durable as the server's settings say: `fsync` and
 *   `synchronous_commit` must be on, as they are by default.
 * - Nothing is kept in the session, so a pooler in transaction mode may stand between; only `watch` needs a connection of its own.
 * - A lost connection is the error of the call that used it ('storage-failed'), after one attempt more. Every call may be repeated.
 * - A pool of your own is not ended by `close`.
 * - The address may stand among the options: `postgresStore({ url })`, or `connectionString` as `pg` calls it.
 */
export function postgresStore(
  location: string | PostgresPool | PostgresStoreLocation,
  options: PostgresStoreOptions = {},
): Store {
  const { source, own } = readLocation(location)
  const given = { ...own, ...options }
  assertOptions(given, postgresOptions, 'postgresStore')
  const {
    now = Date.now,
    schema = 'oriel',
    partitions = 0,
    maxConnections = 10,
    timeoutMs = 5000,
    prepared = false,
    notify = true,
    listenUrl,
  } = given
  checkSource(source)
  // Part of the statements' text, so only what needs no quoting.
  if (typeof schema !== 'string' || !/^[a-z_][a-z0-9_]{0,47}$/.test(schema)) {
    throw invalidOption('schema', 'must be 1 to 48 small letters, digits and underscores')
  }
  checkInteger(partitions, { name: 'partitions', least: 0, most: 1024 })
  checkInteger(maxConnections, { name: 'maxConnections', least: 1, most: 10_000 })
  checkInteger(timeoutMs, { name: 'timeoutMs', least: 1, most: 3_600_000 })
  checkBoolean(prepared, 'prepared')
  checkBoolean(notify, 'notify')
  if (listenUrl !== undefined) checkUrl(listenUrl, 'listenUrl')
  const backend = new PostgresBackend({
    source,
    schema,
    partitions,
    maxConnections,
    timeoutMs,
    isPrepared: prepared,
    isNotifying: notify,
    listenUrl,
  })
  return createStore(backend, { now })
}

function readLocation(location: string | PostgresPool | PostgresStoreLocation): {
  readonly source: string | PostgresPool
  readonly own: PostgresStoreOptions
} {
  if (typeof location !== 'object' || location === null || 'connect' in location) {
    return { source: location, own: {} }
  }
  if ('url' in location) {
    const { url, ...own } = location
    return { source: url, own }
  }
  if ('connectionString' in location) {
    const { connectionString, ...own } = location
    return { source: connectionString, own }
  }
  return { source: location, own: {} }
}

function checkSource(source: unknown): asserts source is string | PostgresPool {
  if (typeof source === 'string') {
    checkUrl(source, 'url')
    return
  }
  const isPool =
    typeof source === 'object' &&
    source !== null &&
    'connect' in source &&
    typeof source.connect === 'function'
  if (!isPool) {
    throw invalidOption('url', 'must be the address of a server, postgres://..., or a Pool of pg')
  }
}

function checkUrl(url: unknown, name: string): void {
  if (typeof url === 'string' && /^postgres(ql)?:\/\/\S+$/.test(url)) return
  throw invalidOption(name, 'must be the address of a server, postgres://user@host/database')
}

function checkBoolean(value: unknown, name: string): void {
  if (typeof value !== 'boolean') throw invalidOption(name, 'must be true or false')
}

function checkInteger(
  value: unknown,
  { name, least, most }: { name: string; least: number; most: number },
): void {
  if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most) return
  throw invalidOption(name, `must be an integer from ${least} to ${most}; got ${String(value)}`)
}

function invalidOption(name: string, rule: string): OrielError {
  return new OrielError('invalid-option', `The option ${name} ${rule}.`, { path: name })
}
