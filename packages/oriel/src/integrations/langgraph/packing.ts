// Packs the texts of one log. Each is compressed with the ones before it as the dictionary, since checkpoints say nearly the same again and again.

import { deflateRawSync, inflateRawSync } from 'node:zlib'

/** How much of what was packed before helps to pack the next. More than 32 KB is of no use to the algorithm. */
const dictionaryBytes = 16 * 1024

/** Contracts: `unpack` gives back what `pack` took, where both were told of the same texts before, in the same order. */
export class Packing {
  #dictionary = Buffer.alloc(0)

  pack(text: string): string {
    return deflateRawSync(text, this.#options).toString('base64')
  }

  unpack(packed: string): string {
    return inflateRawSync(Buffer.from(packed, 'base64'), this.#options).toString()
  }

  /** Tells of a text that is in the log. */
  learn(text: string): void {
    const next = Buffer.concat([this.#dictionary, Buffer.from(text)])
    this.#dictionary = next.subarray(Math.max(0, next.length - dictionaryBytes))
  }

  get #options(): { readonly dictionary?: Buffer } {
    return this.#dictionary.length === 0 ? {} : { dictionary: this.#dictionary }
  }
}
