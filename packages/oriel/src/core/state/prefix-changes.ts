// Prefix changes by undos, marks and budget fitting. Reasoning produced after one prefix must not
// be sent after another.

import type { MessageEntry, RequestEntry } from '../log/entry.ts'
import { hash53 } from '../log/ids.ts'

/** Snapshot of `PrefixChanges`. */
export interface PrefixChangesData {
  readonly toggled: readonly (readonly [seq: number, since: number])[]
  readonly past: readonly (readonly [first: number, from: number, until: number])[]
  readonly unkept: number | null
  readonly isRecord: boolean
  readonly records: readonly number[]
  /** Repeated answers, with the seq of their first occurrence. */
  readonly again: readonly (readonly [seq: number, first: number])[]
  /** First occurrence of the newest signed reasoning blocks, by hash of the signature. */
  readonly signed: readonly (readonly [signature: string, first: number])[]
}

/** Answers are repeated soon or never, so older signatures are evicted. */
const rememberedSignatures = 256

const none: PrefixChangesData = {
  ...{ toggled: [], past: [], unkept: null, isRecord: false },
  ...{ records: [], again: [], signed: [] },
}

export class PrefixChanges {
  /** Messages shown or hidden by a mark, with the log length at that time. */
  readonly #toggled: Map<number, number>
  /** Past intervals with a different prefix: first changed seq, start, end. */
  readonly #past: (readonly [first: number, from: number, until: number])[]

  /** First seq at which the newest request differed from later ones. */
  #unkept: number | undefined
  /** The newest request showed an open tool loop as a transcript. */
  #isRecord: boolean
  /** Answers to requests with a transcript. */
  readonly #records: Set<number>

  /** First occurrence of each signed reasoning block, bounded to the newest ones. */
  readonly #signed: Map<string, number>
  readonly #again: Map<number, number>

  constructor(data: PrefixChangesData = none) {
    const { toggled, past, unkept, isRecord, records, again, signed } = data
    this.#toggled = new Map(toggled)
    this.#past = [...past]
    this.#unkept = unkept ?? undefined
    this.#isRecord = isRecord
    this.#records = new Set(records)
    this.#again = new Map(again)
    this.#signed = new Map(signed)
  }

  data(): PrefixChangesData {
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

  /** Records a request. Its details give the first seq shown in a form that is not kept. */
  asked({ details }: Pick<RequestEntry, 'details'>): void {
    this.#unkept = details?.unkeptFrom
    this.#isRecord = details?.isRecord === true
  }

  /**
   * Records the answer to the newest request. Only this answer has seen that prefix; a repeated
   * answer has the prefix of its first occurrence.
   */
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

  /** Seq of the first occurrence of an answer. Its reasoning depends on the prefix there. */
  firstSeenAt(seq: number): number {
    return this.#again.get(seq) ?? seq
  }

  /**
   * True if the answer saw its tool loop as a transcript. Once the loop is over, the loop is shown
   * in its original form.
   */
  hasSeenRecord(seq: number): boolean {
    return this.#records.has(seq)
  }

  /** Records a mark at `at` that shows or hides a message. The next toggle reverts it. */
  toggle(seq: number, at: number): void {
    const since = this.#toggled.get(seq)
    if (since === undefined) this.#toggled.set(seq, at)
    else {
      this.#toggled.delete(seq)
      this.#past.push([seq, since, at])
    }
  }

  /** Records that an edit starting at `first` was live during the interval. */
  undone(first: number, from: number, until: number): void {
    this.#past.push([first, from, until])
  }

  /** True if the prefix of the message at `seq` differs from the one at its append. */
  haveChangedBefore(seq: number): boolean {
    for (const [first, since] of this.#toggled) if (first < seq && since >= seq) return true
    return this.#past.some(([first, from, until]) => first < seq && from <= seq && seq < until)
  }
}
