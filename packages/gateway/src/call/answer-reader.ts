// Reads an answer for the log while it passes by: as a stream of events, or as one JSON body; decompressed where it has to be. Bounded,
// whatever an upstream sends: what does not fit is passed on unread.

import { createParser } from 'eventsource-parser'
import type { Provider } from 'oriel/providers'
import { type Answer, type AnswerStream, parseAnswer, parseEvent } from 'oriel/providers'
import { codingOf, Decoder, isDecodable } from '../http/decompress.ts'
import type { ReadableHeaders } from '../http/header-list.ts'
import { bufferOf, joined } from '../http/request.ts'

/** Why the log does not have all of an answer that the client got. */
export const readingProblems = ['too-large', 'unknown-encoding', 'damaged-encoding'] as const
export type ReadingProblem = (typeof readingProblems)[number]

export interface AnswerReader {
  /** Resolves when it is read; at once where nothing is returned. */
  take(chunk: Uint8Array): Promise<void> | void
  /** Nothing more comes. */
  end(): Promise<void> | void
  /** What was read so far is all that is wanted. */
  close(): void
  readonly isComplete: boolean
  readonly isOver: boolean
  readonly problem: ReadingProblem | undefined
  answer(): Answer | undefined
}

export interface ReaderOptions {
  /** Of the answer: its type and its coding. */
  readonly headers: Pick<ReadableHeaders, 'get'>
  /** The most that is read of an answer, decompressed. @default 67108864 */
  readonly maxBytes?: number
  /** Reserves memory for what is kept; false where there is none. @default always true */
  readonly reserve?: (bytes: number) => boolean
}

/** The most of one event of a stream. */
const maxEvent = 32 * 1024 * 1024
const defaultMaxBytes = 64 * 1024 * 1024

export function createReader(provider: Provider, options: ReaderOptions): AnswerReader {
  const { headers, maxBytes = defaultMaxBytes, reserve = () => true } = options
  const isStream = /^text\/event-stream/i.test(headers.get('content-type') ?? '')
  const plain = isStream ? new EventReader(provider.stream()) : new WholeReader(provider)
  const bounded = new BoundedReader(plain, { maxBytes, reserve })
  const coding = codingOf(headers.get('content-encoding'))
  if (coding === undefined) return bounded
  return isDecodable(coding) ? new DecodingReader(bounded, coding) : new BlindReader()
}

/** What reads plain bytes; the bound is kept around it. */
interface PlainReader {
  take(chunk: Uint8Array): void
  end(): void
  /** Forgets what has no use without the rest. */
  stop(): void
  readonly isComplete: boolean
  readonly isOver: boolean
  /** Whether a part of it was longer than is kept. */
  readonly isTooLong: boolean
  answer(): Answer | undefined
}

class BoundedReader implements AnswerReader {
  readonly #reader: PlainReader
  readonly #bounds: Required<Pick<ReaderOptions, 'maxBytes' | 'reserve'>>
  #size = 0
  #isFull = false

  constructor(reader: PlainReader, bounds: Required<Pick<ReaderOptions, 'maxBytes' | 'reserve'>>) {
    this.#reader = reader
    this.#bounds = bounds
  }

  take(chunk: Uint8Array): void {
    if (this.#isFull || this.#reader.isOver) return
    const { maxBytes, reserve } = this.#bounds
    this.#size += chunk.byteLength
    if (this.#size <= maxBytes && reserve(chunk.byteLength)) this.#reader.take(chunk)
    else this.#isFull = true
    if (this.problem !== undefined) this.#reader.stop()
  }

  end(): void {
    if (this.problem === undefined) this.#reader.end()
  }

  close(): void {}

  get isComplete(): boolean {
    return this.problem === undefined && this.#reader.isComplete
  }

  get isOver(): boolean {
    return this.problem === undefined && this.#reader.isOver
  }

  get problem(): ReadingProblem | undefined {
    return this.#isFull || this.#reader.isTooLong ? 'too-large' : undefined
  }

  answer(): Answer | undefined {
    return this.#reader.answer()
  }
}

class EventReader implements PlainReader {
  readonly #stream: AnswerStream
  readonly #decoder = new TextDecoder()
  readonly #parser: ReturnType<typeof createParser>
  isTooLong = false

  constructor(stream: AnswerStream) {
    this.#stream = stream
    this.#parser = createParser({
      onEvent: ({ data }) => stream.take(parseEvent(data)),
      maxBufferSize: maxEvent,
      onError: ({ type }) => {
        this.isTooLong ||= type === 'max-buffer-size-exceeded'
      },
    })
  }

  take(chunk: Uint8Array): void {
    if (!this.isTooLong) this.#parser.feed(this.#decoder.decode(chunk, { stream: true }))
  }

  end(): void {}

  stop(): void {
    this.#parser.reset()
  }

  get isComplete(): boolean {
    return this.#stream.isComplete
  }

  get isOver(): boolean {
    return this.#stream.isOver
  }

  answer(): Answer | undefined {
    return this.#stream.answer()
  }
}

class WholeReader implements PlainReader {
  readonly #provider: Provider
  #chunks: Uint8Array[] = []
  #answer: Answer | undefined
  isComplete = false
  readonly isOver = false
  readonly isTooLong = false

  constructor(provider: Provider) {
    this.#provider = provider
  }

  take(chunk: Uint8Array): void {
    this.#chunks.push(chunk)
  }

  end(): void {
    const body = parseAnswer(this.#provider, bufferOf(joined(this.#chunks)).toString())
    this.stop()
    if (body === undefined) return
    this.isComplete = true
    this.#answer = this.#provider.answer(body)
  }

  stop(): void {
    this.#chunks = []
  }

  answer(): Answer | undefined {
    return this.#answer
  }
}

/** Reads what the bytes decompress to. */
class DecodingReader implements AnswerReader {
  readonly #reader: BoundedReader
  readonly #decoder: Decoder

  constructor(reader: BoundedReader, coding: string) {
    this.#reader = reader
    this.#decoder = new Decoder(coding, (bytes) => {
      reader.take(bytes)
      return reader.problem === undefined
    })
  }

  take(chunk: Uint8Array): Promise<void> | void {
    if (!this.isOver) return this.#decoder.take(chunk)
  }

  async end(): Promise<void> {
    if (!this.isOver) await this.#decoder.end()
    if (this.problem === undefined) this.#reader.end()
    this.close()
  }

  close(): void {
    this.#decoder.close()
  }

  get isComplete(): boolean {
    return this.problem === undefined && this.#reader.isComplete
  }

  get isOver(): boolean {
    return this.#reader.isOver
  }

  get problem(): ReadingProblem | undefined {
    if (this.#reader.problem !== undefined) return this.#reader.problem
    return this.#decoder.isDamaged && !this.isOver ? 'damaged-encoding' : undefined
  }

  answer(): Answer | undefined {
    return this.#reader.answer()
  }
}

/** Stands for an answer that nobody here can read. */
class BlindReader implements AnswerReader {
  readonly isComplete = false
  readonly isOver = false
  readonly problem = 'unknown-encoding'

  take(): void {}

  end(): void {}

  close(): void {}

  answer(): undefined {
    return undefined
  }
}
