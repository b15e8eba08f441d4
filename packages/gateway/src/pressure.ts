// Whether this process keeps up: how late a timer comes that should come every few milliseconds.

/** How often it is looked at. */
const intervalMs = 50

export interface PressureOptions {
  /** Lateness above which there is too much to do, in milliseconds; 0 = never. */
  readonly mostMs: number
  /** The clock. @default performance.now */
  readonly now?: () => number
}

/**
 * Late once is one large request, or a pause of the garbage collector, and passes by itself. Late again and again means that more comes
 * in than is done: then those that come last had better come again later, while those that are there are served in time.
 */
export class Pressure {
  readonly #mostMs: number
  readonly #now: () => number
  #timer: NodeJS.Timeout | undefined
  #due = 0
  /** How late the last two looks were. */
  #late: readonly [number, number] = [0, 0]

  constructor({ mostMs, now = () => performance.now() }: PressureOptions) {
    this.#mostMs = mostMs
    this.#now = now
  }

  /** Whether more comes in than is done. */
  get isHigh(): boolean {
    this.#start()
    return this.#mostMs > 0 && Math.min(...this.#late) > this.#mostMs
  }

  /** Called every few milliseconds, if the process finds the time. */
  look(): void {
    const now = this.#now()
    this.#late = [Math.max(0, now - this.#due), this.#late[0]]
    this.#due = now + intervalMs
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #start(): void {
    if (this.#timer !== undefined || this.#mostMs === 0) return
    this.#due = this.#now() + intervalMs
    this.#timer = setInterval(() => this.look(), intervalMs).unref()
  }
}
