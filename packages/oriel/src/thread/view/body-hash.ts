// The hash of a request's body, kept from view to view: only what is new at the end is written and hashed again.

import { createHash, type Hash } from 'node:crypto'
import type { Json } from '../../core/log/json.ts'
import type { EncodedSegment } from '../../providers/encode-segments.ts'

/** Pieces at the end that the next view will most likely change. */
const changing = 2

/** The SHA-256 of `JSON.stringify({ messages, system })`, for messages that come in pieces. */
export class BodyHash {
  #known: EncodedSegment[] = []
  #hash = begun()

  of(pieces: readonly EncodedSegment[], system: Json | undefined): string {
    if (this.#known.some((piece, index) => piece !== pieces[index])) {
      this.#known = []
      this.#hash = begun()
    }
    const lasting = pieces.slice(this.#known.length, Math.max(0, pieces.length - changing))
    for (const piece of lasting) {
      write(this.#hash, piece, this.#known)
      this.#known.push(piece)
    }
    const hash = this.#hash.copy()
    const written = [...this.#known]
    for (const piece of pieces.slice(written.length)) {
      write(hash, piece, written)
      written.push(piece)
    }
    hash.update(system === undefined ? ']}' : `],"system":${JSON.stringify(system)}}`)
    return hash.digest('hex')
  }
}

function begun(): Hash {
  return createHash('sha256').update('{"messages":[')
}

function write(hash: Hash, { encoded }: EncodedSegment, before: readonly EncodedSegment[]): void {
  if (encoded.messages.length === 0) return
  const isFirst = before.every((piece) => piece.encoded.messages.length === 0)
  hash.update(`${isFirst ? '' : ','}${JSON.stringify(encoded.messages).slice(1, -1)}`)
}
