// How many bytes of request bodies, and of answers that are read for the log, may be under way at the same time: each takes several times
// its size in memory until its call is over.

import { refuse } from '../http/errors.ts'

/** What the body and the answer of one call take. */
export interface Reservation {
  /** Takes room for so many bytes in all. Refuses where others have it; a body that is alone always has room. */
  take(bytes: number): void
  /** Takes room for more bytes; false where others have it. Bytes that are alone always have room. */
  grow(bytes: number): boolean
  leave(): void
}

export class MemoryBudget {
  readonly #maxBytes: number
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** What all calls under way take. */
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
          throw refuse(503, 'overloaded', 'Too many large requests are under way. Try again.')
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
