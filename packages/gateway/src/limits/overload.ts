// Overload detector: measures event loop lag and the time until calls are forwarded.

import type { Background } from '../background.ts'

/** Sampling interval. */
const intervalMs = 50
/** Window in which forwarded calls are judged together. */
const windowMs = 250
/** The time until a call is forwarded that is too long for the fastest of many, as a share of the lag that is. */
const durationShare = 1 / 4
/** Minimum calls in a window for a verdict. */
const minCalls = 4

export interface OverloadOptions {
  /** Delay above which the process is overloaded, in milliseconds; 0 = never. */
  readonly mostMs: number
  /** The clock. @default performance.now */
  readonly now?: () => number
  readonly background: Background
}

/**
 * A single delay is one large request or a garbage collection pause, and passes. Repeated delays,
 * or a window without a single call in time, mean that load exceeds capacity: new calls should be
 * rejected so that active ones finish in time.
 */
export class OverloadDetector {
  readonly #mostMs: number
  readonly #now: () => number
  readonly #background: Background
  #timer: NodeJS.Timeout | undefined
  #due = 0
  /** Lag of the last two samples. */
  #lag: readonly [number, number] = [0, 0]
  /** The calls of this window, and the shortest delay among them. */
  #window = { until: 0, calls: 0, least: Infinity }
  /** Verdict of the previous window, and its expiry. */
  #verdict = { isHigh: false, until: 0 }

  constructor({ mostMs, background, now = () => performance.now() }: OverloadOptions) {
    this.#mostMs = mostMs
    this.#now = now
    this.#background = background
  }

  /** True if load exceeds capacity. */
  get isHigh(): boolean {
    if (this.#mostMs === 0) return false
    this.#start()
    const { isHigh, until } = this.#verdict
    return Math.min(...this.#lag) > this.#mostMs || (isHigh && this.#now() < until)
  }

  /** Records the time from the arrival of a call to its forwarding. */
  noteDuration(ms: number): void {
    const now = this.#now()
    if (now >= this.#window.until) {
      const { calls, least } = this.#window
      this.#verdict = {
        isHigh: calls >= minCalls && least > this.#mostMs * durationShare,
        until: now + windowMs,
      }
      this.#window = { until: now + windowMs, calls: 0, least: Infinity }
    }
    this.#window.calls += 1
    this.#window.least = Math.min(this.#window.least, ms)
  }

  /** Called at every interval, if the event loop is not blocked. */
  sample(): void {
    const now = this.#now()
    this.#lag = [Math.max(0, now - this.#due), this.#lag[0]]
    this.#due = now + intervalMs
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #start(): void {
    if (this.#timer !== undefined) return
    this.#due = this.#now() + intervalMs
    const sample = this.#background.callback('pressure', () => this.sample())
    this.#timer = setInterval(sample, intervalMs).unref()
  }
}
