// Slow and uncertain work: proposed, run beside the thread, committed only if it came out well.

import { OrielError } from '../core/errors.ts'

export interface JobsOptions {
  /** Jobs that run at once; the others wait their turn. @default 2 */
  readonly concurrency?: number
  /** How long one job may take. @default 30000 */
  readonly timeoutMs?: number
}

/** Runs jobs with a bound on their number and time; one job for one key at a time. */
export class Jobs {
  readonly #concurrency: number
  readonly #timeoutMs: number
  readonly #running = new Map<string, Promise<unknown>>()
  readonly #waiting: (() => void)[] = []
  #active = 0

  constructor({ concurrency = 2, timeoutMs = 30_000 }: JobsOptions = {}) {
    this.#concurrency = concurrency
    this.#timeoutMs = timeoutMs
  }

  /**
   * The result of a job. Asking for a key that is already running joins it. A job that takes too long is aborted by its signal and
   * rejects with 'job-failed', whether it heeds the signal or not; so does one that throws. The signal of a job that succeeded is
   * never aborted: whatever it started (a connection that is kept alive) may still listen to it.
   */
  run<T>(key: string, job: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const running = this.#running.get(key)
    // One key names one kind of job, so its result is of the caller's type.
    if (running !== undefined) return running as Promise<T>
    const result = this.#start(job).finally(() => this.#running.delete(key))
    this.#running.set(key, result)
    return result
  }

  async #start<T>(job: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.#active >= this.#concurrency) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    } else this.#active += 1
    const control = new AbortController()
    let timer: NodeJS.Timeout | undefined
    try {
      const tooLate = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error('timeout')), this.#timeoutMs)
      })
      return await Promise.race([job(control.signal), tooLate])
    } catch (cause) {
      control.abort()
      const why = cause instanceof Error && cause.message === 'timeout' ? 'took too long' : 'failed'
      throw new OrielError(
        'job-failed',
        `A job ${why}. The view is as if it had not been asked for.`,
        { cause },
      )
    } finally {
      clearTimeout(timer)
      const next = this.#waiting.shift()
      if (next === undefined) this.#active -= 1
      else next()
    }
  }
}
