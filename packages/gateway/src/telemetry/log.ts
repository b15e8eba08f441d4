// Lines for operators: as text for people, or one JSON object each for machines. Codes, names, numbers and ids; never content, keys,
// addresses with their queries, or words of an upstream.

export type LogLevel = 'info' | 'warn' | 'error'

/** What is written, by event. */
export const logEvents = {
  request: 'A request was answered.',
  failed: 'The gateway or its store failed; the code says how.',
  unmanaged: 'A history that could not be read was passed on as it came.',
  'answer-unlogged':
    'An answer could not be logged; where the store failed, the client saw it cut.',
  'answer-truncated':
    'A client got an answer that the log has only in part or not at all; the code says why.',
  'job-failed': 'A summary by a model, or another job, failed; the code says how.',
  'background-failed':
    'Work that no request waits for failed; the task and the code say what and how.',
  thread: 'A thread says something about its own work.',
} as const

export type LogEvent = keyof typeof logEvents

/** Every field that a line may have, besides `time`, `level` and `event`. */
export interface LogFields {
  /** The request's own id, as in the header `x-oriel-request`. */
  readonly request?: string | undefined
  readonly method?: string | undefined
  /** Where it went, one of a closed set. */
  readonly route?: string | undefined
  readonly status?: number | undefined
  /** Milliseconds until the answer was over; for what is no model call, until it began. */
  readonly ms?: number | undefined
  /** The thread's id. */
  readonly thread?: string | undefined
  /** A code of the gateway, of Oriel, or of the system. */
  readonly code?: string | undefined
  /** What failed in the background, one of a closed set. */
  readonly task?: string | undefined
  /** Where an error was thrown that nobody caught: names of functions and files, never its message. */
  readonly stack?: string | undefined
  /** Tokens of the history and of what was sent of it. */
  readonly tokensBefore?: number | undefined
  readonly tokensAfter?: number | undefined
  /** What a thread says. */
  readonly message?: string | undefined
}

export interface LogOptions {
  readonly write: (line: string) => void
  readonly format: 'text' | 'json'
  /** Whether every request gets a line. */
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

  /** Writes a line. `text` is what people read. Must not throw: a log that fails stops nothing. */
  write(level: LogLevel, event: LogEvent, fields: LogFields, text: string): void {
    const { write, format, now } = this.#options
    try {
      const time = format === 'json' ? new Date(now()).toISOString() : ''
      write(format === 'json' ? JSON.stringify({ time, level, event, ...fields }) : text)
    } catch {
      // Nobody is left to tell.
    }
  }

  /** What threads say. */
  readonly thread = (line: string): void => {
    this.write('info', 'thread', { message: line.slice(0, maxMessage) }, line)
  }
}
