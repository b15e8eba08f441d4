// Slow and uncertain work: proposed, run beside the thread, committed only if it came out well.

import { OrielError } from '../../core/log/errors.ts'

export interface JobsOptions {
  /** Jobs that run at once; the others wait their turn. @default 2 */
  readonly concurrency?: number
  /** How long one job may take, without the time that it waits for its turn. @default 30000 */
  readonly timeoutMs?: number
}

/** Long enough for a small model, short enough for somebody who waits for a view. */
export const defaultTimeoutMs = 30_000

/** No model answers in less: a job with so little time left does not begin. */
const leastMs = 5

/** Runs jobs with a bound on their number and time; one job for one key at a time. */
export class Jobs {
  readonly #concurrency: number
  readonly #timeoutMs: number
  readonly #running = new Map<string, Promise<unknown>>()
  readonly #waiting: (() => void)[] = []
  #active = 0

  constructor({ concurrency = 2, timeoutMs = defaultTimeoutMs }: JobsOptions = {}) {
    this.#concurrency = concurrency
    this.#timeoutMs = timeoutMs
  }

  /**
   * The result of a job. Asking for a key that is already running joins it. A job that takes too long is aborted by its signal and
   * rejects with 'job-failed', whether it heeds the signal or not; so does one that throws. The signal of a job that succeeded is
   * never aborted: whatever it started (a connection that is kept alive) may still listen to it. With `until`, a time of
   * `performance.now()`, the job fails at that time at the latest, also while it waits for its turn.
   */
  run<T>(
    key: string,
    job: (signal: AbortSignal) => Promise<T>,
    { until = Infinity }: { readonly until?: number } = {},
  ): Promise<T> {
    const running = this.#running.get(key)
    // One key names one kind of job, so its result is of the caller's type.
    if (running !== undefined) return running as Promise<T>
    const result = this.#start(job, until).finally(() => this.#running.delete(key))
    this.#running.set(key, result)
    return result
  }

  async #start<T>(job: (signal: AbortSignal) => Promise<T>, until: number): Promise<T> {
    const hasPlace = this.#active < this.#concurrency
    if (hasPlace) this.#active += 1
    else if (!(await this.#wait(until))) throw failed(new TooLate())
    const control = new AbortController()
    let timer: NodeJS.Timeout | undefined
    try {
      if (until - performance.now() < leastMs) throw new TooLate()
      const tooLate = new Promise<never>((_, reject) => {
        const ms = Math.max(0, Math.min(this.#timeoutMs, until - performance.now()))
        timer = setTimeout(() => reject(new TooLate()), ms)
      })
      return await Promise.race([job(control.signal), tooLate])
    } catch (cause) {
      control.abort()
      throw failed(cause)
    } finally {
      clearTimeout(timer)
      const next = this.#waiting.shift()
      if (next === undefined) this.#active -= 1
      else next()
    }
  }

  /** Resolves to true when another job hands on its place, to false when the time is over. */
  #wait(until: number): Promise<boolean> {
    return new Promise((resolve) => {
      let timer: NodeJS.Timeout | undefined
      const begin = (): void => {
        clearTimeout(timer)
        resolve(true)
      }
      this.#waiting.push(begin)
      if (until === Infinity) return
      const leave = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(begin), 1)
        resolve(false)
      }
      timer = setTimeout(leave, Math.max(0, until - performance.now()))
    })
  }
}

function failed(cause: unknown): OrielError {
  const isLate = cause instanceof TooLate
  const why = isLate ? 'took too long' : 'failed'
  const message = `A job ${why}. The view is as if it had not been asked for.`
  const details = { failure: isLate ? 'timeout' : 'failed' }
  return new OrielError('job-failed', message, { cause, details })
}

class TooLate extends Error {}

/** Why a job failed, for events and log lines: a sentence without content, and a code. */
export interface JobFailure {
  readonly reason: string
  readonly error: string
}

/** Of an error that a job rejected with. The cause says more where it is an error of Oriel's own. */
export function failureOf(error: unknown): JobFailure {
  const inner = OrielError.is(error) && OrielError.is(error.cause) ? error.cause : error
  if (!OrielError.is(inner)) return { reason: 'unknown', error: 'failed' }
  const { failure = inner.code } = inner.details ?? {}
  return { reason: inner.message, error: String(failure) }
}
