// Calls begin a few at a time, so that between them the process hears who else is there: new connections, answers of upstreams. When more
// come than can be served, for longer than a moment, those who would wait too long are told at once to come again.

/** Calls that begin in one turn of the event loop, usually and while some are turned away: then newcomers must be heard soon. */
const perTurn = 4
const perTurnWhileShedding = 1

/** A pause of the garbage collector or of the machine is over by then, and what has piled up is done. */
const graceMs = 500

export interface TurnsOptions {
  /** Time that a call may wait for its turn, in milliseconds; 0 = any time. */
  readonly mostMs: number
  /** The clock. @default performance.now */
  readonly now?: () => number
}

interface Waiting {
  readonly since: number
  /** True: it is its turn. False: it waited too long. */
  readonly resolve: (isTurn: boolean) => void
}

/**
 * Contracts:
 * - Calls begin in the order in which they came.
 * - Nobody is turned away before all calls of half a second have waited longer than half of `mostMs`.
 * - From then on newcomers are, while the first in line has waited for so long, until hardly anybody waits.
 */
export class AdmissionQueue {
  readonly #mostMs: number
  readonly #now: () => number
  #line: Waiting[] = []
  #begun = 0
  #isScheduled = false
  /** When a call last began in time. */
  #calmAt: number
  #isShedding = false

  constructor({ mostMs, now = () => performance.now() }: TurnsOptions) {
    this.#mostMs = mostMs
    this.#now = now
    this.#calmAt = now()
  }

  /** Whether one more call had better come again later. */
  get isFull(): boolean {
    const [first] = this.#line
    if (first === undefined) return false
    const now = this.#now()
    if (this.#mostMs > 0 && now - this.#calmAt > graceMs) this.#isShedding = true
    return this.#isShedding && now - first.since > this.#mostMs / 2
  }

  /** Undefined: begin at once. Else resolves at the call's turn with true, or with false when it has waited too long. */
  enter(): Promise<boolean> | undefined {
    this.#schedule()
    if (this.#line.length === 0 && this.#begun < this.#most) {
      this.#begin(0)
      return undefined
    }
    return new Promise((resolve) => this.#line.push({ since: this.#now(), resolve }))
  }

  get #most(): number {
    return this.#isShedding ? perTurnWhileShedding : perTurn
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#turn()
    })
  }

  #turn(): void {
    this.#begun = 0
    const now = this.#now()
    let passed = 0
    for (const { since, resolve } of this.#line) {
      const isTooLate = this.#isShedding && now - since > this.#mostMs
      if (!isTooLate && this.#begun >= this.#most) break
      if (!isTooLate) this.#begin(now - since)
      resolve(!isTooLate)
      passed += 1
    }
    this.#line.splice(0, passed)
    if (this.#line.length > 0 || this.#begun > 0) this.#schedule()
  }

  #begin(waitedMs: number): void {
    this.#begun += 1
    if (waitedMs <= this.#mostMs / 2) this.#calmAt = this.#now()
    if (waitedMs <= this.#mostMs / 20) this.#isShedding = false
  }
}
