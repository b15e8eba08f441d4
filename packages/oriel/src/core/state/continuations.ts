// Answers in several parts: the provider paused, or a client began what the model was to go on with. The parts are one message.

import type { MessageEntry } from '../log/entry.ts'

/** What a snapshot keeps of it. */
export interface AnswerPartsData {
  /** The newest message, if it is the assistant's. */
  readonly newest: number | null
  readonly open: number | null
  /** Each part that goes on with another, and that one. */
  readonly joined: readonly (readonly [seq: number, before: number])[]
}

export class Continuations {
  #newest: number | undefined
  #open: number | undefined
  readonly #before = new Map<number, number>()
  readonly #next = new Map<number, number>()

  constructor(
    { newest, open, joined }: AnswerPartsData = { newest: null, open: null, joined: [] },
  ) {
    this.#newest = newest ?? undefined
    this.#open = open ?? undefined
    for (const [seq, before] of joined) this.#join(seq, before)
  }

  data(): AnswerPartsData {
    const { newest = null, open = null } = { newest: this.#newest, open: this.#open }
    return { newest, open, joined: [...this.#before] }
  }

  /** The seq of the message that the next answer goes on with: the newest of all, and said to be unfinished. */
  get open(): number | undefined {
    return this.#open
  }

  /** Takes in a message that was just appended. */
  add({ role, seq }: Pick<MessageEntry, 'role' | 'seq'>): void {
    if (role === 'system') return
    if (role === 'assistant' && this.#open !== undefined) this.#join(seq, this.#open)
    this.#newest = role === 'assistant' ? seq : undefined
    this.#open = undefined
  }

  /** The next answer goes on with this message, if nothing came behind it. */
  markContinued(seq: number): void {
    if (this.#newest === seq) this.#open = seq
  }

  /** Whether a message goes on with the one before it. */
  isLater(seq: number): boolean {
    return this.#before.has(seq)
  }

  /** The seqs of all parts of the answer that a message is a part of, in order; its own alone where it is whole. */
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
