// Admission queue with load shedding: starts a few calls per turn of the event loop, so that new
// connections and upstream responses are handled in between. Under sustained overload, calls that
// would wait too long are rejected at once.

/**
 * Calls started per turn of the event loop. Fewer while shedding, so that new calls are rejected
 * quickly.
 */
const perTurn = 4
const perTurnWhileShedding = 1

/** Delays shorter than this, such as a garbage collection pause, recover without shedding. */
const graceMs = 500

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
 * - Shedding starts only after every call of half a second has waited longer than half of `mostMs`.
 * - While shedding, new calls are rejected if the head of the queue has waited that long. Shedding
 *   stops once waits are short again.
 */
export class AdmissionQueue {
  readonly #mostMs: number
  readonly #now: () => number
  #queue: Waiting[] = []
  #started = 0
  #isScheduled = false
  /** When a call was last admitted in time. */
  #lastOnTimeAt: number
  #isShedding = false

  constructor({ mostMs, now = () => performance.now() }: AdmissionOptions) {
    this.#mostMs = mostMs
    this.#now = now
    this.#lastOnTimeAt = now()
  }

  /** True if a new call should be rejected. */
  get isFull(): boolean {
    const [first] = this.#queue
    if (first === undefined) return false
    const now = this.#now()
    if (this.#mostMs > 0 && now - this.#lastOnTimeAt > graceMs) this.#isShedding = true
    return this.#isShedding && now - first.since > this.#mostMs / 2
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
      const isTooLate = this.#isShedding && now - since > this.#mostMs
      if (!isTooLate && this.#started >= this.#batchSize) break
      if (!isTooLate) this.#start(now - since)
      resolve(!isTooLate)
      passed += 1
    }
    this.#queue.splice(0, passed)
    if (this.#queue.length > 0 || this.#started > 0) this.#schedule()
  }

  #start(waitedMs: number): void {
    this.#started += 1
    if (waitedMs <= this.#mostMs / 2) this.#lastOnTimeAt = this.#now()
    if (waitedMs <= this.#mostMs / 20) this.#isShedding = false
  }
}
