// Reads an answer while it passes by: as a stream of events, or as one JSON body.

import { createParser } from 'eventsource-parser'
import type { Answer, Collector } from './answers/collector.ts'
import { parseObject } from './answers/collector.ts'
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
    ? eventReader(endpoint.collector())
    : wholeReader(endpoint)
}

function eventReader(collector: Collector): AnswerReader {
  const decoder = new TextDecoder()
  let isTooLong = false
  const parser = createParser({
    onEvent: (event) => collector.take(event),
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
      return collector.isComplete
    },
    get isOver() {
      return collector.isOver
    },
    answer: () => collector.answer(),
  }
}

function wholeReader(endpoint: Endpoint): AnswerReader {
  let chunks: Uint8Array[] = []
  let size = 0
  let answer: Answer | undefined
  let isComplete = false
  return {
    take(chunk) {
      size += chunk.byteLength
      if (size <= maxWhole) chunks.push(chunk)
      else chunks = []
    },
    end() {
      const body = size > maxWhole ? undefined : parseObject(Buffer.concat(chunks).toString())
      chunks = []
      if (body === undefined) return
      isComplete = true
      answer = endpoint.answer(body)
    },
    get isComplete() {
      return isComplete
    },
    get isOver() {
      return false
    },
    answer: () => answer,
  }
}
