// What every store accepts as input, checked the same way in each.

import { OrielError, wrongOption } from '../../core/log/errors.ts'
import { isObject } from '../../core/log/json.ts'
import { assertOptions } from '../../core/log/options.ts'
import type {
  LeaseOptions,
  NewestOptions,
  ReadOptions,
  Snapshot,
  StoreQuery,
  ThreadKey,
  ThreadPosition,
} from '../store.ts'

/** Longer names are refused: they would make every index larger than what it points to. */
const maxNameLength = 512

/** Threads that one call of `list` returns unless told otherwise, and at most. */
const defaultListLimit = 100
const maxListLimit = 1000

/** Nobody waits longer than this for work that another process began. */
const maxLeaseMs = 3_600_000

/** Refuses keys that a store could confuse with another one: SQLite turns every lone surrogate into the same character. */
export function checkKey(key: ThreadKey): void {
  checkName(key.tenant, 'tenant')
  checkName(key.thread, 'thread')
}

type NameField = 'tenant' | 'thread' | 'space' | 'name'

/** As `checkKey`, for one name. */
export function checkName(name: unknown, field: NameField): void {
  const isName =
    typeof name === 'string' &&
    name.length > 0 &&
    name.length <= maxNameLength &&
    name.isWellFormed() &&
    !name.includes('\0')
  if (isName) return
  throw new OrielError(
    'invalid-input',
    `The ${field} must be a string of 1 to ${maxNameLength} characters, well-formed and without NUL. Pass a plain id.`,
    { path: field },
  )
}

/** The range of seq that a read covers, given the log's length. Empty when `from` is greater than `to`. */
export function checkRange(options: ReadOptions): { readonly from: number; readonly to: number } {
  assertOptions(options, { from: true, to: true }, 'read')
  const { from = 1, to = Number.MAX_SAFE_INTEGER } = options
  checkInteger(from, { name: 'from', least: 1, most: Number.MAX_SAFE_INTEGER })
  checkInteger(to, { name: 'to', least: 0, most: Number.MAX_SAFE_INTEGER })
  return { from, to }
}

/** The part of a tenant's threads that `list` returns, or of the tenants that `tenants` returns. */
export function checkListOptions(
  options: { readonly after?: string; readonly limit?: number },
  field: NameField = 'thread',
): { readonly after: string; readonly limit: number } {
  assertOptions(options, { after: true, limit: true }, field === 'thread' ? 'list' : 'tenants')
  const { after = '', limit = defaultListLimit } = options
  checkInteger(limit, { name: 'limit', least: 1, most: maxListLimit })
  if (after !== '') checkName(after, field)
  return { after, limit }
}

/** The part of a tenant's threads that `newest` returns. */
export function checkNewestOptions(options: NewestOptions): {
  readonly after: ThreadPosition
  readonly limit: number
} {
  assertOptions(options, { after: true, limit: true }, 'newest')
  const { after = { updatedAt: Number.MAX_SAFE_INTEGER, thread: '' }, limit = defaultListLimit } =
    options
  checkInteger(limit, { name: 'limit', least: 1, most: maxListLimit })
  const { MAX_SAFE_INTEGER: most, MIN_SAFE_INTEGER: least } = Number
  checkInteger(after.updatedAt, { name: 'after.updatedAt', least, most })
  if (after.thread !== '') checkName(after.thread, 'thread')
  return { after, limit }
}

/** Refuses leases without a name or an end. */
export function checkLease(options: LeaseOptions): void {
  assertOptions(options, { name: true, ttlMs: true }, 'lease')
  const { name, ttlMs } = options
  if (typeof name !== 'string' || name === '' || name.length > maxNameLength || name.includes('\0'))
    throw new OrielError('invalid-option', 'The option name must be a short text.', {
      path: 'name',
    })
  checkInteger(ttlMs, { name: 'ttlMs', least: 1, most: maxLeaseMs })
}

export function checkSnapshot(snapshot: Snapshot): void {
  checkInteger(snapshot.version, { name: 'version', least: 0, most: Number.MAX_SAFE_INTEGER })
  checkInteger(snapshot.format, { name: 'format', least: 0, most: Number.MAX_SAFE_INTEGER })
  if (isObject(snapshot.value)) return
  throw new OrielError('invalid-input', 'The value of a snapshot must be an object.', {
    path: 'value',
  })
}

/** Refuses blobs that are not bytes. */
export function checkBlob(content: unknown): asserts content is Uint8Array {
  if (content instanceof Uint8Array) return
  throw new OrielError('invalid-input', 'A blob must be a Uint8Array. Encode text first.', {
    path: 'content',
  })
}

/** Refuses ids that are not strings; any string may be looked up. */
export function checkExternalId(externalId: unknown): void {
  if (typeof externalId === 'string') return
  throw new OrielError('invalid-input', 'An external id must be a string.', { path: 'externalId' })
}

interface IntegerRule {
  readonly name: string
  readonly least: number
  readonly most: number
}

function checkInteger(value: unknown, { name, least, most }: IntegerRule): void {
  if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most) return
  throw new OrielError(
    'invalid-option',
    `The option ${name} must be an integer from ${least} to ${most}; got ${String(value)}.`,
    { path: name },
  )
}

/** Refuses a query that is no text, or is longer than any question. */
export function checkStoreQuery({ thread, query, limit }: StoreQuery): void {
  if (thread !== undefined) checkName(thread, 'thread')
  if (typeof query !== 'string') throw wrongOption('query', 'a text')
  if (limit !== undefined && !(Number.isInteger(limit) && limit >= 1 && limit <= 1000))
    throw wrongOption('limit', 'a whole number from 1 to 1000')
}
