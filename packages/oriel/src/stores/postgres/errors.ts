// What an error of PostgreSQL or of the connection to it means for a caller.

import { OrielError } from '../../core/log/errors.ts'

/** Errors of the operating system, when a server is unreachable or closes the connection. */
const networkCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'ENOENT',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EAI_AGAIN',
])

/** What `pg` itself says, without a code, when a connection ends or an answer does not come. */
const lostTexts =
  /connection terminated|connection ended|not queryable|timeout|client was closed|server closed the connection|socket/i

/** SQLSTATE, or the code of the operating system. https://www.postgresql.org/docs/current/errcodes-appendix.html */
function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('code' in error)) return ''
  return typeof error.code === 'string' ? error.code : ''
}

/** True when the connection is gone, or an answer did not come: whether a write took place is not known. */
export function isLost(error: unknown): boolean {
  if (OrielError.is(error)) return false
  const code = codeOf(error)
  // Class 08: connection exceptions. 57P01 to 57P05: the server shuts down, starts, or ended the session.
  if (code.startsWith('08') || code.startsWith('57P') || networkCodes.has(code)) return true
  return code === '' && error instanceof Error && lostTexts.test(error.message)
}

/** True when the server undid the work because of others: doing it again is all that is needed. */
export function isCollision(error: unknown): boolean {
  // Serialization failure, deadlock.
  return ['40001', '40P01'].includes(codeOf(error))
}

/** True when a table or schema is not there. */
export function isMissing(error: unknown): boolean {
  return ['42P01', '3F000'].includes(codeOf(error))
}

/** The typed error for anything that goes wrong. */
export function postgresError(error: unknown): OrielError {
  if (OrielError.is(error)) return error
  const code = codeOf(error)
  const options = { cause: withoutContent(error), details: { postgres: code } }
  if (code === '53100') {
    const message = 'The disk of the database is full. Nothing was written. Free some space.'
    return new OrielError('storage-full', message, options)
  }
  if (code === '54000' || error instanceof RangeError) {
    const message = 'A value is larger than PostgreSQL accepts. Split it.'
    return new OrielError('too-large', message, options)
  }
  if (isLost(error) || code === '53300') {
    const message =
      'The database cannot be reached, or the connection to it was lost; whether a write took place is not known. Retrying the same call is safe.'
    return new OrielError('storage-failed', message, options)
  }
  if (code === '42501' || code.startsWith('28')) {
    const message = `PostgreSQL refuses access (${code}). Check the user, its password and its rights on the schema.`
    return new OrielError('storage-failed', message, options)
  }
  const message = `PostgreSQL failed${code === '' ? '' : ` (${code})`}. Nothing was acknowledged; retrying the same call is safe.`
  return new OrielError('storage-failed', message, options)
}

/** The server repeats values in its details; a log must not hold them. */
function withoutContent(error: unknown): unknown {
  if (!(error instanceof Error) || codeOf(error).length !== 5) return error
  const { message, stack } = error
  return Object.assign(new Error(message.slice(0, 200)), { code: codeOf(error), stack })
}
