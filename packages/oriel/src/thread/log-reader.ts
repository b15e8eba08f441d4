// The log as callers read it: iterate it, or await it as an array.

import type { Entry } from '../core/entry.ts'

/** Streams entries when iterated with `for await`; gives all of them when awaited. */
export class LogReader implements AsyncIterable<Entry>, PromiseLike<Entry[]> {
  readonly #open: () => AsyncIterable<Entry>

  constructor(open: () => AsyncIterable<Entry>) {
    this.#open = open
  }

  [Symbol.asyncIterator](): AsyncIterator<Entry> {
    return this.#open()[Symbol.asyncIterator]()
  }

  // biome-ignore lint/suspicious/noThenProperty: awaiting the log for an array is the point.
  then<A = Entry[], B = never>(
    onFulfilled?: ((entries: Entry[]) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): PromiseLike<A | B> {
    return this.#all().then(onFulfilled, onRejected)
  }

  async #all(): Promise<Entry[]> {
    const entries: Entry[] = []
    for await (const entry of this.#open()) entries.push(entry)
    return entries
  }
}
