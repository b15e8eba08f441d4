// Memory budget: bounds the bytes of request bodies and logged responses of all active calls. Each
// takes several times its size in memory until its call ends.

import { refuse } from '../http/errors.ts'

/** Memory reserved for the body and response of one call. */
export interface Reservation {
  /**
   * Sets the reservation to a total. Throws if the budget is exhausted; the only active reservation
   * always succeeds.
   */
  take(bytes: number): void
  /**
   * Adds to the reservation. Returns false if the budget is exhausted; the only active reservation
   * always succeeds.
   */
  grow(bytes: number): boolean
  leave(): void
}

export class MemoryBudget {
  readonly #maxBytes: number
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Bytes reserved by all active calls. */
  get bytes(): number {
    return this.#bytes
  }

  open(): Reservation {
    let own = 0
    let isOpen = true
    const tryTake = (bytes: number): boolean => {
      const others = this.#bytes - own
      if (!isOpen || (others > 0 && others + bytes > this.#maxBytes)) return false
      own = bytes
      this.#bytes = others + bytes
      return true
    }
    return {
      take: (bytes) => {
        if (bytes > own && !tryTake(bytes)) {
          throw refuse(503, 'overloaded', 'Too many large requests are in progress. Retry later.')
        }
      },
      grow: (bytes) => tryTake(own + bytes),
      leave: () => {
        isOpen = false
        this.#bytes -= own
        own = 0
      },
    }
  }
}
