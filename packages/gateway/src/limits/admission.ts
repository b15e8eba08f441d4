// Admission queue with load shedding, as CoDel does it: starts a few calls per turn of the event loop, so that new connections and
// upstream responses are handled in between. A queue that stays long for half a second only adds latency: from then on a new call is
// rejected at once if it would wait longer than the target, until the queue has been short for half a second.

/** Calls started per turn of the event loop. */
const perTurn = 4
/** More while shedding: each turn also rejects many, and must not spend more time on them than on calls. */
const perTurnWhileShedding = 8
/** Longer waits during less than this, as after a garbage collection pause, recover without shedding (CoDel's interval). */
const intervalMs = 500
/** The wait that is acceptable for long, as a share of the longest (CoDel's target). */
const targetShare = 1 / 20
/** Weight of the newest turn in the pace (an exponential moving average). */
const paceShare = 1 / 16

export interface AdmissionOptions {
  /** Maximum queueing time in milliseconds; 0 = unlimited. */
  readonly mostMs: number
  /** The clock. @default performance.now */
  readonly now?: () => number
}

interface Waiting {
  readonly since: number
  /** True if admitted, false if it waited too long. */
  readonly resolve: (isAdmitted: boolean) => void
}

/**
 * Guarantees:
 * - Calls start in order of arrival (FIFO).
 * - Shedding starts only after every call of half a second has waited longer than the target, a twentieth of `mostMs`.
 * - While shedding, new calls are rejected if they would wait that long at the pace of the last turns. Shedding stops when none was for
 *   half a second.
 */
export class AdmissionQueue {
  readonly #mostMs: number
  readonly #targetMs: number
  readonly #now: () => number
  #queue: Waiting[] = []
  #started = 0
  #isScheduled = false
  /** Since when every call that was started had waited too long. */
  #aboveSince: number | undefined
  #isShedding = false
  /** When a call was last rejected, or had waited too long. */
  #fullAt = 0
  /** Time between two calls that are started, over the last turns. */
  #paceMs = 0
  #drainedAt: number | undefined

  constructor({ mostMs, now = () => performance.now() }: AdmissionOptions) {
    this.#mostMs = mostMs
    this.#targetMs = mostMs * targetShare
    this.#now = now
  }

  /** True if a new call should be rejected. */
  get isFull(): boolean {
    if (!this.#isShedding) return false
    const now = this.#now()
    const isFull = this.#queue.length * this.#paceMs > this.#targetMs
    if (isFull) this.#fullAt = now
    else if (now - this.#fullAt > intervalMs) this.#isShedding = false
    return isFull
  }

  /**
   * Returns undefined if the call may start at once. Else resolves with true when it is admitted,
   * or false if it waited too long.
   */
  enter(): Promise<boolean> | undefined {
    this.#schedule()
    if (this.#queue.length === 0 && this.#started < this.#batchSize) {
      this.#start(0)
      return undefined
    }
    return new Promise((resolve) => this.#queue.push({ since: this.#now(), resolve }))
  }

  get #batchSize(): number {
    return this.#isShedding ? perTurnWhileShedding : perTurn
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#drain()
    })
  }

  #drain(): void {
    this.#started = 0
    const now = this.#now()
    let passed = 0
    for (const { since, resolve } of this.#queue) {
      const isTooLate = this.#isShedding && now - since > this.#mostMs / 2
      if (!isTooLate && this.#started >= this.#batchSize) break
      if (!isTooLate) this.#start(now - since)
      resolve(!isTooLate)
      passed += 1
    }
    this.#queue.splice(0, passed)
    this.#notePace(now)
    if (this.#queue.length > 0 || this.#started > 0) this.#schedule()
  }

  /** Only turns that leave somebody waiting tell how fast calls can be started. */
  #notePace(now: number): void {
    const before = this.#drainedAt
    this.#drainedAt = this.#queue.length > 0 ? now : undefined
    if (before === undefined || this.#started === 0) return
    const paceMs = (now - before) / this.#started
    this.#paceMs += (paceMs - this.#paceMs) * paceShare
  }

  #start(waitedMs: number): void {
    this.#started += 1
    if (this.#mostMs === 0 || waitedMs <= this.#targetMs) {
      this.#aboveSince = undefined
      return
    }
    const now = this.#now()
    this.#fullAt = now
    this.#aboveSince ??= now
    if (now - this.#aboveSince > intervalMs) this.#isShedding = true
  }
}
