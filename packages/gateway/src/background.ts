// Background tasks: the only way in which the gateway runs work that no request awaits. A failure
// is logged with its code, counted, and stops nothing.

import { OrielError } from 'oriel'

/**
 * All background tasks, as labels of their metric: of the gateway, of its threads, and errors that
 * reached the process.
 */
export const backgroundTasks = {
  'answer-end': 'Ends an answer after the client disconnected or the upstream broke off.',
  'answer-interrupted': 'Logs the received part of an interrupted answer.',
  'known-bodies': 'Caches a parsed request body.',
  'thread-index': 'Indexes the thread of a conversation without a session id.',
  'learned-limits': 'Loads and stores the request lengths that upstreams refused.',
  tenants: 'Registers a tenant for the list of all tenants.',
  changes: 'Watches the store for changes by other processes.',
  settings: 'Loads the stored settings of agents.',
  'live-updates': 'Sends a live update to a subscriber.',
  pressure: 'Samples the event loop lag.',
  'client-connection': 'Writes a response to a client connection.',
  checkpoint: 'Compacts a thread in the background.',
  summary: 'Stores a summary made in the background.',
  snapshot: 'Saves a snapshot of a thread.',
  lease: 'Renews or releases the lease of a summary.',
  'large-calls': 'Runs the worker thread for requests with large bodies.',
  process: 'An uncaught error in the process.',
} as const

export type BackgroundTask = keyof typeof backgroundTasks

export function isBackgroundTask(name: string): name is BackgroundTask {
  return Object.hasOwn(backgroundTasks, name)
}

export class Background {
  readonly #report: (task: BackgroundTask, error: unknown) => void

  constructor(report: (task: BackgroundTask, error: unknown) => void) {
    this.#report = report
  }

  /** Starts work at once. Resolves when it is done. Never throws or rejects. */
  async run(task: BackgroundTask, work: () => unknown): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.failed(task, error)
    }
  }

  /** Wraps a callback of a timer or listener so that it never throws. */
  callback(task: BackgroundTask, work: () => void): () => void {
    return () => {
      try {
        work()
      } catch (error) {
        this.failed(task, error)
      }
    }
  }

  failed(task: BackgroundTask, error: unknown): void {
    try {
      this.#report(task, error)
    } catch {
      // The reporter failed; there is nowhere to report it.
    }
  }
}

/** A code for any error. Never its message, which may contain content. */
export function codeOf(error: unknown): string {
  if (OrielError.is(error)) return error.code
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (typeof code === 'string' && /^[\w-]{1,40}$/.test(code)) return code
  const name = error instanceof Error ? error.name : ''
  return /^\w{1,40}$/.test(name) ? name : 'unknown'
}

/** Stack frames of an error, without its message, which may contain content. */
export function framesOf(error: unknown): readonly string[] {
  const stack = error instanceof Error && typeof error.stack === 'string' ? error.stack : ''
  return stack.split('\n').flatMap((line) => /^ {4}at (.{1,300})$/.exec(line)?.[1] ?? [])
}
