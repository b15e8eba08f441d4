// The newest body of each conversation, for as long as there is room: the next one begins like it.

import type { ReadHistory } from 'oriel'
import { bufferOf } from '../http/request.ts'
import type { Limits } from '../options.ts'
import {
  type ClientBody,
  commonPrefix,
  type KnownBody,
  knownBody,
  parseBody,
  parseIncremental,
} from './client-body.ts'

/** Smaller bodies are read whole in no time. */
const leastBytes = 16 * 1024
/** Bytes that tell one conversation from another at a place. What they find is compared whole. */
const signBytes = 64
/**
 * Places at which a body can be found: the last ones, by which it differs from those that only begin like it, and the largest power of
 * two within it, for one that has grown a lot.
 */
const lastPlaces = 3

/** Bodies that no sign distinguishes; the oldest gives way. */
const maxAlike = 8

/** A body that has at least this share of another's messages continues from it; else both only begin alike, as with the same instructions. */
const goesOnShare = 0.8

/** Memory of a body that has continued once, for each byte of it: the next ones are longer. */
const roomShare = 1.25

/** A body, and the one that it begins like. */
export interface FoundBody {
  readonly body: ClientBody
  readonly previous: KnownBody | undefined
  /** How often something was forgotten when it was read. */
  readonly forgotten: number
}

export class BodyCache {
  /** By what stands at some places: those that it cannot distinguish, newest last. In the order of their last use. */
  readonly #signs = new Map<string, KnownBody[]>()
  /** How many signs name each. */
  readonly #held = new Map<KnownBody, number>()
  readonly #maxBytes: number
  #bytes = 0
  #forgotten = 0

  /** `maxBytes` is what all of them may take in memory, roughly: text, values and what was read of them. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Reads a body. `scope` keeps callers apart: nobody's time depends on what others sent. */
  parse(scope: string, bytes: Uint8Array, limits: Pick<Limits, 'depth' | 'nodes'>): FoundBody {
    const own = bufferOf(bytes)
    const previous = own.length < leastBytes ? undefined : this.#find(scope, own)
    const body = previous && parseIncremental(own, previous, limits)
    const forgotten = this.#forgotten
    if (body !== undefined) return { body, previous, forgotten }
    return { body: parseBody(bytes, limits), previous: undefined, forgotten }
  }

  /** Whether a body is worth keeping. */
  keeps({ bytes }: ClientBody): boolean {
    return bytes.length >= leastBytes && 4 * bytes.length <= this.#maxBytes
  }

  /** Keeps a body, in the place of the one that it continues from. */
  keep(
    scope: string,
    { body, previous, forgotten }: FoundBody,
    { listKey, history }: { readonly listKey: string; readonly history: ReadHistory },
  ): void {
    // It may be of a thread that was erased meanwhile.
    if (!this.keeps(body) || forgotten !== this.#forgotten) return
    const read = knownBody(body, listKey, history)
    if (read === undefined) return
    const shared = body.alike?.count ?? 0
    const goesOn = previous !== undefined && shared >= goesOnShare * previous.list.length
    // Another one may have continued from it meanwhile.
    const isThere = goesOn && this.#held.has(previous)
    if (isThere) this.#remove(scope, previous)
    const known = isThere ? inPlaceOf(previous, read, shared) : read
    for (const sign of probeKeys(scope, known.bytes)) this.#add(sign, known)
    while (this.#bytes > this.#maxBytes) this.#drop(this.#signs.keys().next().value as string)
  }

  /** Forgets all bodies of the scopes that begin like this: a thread was erased, and no body says which thread it is of. */
  forget(scopePrefix: string): void {
    this.#forgotten += 1
    for (const sign of [...this.#signs.keys()]) if (sign.startsWith(scopePrefix)) this.#drop(sign)
  }

  #find(scope: string, bytes: Buffer): KnownBody | undefined {
    let best: { readonly known: KnownBody; readonly common: number } | undefined
    const found = new Set(probeKeys(scope, bytes).flatMap((sign) => this.#signs.get(sign) ?? []))
    for (const known of found) {
      const common = found.size === 1 ? 0 : commonPrefix(bytes, known.bytes)
      if (best === undefined || common > best.common) best = { known, common }
    }
    return best?.known
  }

  /** Forgets one body; from now on nobody reads its bytes. */
  #remove(scope: string, known: KnownBody): void {
    for (const sign of probeKeys(scope, known.bytes)) {
      const others = (this.#signs.get(sign) ?? []).filter((one) => one !== known)
      if (others.length > 0) this.#signs.set(sign, others)
      else this.#signs.delete(sign)
    }
    if (this.#held.delete(known)) this.#bytes -= sizeOf(known)
  }

  #add(sign: string, known: KnownBody): void {
    const others = this.#signs.get(sign) ?? []
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

/**
 * A body whose bytes stand in the memory of the one that it continues from, of which it shares so many messages: V8 frees what has lived
 * for a while only with the whole heap, so a copy of each long body would have it collected all the time.
 */
function inPlaceOf(previous: KnownBody, known: KnownBody, shared: number): KnownBody {
  const { bytes } = known
  const hasRoom = previous.room !== undefined && previous.room.length >= bytes.length
  const room = hasRoom ? previous.room : Buffer.allocUnsafeSlow(Math.ceil(bytes.length * roomShare))
  const from = hasRoom ? (known.ends[shared - 1]?.byte ?? 0) : 0
  bytes.copy(room, from, from)
  return { ...known, bytes: room.subarray(0, bytes.length), room }
}

/** The bytes themselves, and what was made of them. */
function sizeOf({ bytes }: KnownBody): number {
  return 4 * bytes.length
}

/** What stands before each place, the last one first. Places are the same for bodies of about the same length. */
function probeKeys(scope: string, bytes: Buffer): readonly string[] {
  const largest = 2 ** Math.floor(Math.log2(bytes.length))
  const step = largest / 4
  const last = Math.floor(bytes.length / step)
  const places = Array.from({ length: lastPlaces }, (_, index) => (last - index) * step)
  return [...new Set([...places, largest])].map(
    (end) => `${scope}\0${end}\0${bytes.toString('latin1', end - signBytes, end)}`,
  )
}
