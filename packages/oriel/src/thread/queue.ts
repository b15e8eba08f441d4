// A queue of asynchronous tasks: one at a time, in the order in which they were asked for.

export class Queue {
  #last: Promise<unknown> = Promise.resolve()

  /** Runs a task after all before it, whether they succeeded or not. */
  run<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#last.then(task)
    this.#last = result.catch(() => undefined)
    return result
  }

  /** Resolves when everything that was asked for is done. */
  async idle(): Promise<void> {
    let seen: Promise<unknown> | undefined
    while (seen !== this.#last) {
      seen = this.#last
      await seen
    }
  }
}
