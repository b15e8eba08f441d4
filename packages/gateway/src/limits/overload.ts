// Whether this process keeps up: how late its timers come, and how long calls wait before they can be sent on.

import type { Background } from '../background.ts'

/** How often it is looked at. */
const intervalMs = 50
/** Calls are judged together that were sent on within this time. */
const spanMs = 250
/** Fewer calls than this say nothing. */
const leastCalls = 4

export interface PressureOptions {
  /** Time above which there is too much to do, in milliseconds; 0 = never. */
  readonly mostMs: number
  /** The clock. @default performance.now */
  readonly now?: () => number
  readonly background: Background
}

/**
 * Late once is one large request, or a pause of the garbage collector, and passes by itself. Late again and again, or not even one
 * call in time, means that more comes in than is done: then those that come last had better come again later, while those that are
 * there are served in time.
 */
export class OverloadDetector {
  readonly #mostMs: number
  readonly #now: () => number
  readonly #background: Background
  #timer: NodeJS.Timeout | undefined
  #due = 0
  /** How late the last two looks were. */
  #late: readonly [number, number] = [0, 0]
  /** The calls of this span, and the shortest time that one of them took. */
  #span = { until: 0, calls: 0, least: Infinity }
  /** What the span before had to say, and until when it counts. */
  #verdict = { isHigh: false, until: 0 }

  constructor({ mostMs, background, now = () => performance.now() }: PressureOptions) {
    this.#mostMs = mostMs
    this.#now = now
    this.#background = background
  }

  /** Whether more comes in than is done. */
  get isHigh(): boolean {
    if (this.#mostMs === 0) return false
    this.#start()
    const { isHigh, until } = this.#verdict
    return Math.min(...this.#late) > this.#mostMs || (isHigh && this.#now() < until)
  }

  /** A call was sent on so long after it had come in. */
  noteDuration(ms: number): void {
    const now = this.#now()
    if (now >= this.#span.until) {
      const { calls, least } = this.#span
      this.#verdict = {
        isHigh: calls >= leastCalls && least > this.#mostMs,
        until: now + spanMs,
      }
      this.#span = { until: now + spanMs, calls: 0, least: Infinity }
    }
    this.#span.calls += 1
    this.#span.least = Math.min(this.#span.least, ms)
  }

  /** Called every few milliseconds, if the process finds the time. */
  sample(): void {
    const now = this.#now()
    this.#late = [Math.max(0, now - this.#due), this.#late[0]]
    this.#due = now + intervalMs
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #start(): void {
    if (this.#timer !== undefined) return
    this.#due = this.#now() + intervalMs
    const look = this.#background.callback('pressure', () => this.sample())
    this.#timer = setInterval(look, intervalMs).unref()
  }
}
