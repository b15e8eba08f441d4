// The one way in which the gateway does work that no request waits for. A failure is logged with its code, counted, and stops nothing.

import { OrielError } from 'oriel'

/** Every task in the background, as the label of its metric: those of the gateway, of its threads, and what reached the process. */
export const backgroundTasks = {
  'answer-end': 'Ending an answer whose client left or whose upstream broke off.',
  'answer-interrupted': 'Logging what came of an answer that broke off.',
  'known-bodies': 'Remembering a conversation, so that the next request is read faster.',
  'thread-index': 'Remembering which thread a conversation without a name belongs to.',
  tenants: 'Remembering a tenant, for those who may list all of them.',
  changes: 'Listening to the store for changes by other processes.',
  settings: 'Reading the stored settings of agents.',
  'live-updates': 'Telling a listener of live updates what happened.',
  pressure: 'Measuring how late the process is.',
  'client-connection': 'Writing to a client after its request was handled.',
  checkpoint: 'A checkpoint behind a view.',
  summary: 'Keeping a summary that was made behind a view.',
  snapshot: 'Saving a snapshot of a thread.',
  lease: 'Renewing the lease of a summary, or giving it back.',
  process: 'A failure that reached the process itself.',
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

  /** Runs work that begins at once. Resolves when it is over. Never throws and never rejects. */
  async run(task: BackgroundTask, work: () => unknown): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.failed(task, error)
    }
  }

  /** For timers and listeners: a function that runs work without a promise, and never throws. */
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
      // A reporter that fails has nobody to report to.
    }
  }
}

/** A code for an error of anybody: never its words, which may hold content. */
export function codeOf(error: unknown): string {
  if (OrielError.is(error)) return error.code
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (typeof code === 'string' && /^[\w-]{1,40}$/.test(code)) return code
  const name = error instanceof Error ? error.name : ''
  return /^\w{1,40}$/.test(name) ? name : 'unknown'
}

/** Where an error was thrown, without its message, which may hold content. */
export function framesOf(error: unknown): readonly string[] {
  const stack = error instanceof Error && typeof error.stack === 'string' ? error.stack : ''
  return stack.split('\n').flatMap((line) => /^ {4}at (.{1,300})$/.exec(line)?.[1] ?? [])
}
