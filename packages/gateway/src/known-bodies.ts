// The newest body of each conversation, for as long as there is room: the next one begins like it.

import type { ReadHistory } from 'oriel'
import {
  bufferOf,
  type ClientBody,
  commonPrefix,
  type KnownBody,
  knownBody,
  type ListKey,
  parseAlike,
  parseBody,
} from './client-body.ts'
import type { Limits } from './options.ts'

/** Smaller bodies are read whole in no time. */
const leastBytes = 16 * 1024
/** Bytes that tell one conversation from another at a place. What they find is compared whole. */
const signBytes = 64
/** Places at which a body can be found: the largest powers of two within it. */
const places = 3

/** Bodies that no sign tells apart; the oldest gives way. */
const maxAlike = 8

/** A body, and the one that it begins like. */
export interface FoundBody {
  readonly body: ClientBody
  readonly previous: KnownBody | undefined
}

export class KnownBodies {
  /** By what stands at some places: those that it cannot tell apart, newest last. In the order of their last use. */
  readonly #signs = new Map<string, KnownBody[]>()
  /** How many signs name each. */
  readonly #held = new Map<KnownBody, number>()
  readonly #maxBytes: number
  #bytes = 0

  /** `maxBytes` is what all of them may take in memory, roughly: text, values and what was read of them. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Reads a body. `scope` keeps callers apart: nobody's time depends on what others sent. */
  parse(scope: string, bytes: Uint8Array, limits: Pick<Limits, 'depth' | 'nodes'>): FoundBody {
    const own = bufferOf(bytes)
    const previous = own.length < leastBytes ? undefined : this.#find(scope, own)
    const body = previous && parseAlike(own, previous, limits)
    if (body !== undefined) return { body, previous }
    return { body: parseBody(bytes, limits), previous: undefined }
  }

  /** Keeps a body in the place of the one that it began like. */
  keep(
    scope: string,
    { body, previous }: FoundBody,
    { listKey, history }: { readonly listKey: ListKey; readonly history: ReadHistory },
  ): void {
    if (body.bytes.length < leastBytes || 4 * body.bytes.length > this.#maxBytes) return
    const known = knownBody(body, listKey, history)
    if (known === undefined) return
    for (const sign of signsOf(scope, known.bytes)) this.#add(sign, known, previous)
    while (this.#bytes > this.#maxBytes) this.#drop(this.#signs.keys().next().value as string)
  }

  #find(scope: string, bytes: Buffer): KnownBody | undefined {
    for (const sign of signsOf(scope, bytes)) {
      const found = this.#signs.get(sign) ?? []
      const best = found.toSorted(
        (a, b) => commonPrefix(bytes, b.bytes) - commonPrefix(bytes, a.bytes),
      )
      if (best[0] !== undefined) return best[0]
    }
    return undefined
  }

  #add(sign: string, known: KnownBody, previous: KnownBody | undefined): void {
    const others = (this.#signs.get(sign) ?? []).filter((one) => one !== previous)
    this.#drop(sign)
    for (const one of [...others.slice(1 - maxAlike), known]) this.#hold(sign, one)
  }

  #hold(sign: string, known: KnownBody): void {
    this.#signs.set(sign, [...(this.#signs.get(sign) ?? []), known])
    const signs = this.#held.get(known) ?? 0
    if (signs === 0) this.#bytes += sizeOf(known)
    this.#held.set(known, signs + 1)
  }

  #drop(sign: string): void {
    for (const known of this.#signs.get(sign) ?? []) {
      const left = (this.#held.get(known) ?? 1) - 1
      if (left > 0) this.#held.set(known, left)
      else {
        this.#held.delete(known)
        this.#bytes -= sizeOf(known)
      }
    }
    this.#signs.delete(sign)
  }
}

/** The bytes themselves, and what was made of them. */
function sizeOf({ bytes }: KnownBody): number {
  return 4 * bytes.length
}

/** What stands before the largest powers of two, the largest first. */
function signsOf(scope: string, bytes: Buffer): readonly string[] {
  const largest = 2 ** Math.floor(Math.log2(bytes.length))
  return Array.from({ length: places }, (_, index) => {
    const end = largest / 2 ** index
    return `${scope}\0${end}\0${bytes.toString('latin1', end - signBytes, end)}`
  })
}
