// What undos, marks and requests that had to fit did to a view: reasoning that was made before another beginning must not be sent behind
// this one.

import type { MessageEntry, RequestEntry } from '../log/entry.ts'
import { hash53 } from '../log/ids.ts'

/** What a snapshot keeps of it. */
export interface MovesData {
  readonly toggled: readonly (readonly [seq: number, since: number])[]
  readonly past: readonly (readonly [first: number, from: number, until: number])[]
  readonly unkept: number | null
  readonly isRecord: boolean
  readonly records: readonly number[]
  /** Answers that were said again, and where they were said first. */
  readonly again: readonly (readonly [seq: number, first: number])[]
  /** Where the newest signed thoughts were said first, by a hash of the signature. */
  readonly signed: readonly (readonly [signature: string, first: number])[]
}

/** An answer is said again soon, or never: older ones are forgotten. */
const rememberedSignatures = 256

const none: MovesData = {
  ...{ toggled: [], past: [], unkept: null, isRecord: false },
  ...{ records: [], again: [], signed: [] },
}

export class PrefixChanges {
  /** Messages that a mark shows or hides, against what they were before it. */
  readonly #toggled: Map<number, number>
  /** Times in which a view began otherwise: from where, from when, until when. */
  readonly #past: (readonly [first: number, from: number, until: number])[]

  /** From where the newest request showed what later ones do not. */
  #unkept: number | undefined
  /** Whether it showed an open tool loop as a record. */
  #isRecord: boolean
  /** Answers to such requests. */
  readonly #records: Set<number>

  /** Where each signed thought was said first, the newest of them. */
  readonly #signed: Map<string, number>
  readonly #again: Map<number, number>

  constructor(data: MovesData = none) {
    const { toggled, past, unkept, isRecord, records, again, signed } = data
    this.#toggled = new Map(toggled)
    this.#past = [...past]
    this.#unkept = unkept ?? undefined
    this.#isRecord = isRecord
    this.#records = new Set(records)
    this.#again = new Map(again)
    this.#signed = new Map(signed)
  }

  data(): MovesData {
    return {
      toggled: [...this.#toggled],
      past: [...this.#past],
      unkept: this.#unkept ?? null,
      isRecord: this.#isRecord,
      records: [...this.#records],
      again: [...this.#again],
      signed: [...this.#signed],
    }
  }

  /** A request was made; its details say from where it showed forms that are not kept. */
  asked({ details }: Pick<RequestEntry, 'details'>): void {
    const first = details?.unkeptFrom
    this.#unkept = typeof first === 'number' ? first : undefined
    this.#isRecord = details?.isRecord === true
  }

  /** The newest request was answered: the answer alone has seen what it showed. One that is said again has not seen more. */
  answered({ seq, blocks }: Pick<MessageEntry, 'seq' | 'blocks'>): void {
    for (const block of blocks) {
      if (block.type !== 'reasoning' || block.signature === undefined) continue
      const { signature } = block
      const key = `${signature.length}:${hash53(signature).toString(36)}`
      const first = this.#signed.get(key)
      if (first === undefined) this.#remember(key, seq)
      else this.#again.set(seq, first)
    }
    if (this.#unkept !== undefined) this.#past.push([this.#unkept, seq, seq + 1])
    this.#unkept = undefined
    if (this.#isRecord) this.#records.add(seq)
    this.#isRecord = false
  }

  #remember(key: string, seq: number): void {
    this.#signed.set(key, seq)
    if (this.#signed.size <= rememberedSignatures) return
    const [oldest] = this.#signed.keys()
    if (oldest !== undefined) this.#signed.delete(oldest)
  }

  /** Where an answer was said first: its reasoning is bound to what stood before it there. */
  firstSeenAt(seq: number): number {
    return this.#again.get(seq) ?? seq
  }

  /** Whether an answer has seen the tool loop before it as a record: when the loop is over, it is shown as it was. */
  hasSeenRecord(seq: number): boolean {
    return this.#records.has(seq)
  }

  /** A mark at `at` shows or hides a message; the next one that does takes it back. */
  toggle(seq: number, at: number): void {
    const since = this.#toggled.get(seq)
    if (since === undefined) this.#toggled.set(seq, at)
    else {
      this.#toggled.delete(seq)
      this.#past.push([seq, since, at])
    }
  }

  /** An edit that began at `first` was in force from one time until another. */
  undone(first: number, from: number, until: number): void {
    this.#past.push([first, from, until])
  }

  /** Whether what stood before the message at `seq` when it was logged is not what stands there now. */
  haveChangedBefore(seq: number): boolean {
    for (const [first, since] of this.#toggled) if (first < seq && since >= seq) return true
    return this.#past.some(([first, from, until]) => first < seq && from <= seq && seq < until)
  }
}
