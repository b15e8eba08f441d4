// OrielError and its error codes.

/** All stable error codes with their meaning. Callers test the code, never the text. */
export const errorCodes = {
  'invalid-input': 'A message list, message or block does not have the shape its format requires.',
  'not-json': 'A value cannot be written as JSON (NaN, a cycle, a function, a class instance ...).',
  'too-deep': 'A value is nested deeper than the limit.',
  'too-large': 'A value is larger than the limit.',
  'invalid-policy': 'A policy has an unknown key or a wrong value.',
  'invalid-option': 'An option of a call has a wrong value.',
  'invalid-setting': 'A setting from the environment or a request has a wrong value.',
  'rule-failed':
    'A rule of your own threw, or proposed what cannot be understood. `details.rule` names it.',
  'not-installed':
    'A package or a version of Node that was asked for is missing. The message says what to install.',
  'unknown-format': 'No message format of that name exists.',
  'cannot-project': 'No view exists that is valid for the provider and within the budget.',
  'version-conflict': 'Another writer appended first. Read again and retry.',
  'unexpected-head':
    'The thread has other messages than the caller expected. Nothing was appended.',
  'not-found': 'No thread, entry or edit of that id exists for this tenant.',
  'cannot-undo': 'That entry is not a live edit, or a newer one depends on it.',
  'corrupt-entry':
    'A stored entry does not match its hash, or a setting its name. Run `oriel doctor`.',
  'log-truncated': 'The stored log is shorter than what was acknowledged. Run `oriel doctor`.',
  isolation: 'A store returned data of another tenant or thread. This is a bug: report it.',
  'storage-full': 'The disk or the database is full. Nothing was written.',
  'storage-failed': 'The store failed. Nothing was acknowledged.',
  'schema-version': 'The stored data was written by a version this one cannot read.',
  closed: 'The store or thread is closed.',
  'job-failed': 'A summary or other job failed. The view is unchanged.',
} as const

export type ErrorCode = keyof typeof errorCodes

export interface OrielErrorOptions {
  /** Path of the problem in the input, for example `messages[3].content[0].text`. */
  readonly path?: string
  readonly cause?: unknown
  /** Small machine-readable facts: ids, limits, counts. Never user content. */
  readonly details?: Readonly<Record<string, string | number | boolean | readonly string[]>>
}

const marker = Symbol.for('oriel.error')

/**
 * The only error that Oriel throws on purpose. Test `error.code`; use `OrielError.is(error)` rather than `instanceof`,
 * which fails when two copies of the package are loaded.
 */
export class OrielError extends Error {
  override readonly name = 'OrielError'
  readonly code: ErrorCode
  readonly path?: string
  readonly details?: OrielErrorOptions['details']

  constructor(code: ErrorCode, message: string, options: OrielErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    if (options.path !== undefined) this.path = options.path
    if (options.details !== undefined) this.details = options.details
    Object.defineProperty(this, marker, { value: true })
  }

  /** True for an OrielError from any loaded copy of the package, optionally with a given code. */
  static is(error: unknown, code?: ErrorCode): error is OrielError {
    if (typeof error !== 'object' || error === null || !(marker in error)) return false
    return code === undefined || ('code' in error && error.code === code)
  }
}

/** Checks an invariant. A failure is a bug in Oriel, not in the caller's code. */
export function assert(condition: unknown, whatMustHold: string): asserts condition {
  if (!condition) throw new Error(`Internal error: ${whatMustHold}`)
}

/** Makes a switch exhaustive at compile time. */
export function assertNever(value: never): never {
  throw new Error(`Internal error: unexpected value ${String(value)}`)
}

/** Builds the error for an option of the wrong shape. */
export function wrongOption(path: string, expected: string): OrielError {
  return new OrielError('invalid-option', `${path} must be ${expected}.`, { path })
}
