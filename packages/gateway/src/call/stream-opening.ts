// The opening of a streamed answer: held until content comes, so that a refusal inside the stream can still be answered with a smaller
// request. Bounded in bytes and time, since some servers open a stream long before they speak.

import { setTimeout as wait } from 'node:timers/promises'
import { createParser } from 'eventsource-parser'
import type { Json } from 'oriel'
import { type Provider, parseEvent } from 'oriel/providers'
import type { UpstreamAnswer } from '../http/client.ts'
import { codingOf, headerOf } from '../http/decompress.ts'

/** The most that is held: an opening repeats the request's settings, and a long prompt with them. */
const maxBytes = 256 * 1024
/** How long an opening is held: a refusal follows at once. */
const maxMs = 1000

/** An answer as it may be passed on, and the error that its stream began with. */
export interface Opened {
  readonly answer: UpstreamAnswer
  readonly error?: Json
}

/** Reads a stream up to its first content or error. Other answers are returned as they are. Never rejects: a stream that breaks does so when it is passed on. */
export async function openStream(answer: UpstreamAnswer, provider: Provider): Promise<Opened> {
  const isStream = /^text\/event-stream/i.test(headerOf(answer, 'content-type') ?? '')
  const isPlain = codingOf(headerOf(answer, 'content-encoding')) === undefined
  if (!isStream || !isPlain || answer.status !== 200) return { answer }
  const opening = new Opening(answer, provider)
  await opening.read()
  const { error } = opening
  const opened = { ...answer, body: opening.body() }
  return error === undefined ? { answer: opened } : { answer: opened, error }
}

type Next = Promise<IteratorResult<Uint8Array>>

class Opening {
  readonly #chunks: AsyncIterator<Uint8Array>
  readonly #held: Uint8Array[] = []
  #size = 0
  /** A read that was begun and not waited for. */
  #next: Next | undefined
  #isOver = false
  error: Json | undefined

  readonly #decoder = new TextDecoder()
  readonly #parser: ReturnType<typeof createParser>

  constructor({ body }: UpstreamAnswer, { errors }: Provider) {
    this.#chunks = body[Symbol.asyncIterator]()
    this.#parser = createParser({
      onEvent: ({ data }) => {
        if (this.#isOver) return
        const event = errors.opening(parseEvent(data))
        if (event === 'opening') return
        this.#isOver = true
        if (event !== 'content') this.error = event.error
      },
    })
  }

  async read(): Promise<void> {
    const control = new AbortController()
    const late = wait(maxMs, 'late' as const, { signal: control.signal }).catch(
      () => 'late' as const,
    )
    while (!this.#isOver && this.#size < maxBytes) {
      this.#next ??= this.#chunks.next()
      // A failure is met again by who reads the body.
      const next = this.#next.catch(() => 'failed' as const)
      const came = await Promise.race([next, late])
      if (came === 'late' || came === 'failed' || came.done === true) break
      this.#next = undefined
      this.#held.push(came.value)
      this.#size += came.value.byteLength
      this.#parser.feed(this.#decoder.decode(came.value, { stream: true }))
    }
    control.abort()
    this.#parser.reset()
  }

  /** Everything, from the beginning. No generator: one that waits for a chunk could not be ended before it comes. */
  body(): AsyncIterableIterator<Uint8Array> {
    const body: AsyncIterableIterator<Uint8Array> = {
      next: () => {
        const held = this.#held.shift()
        if (held !== undefined) return Promise.resolve({ done: false, value: held })
        const next = this.#next ?? this.#chunks.next()
        this.#next = undefined
        return next
      },
      return: async () => {
        await this.#chunks.return?.()
        return { done: true, value: undefined }
      },
      [Symbol.asyncIterator]: () => body,
    }
    return body
  }
}
