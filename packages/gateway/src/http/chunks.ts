// Pull-based reader of response chunks. The stream's own async iterator costs several times as
// much.

import type { IncomingMessage } from 'node:http'

export class IncomingChunks implements AsyncIterableIterator<Uint8Array> {
  readonly #incoming: IncomingMessage
  #isListening = false
  #failure: Error | undefined
  /** Wakes the waiting reader. */
  #wake: (() => void) | undefined

  constructor(incoming: IncomingMessage) {
    this.#incoming = incoming
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    const incoming = this.#incoming
    for (;;) {
      const chunk: Uint8Array | null = incoming.destroyed ? null : incoming.read()
      if (chunk !== null) return { done: false, value: chunk }
      if (incoming.destroyed && !incoming.readableEnded) throw this.#reason()
      if (incoming.complete) return { done: true, value: undefined }
      await this.#change()
    }
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    this.#incoming.destroy()
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /**
   * Resolves when more data may be available or the stream has ended. Listeners are attached
   * lazily: a short response is complete at once.
   */
  #change(): Promise<void> {
    if (!this.#isListening) this.#listen()
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  #listen(): void {
    this.#isListening = true
    const wake = (): void => this.#wake?.()
    this.#incoming.on('readable', wake)
    this.#incoming.once('end', wake)
    this.#incoming.once('close', wake)
    this.#incoming.once('error', (error) => {
      this.#failure = error
      wake()
    })
  }

  #reason(): Error {
    return this.#failure ?? this.#incoming.errored ?? new Error('The upstream broke off.')
  }
}
