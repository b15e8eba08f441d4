// Answers in several parts: the provider paused, or the client sent a prefill. The parts form one
// message.

import type { MessageEntry } from '../log/entry.ts'

/** Snapshot of `Continuations`. */
export interface ContinuationsData {
  /** Seq of the newest message, if it is an assistant message. */
  readonly newest: number | null
  readonly open: number | null
  /** Each continuing part with the part it continues. */
  readonly joined: readonly (readonly [seq: number, before: number])[]
}

export class Continuations {
  #newest: number | undefined
  #open: number | undefined
  readonly #before = new Map<number, number>()
  readonly #next = new Map<number, number>()

  constructor(
    { newest, open, joined }: ContinuationsData = { newest: null, open: null, joined: [] },
  ) {
    this.#newest = newest ?? undefined
    this.#open = open ?? undefined
    for (const [seq, before] of joined) this.#join(seq, before)
  }

  data(): ContinuationsData {
    const { newest = null, open = null } = { newest: this.#newest, open: this.#open }
    return { newest, open, joined: [...this.#before] }
  }

  /** Seq of the message that the next answer continues: the newest one, marked as unfinished. */
  get open(): number | undefined {
    return this.#open
  }

  /** Indexes a newly appended message. */
  add({ role, seq }: Pick<MessageEntry, 'role' | 'seq'>): void {
    if (role === 'system') return
    if (role === 'assistant' && this.#open !== undefined) this.#join(seq, this.#open)
    this.#newest = role === 'assistant' ? seq : undefined
    this.#open = undefined
  }

  /** Marks that the next answer continues this message. Ignored if a newer message exists. */
  markContinued(seq: number): void {
    if (this.#newest === seq) this.#open = seq
  }

  /** True if the message continues the one before it. */
  isLater(seq: number): boolean {
    return this.#before.has(seq)
  }

  /** Seqs of all parts of the answer that contains this message, in order. */
  of(seq: number): readonly number[] {
    let first = seq
    for (let at = this.#before.get(seq); at !== undefined; at = this.#before.get(at)) first = at
    const parts = [first]
    for (let at = this.#next.get(first); at !== undefined; at = this.#next.get(at)) parts.push(at)
    return parts
  }

  #join(seq: number, before: number): void {
    this.#before.set(seq, before)
    this.#next.set(before, seq)
  }
}
