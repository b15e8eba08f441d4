// How many bytes of request bodies may be under way at the same time: each takes several times its size in memory until its call is over.

import { refuse } from './answer-errors.ts'

/** What the body of one call takes. */
export interface Room {
  /** Takes room for so many bytes in all. Refuses where others have it; a body that is alone always has room. */
  take(bytes: number): void
  leave(): void
}

export class Rooms {
  readonly #maxBytes: number
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** What all calls under way take. */
  get bytes(): number {
    return this.#bytes
  }

  open(): Room {
    let own = 0
    return {
      take: (bytes) => {
        if (bytes <= own) return
        const others = this.#bytes - own
        if (others > 0 && others + bytes > this.#maxBytes) {
          throw refuse(503, 'overloaded', 'Too many large requests are under way. Try again.')
        }
        own = bytes
        this.#bytes = others + bytes
      },
      leave: () => {
        this.#bytes -= own
        own = 0
      },
    }
  }
}
