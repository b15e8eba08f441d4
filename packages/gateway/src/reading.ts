// Reads an answer while it passes by: as a stream of events, or as one JSON body.

import { createParser } from 'eventsource-parser'
import { type Answer, type AnswerStream, parseEvent, parseObject } from 'oriel/providers'
import { bufferOf, joined } from './bytes.ts'
import type { Endpoint } from './endpoints.ts'

export interface AnswerReader {
  take(chunk: Uint8Array): void
  /** Nothing more comes. */
  end(): void
  readonly isComplete: boolean
  readonly isOver: boolean
  answer(): Answer | undefined
}

/** The most of a whole answer, or of one event of a stream, that is kept for reading; a larger one is passed on unread. */
const maxWhole = 32 * 1024 * 1024

export function createReader(endpoint: Endpoint, contentType: string): AnswerReader {
  return /^text\/event-stream/i.test(contentType)
    ? eventReader(endpoint.provider.stream())
    : new WholeReader(endpoint)
}

function eventReader(stream: AnswerStream): AnswerReader {
  const decoder = new TextDecoder()
  let isTooLong = false
  const parser = createParser({
    onEvent: ({ data }) => stream.take(parseEvent(data)),
    maxBufferSize: maxWhole,
    onError: ({ type }) => {
      isTooLong ||= type === 'max-buffer-size-exceeded'
    },
  })
  return {
    take(chunk) {
      if (!isTooLong) parser.feed(decoder.decode(chunk, { stream: true }))
    },
    end: () => {},
    get isComplete() {
      return stream.isComplete
    },
    get isOver() {
      return stream.isOver
    },
    answer: () => stream.answer(),
  }
}

class WholeReader implements AnswerReader {
  readonly #endpoint: Endpoint
  #chunks: Uint8Array[] = []
  #size = 0
  #answer: Answer | undefined
  isComplete = false
  readonly isOver = false

  constructor(endpoint: Endpoint) {
    this.#endpoint = endpoint
  }

  take(chunk: Uint8Array): void {
    this.#size += chunk.byteLength
    if (this.#size <= maxWhole) this.#chunks.push(chunk)
    else this.#chunks = []
  }

  end(): void {
    if (this.#size > maxWhole) return
    const body = parseObject(bufferOf(joined(this.#chunks)).toString())
    this.#chunks = []
    if (body === undefined) return
    this.isComplete = true
    this.#answer = this.#endpoint.provider.answer(body)
  }

  answer(): Answer | undefined {
    return this.#answer
  }
}
