// Structured log for operators: text lines, or one JSON object per line. Contains codes, names,
// numbers and ids; never content, keys, query strings or upstream messages.

export type LogLevel = 'info' | 'warn' | 'error'

/** All log events with their meaning. */
export const logEvents = {
  request: 'A request was answered.',
  failed: 'The gateway or its store failed; see the code.',
  unmanaged: 'A history could not be parsed and was forwarded unchanged.',
  'answer-unlogged':
    'An answer could not be logged. If the store failed, the answer to the client was aborted.',
  'answer-truncated': 'The log has an answer only in part or not at all; see the code.',
  'job-failed': 'A summary by a model, or another job, failed; see the code.',
  'background-failed': 'A background task failed; see the task and the code.',
  thread: 'A log line of a thread.',
} as const

export type LogEvent = keyof typeof logEvents

/** All fields that a line may have, besides `time`, `level` and `event`. */
export interface LogFields {
  /** The request id, as in the header `x-oriel-request`. */
  readonly request?: string | undefined
  readonly method?: string | undefined
  /** The route label. */
  readonly route?: string | undefined
  readonly status?: number | undefined
  /**
   * Milliseconds until the response ended; for requests other than model calls, until it started.
   */
  readonly ms?: number | undefined
  /** The thread's id. */
  readonly thread?: string | undefined
  /** An error code of the gateway, of Oriel, or of the system. */
  readonly code?: string | undefined
  /** The background task that failed. */
  readonly task?: string | undefined
  /** Stack frames of an uncaught error: functions and files, never its message. */
  readonly stack?: string | undefined
  /** Tokens of the history, and of the part that was sent. */
  readonly tokensBefore?: number | undefined
  readonly tokensAfter?: number | undefined
  /** Message logged by a thread. */
  readonly message?: string | undefined
}

export interface LogOptions {
  readonly write: (line: string) => void
  readonly format: 'text' | 'json'
  /** Write a line for every request. */
  readonly hasRequests: boolean
  readonly now: () => number
}

const maxMessage = 300

export class Log {
  readonly hasRequests: boolean
  readonly #options: LogOptions

  constructor(options: LogOptions) {
    this.#options = options
    this.hasRequests = options.hasRequests
  }

  /**
   * Writes a line; `text` is the human-readable form. Never throws: a failing log must not stop
   * anything.
   */
  write(level: LogLevel, event: LogEvent, fields: LogFields, text: string): void {
    const { write, format, now } = this.#options
    try {
      const time = format === 'json' ? new Date(now()).toISOString() : ''
      write(format === 'json' ? JSON.stringify({ time, level, event, ...fields }) : text)
    } catch {
      // Logging failed; there is nowhere to report it.
    }
  }

  /** Logger for threads. */
  readonly thread = (line: string): void => {
    this.write('info', 'thread', { message: line.slice(0, maxMessage) }, line)
  }
}
