// The chunks of an answer that a connection brings, one at a time. A stream's own iterator does the same for several times the work.

import type { IncomingMessage } from 'node:http'

export class IncomingChunks implements AsyncIterableIterator<Uint8Array> {
  readonly #incoming: IncomingMessage
  #isEnded = false
  #failure: Error | undefined
  /** Tells who waits that something happened. */
  #wake: (() => void) | undefined

  constructor(incoming: IncomingMessage) {
    this.#incoming = incoming
    const wake = (): void => this.#wake?.()
    incoming.on('readable', wake)
    incoming.once('end', () => {
      this.#isEnded = true
      wake()
    })
    incoming.once('error', (error) => {
      this.#failure ??= error
      wake()
    })
    incoming.once('close', () => {
      if (!this.#isEnded) this.#failure ??= new Error('The upstream broke off.')
      wake()
    })
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    const incoming = this.#incoming
    for (;;) {
      const chunk: Uint8Array | null = incoming.destroyed ? null : incoming.read()
      if (chunk !== null) return { done: false, value: chunk }
      if (this.#failure !== undefined) throw this.#failure
      if (this.#isEnded || incoming.complete) return { done: true, value: undefined }
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    this.#incoming.destroy()
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}
