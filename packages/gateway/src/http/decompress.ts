// Decompression of upstream responses. The gateway asks for `accept-encoding: identity`, but some
// upstreams compress anyway.

import { Readable, type Transform } from 'node:stream'
import * as zlib from 'node:zlib'
import type { UpstreamAnswer } from './client.ts'

/** Decompressors by content coding. Zstandard requires Node 22.15. */
const makers: Readonly<Record<string, (first: Uint8Array) => Transform>> = {
  gzip: () => zlib.createGunzip(),
  'x-gzip': () => zlib.createGunzip(),
  // The standard says zlib format; some servers send raw deflate.
  deflate: (first) => (isZlib(first) ? zlib.createInflate() : zlib.createInflateRaw()),
  br: () => zlib.createBrotliDecompress(),
  ...('createZstdDecompress' in zlib ? { zstd: () => zlib.createZstdDecompress() } : {}),
}

function isZlib([first = 0, second]: Uint8Array): boolean {
  const isDeflate = (first & 0x0f) === 8
  return isDeflate && (second === undefined || ((first << 8) | second) % 31 === 0)
}

/** The content coding in lower case; undefined if there is none. */
export function codingOf(header: string | null | undefined): string | undefined {
  const coding = header?.trim().toLowerCase() ?? ''
  return coding === '' || coding === 'identity' ? undefined : coding
}

/** True if the coding is supported or absent. */
export function isDecodable(coding: string | undefined): boolean {
  return coding === undefined || Object.hasOwn(makers, coding)
}

/** Decompresses chunk by chunk. Never throws. */
export class Decoder {
  readonly #coding: string
  readonly #sink: (bytes: Uint8Array) => boolean
  #stream: Transform | undefined
  /** The bytes do not match their coding. */
  isDamaged = false

  /**
   * `sink` receives the output. It returns false to stop, which protects against decompression
   * bombs.
   */
  constructor(coding: string, sink: (bytes: Uint8Array) => boolean) {
    this.#coding = coding
    this.#sink = sink
  }

  /** Resolves when the sink has received all output of the bytes so far. */
  take(chunk: Uint8Array): Promise<void> {
    if (chunk.byteLength === 0 || this.#stream?.destroyed === true) return Promise.resolve()
    this.#stream ??= this.#open(chunk)
    return this.#settled(this.#stream, (done) => this.#stream?.write(chunk, done))
  }

  /** Signals the end of the input. */
  async end(): Promise<void> {
    if (this.#stream === undefined || this.#stream.destroyed) return
    await this.#settled(this.#stream, (done) => {
      this.#stream?.once('end', done)
      this.#stream?.end()
    })
  }

  close(): void {
    this.#stream?.destroy()
  }

  #open(first: Uint8Array): Transform {
    const stream = makers[this.#coding]?.(first)
    if (stream === undefined) throw new Error(`No decoder for '${this.#coding}'`)
    stream.on('data', (bytes: Uint8Array) => {
      if (!stream.destroyed && !this.#sink(bytes)) stream.destroy()
    })
    stream.on('error', () => {
      this.isDamaged = true
    })
    return stream
  }

  #settled(stream: Transform, begin: (done: () => void) => void): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        stream.off('close', done)
        // Drain the buffer into the sink.
        while (!stream.destroyed && stream.read() !== null);
        resolve()
      }
      stream.once('close', done)
      begin(done)
    })
  }
}

/**
 * The response with its coding removed, for code that rewrites it. Unchanged if the coding is
 * unknown.
 */
export function decodedAnswer(answer: UpstreamAnswer): UpstreamAnswer {
  const coding = codingOf(headerOf(answer, 'content-encoding'))
  if (coding === undefined || !isDecodable(coding)) return answer
  return {
    ...answer,
    headers: answer.headers.filter(([name]) => name.toLowerCase() !== 'content-encoding'),
    body: decodedBody(answer.body, coding),
  }
}

async function* decodedBody(
  body: AsyncIterable<Uint8Array>,
  coding: string,
): AsyncGenerator<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]()
  const first = await chunks.next()
  if (first.done === true) return
  const stream = makers[coding]?.(first.value)
  if (stream === undefined) return
  async function* all(): AsyncGenerator<Uint8Array> {
    for (let next = first; next.done !== true; next = await chunks.next()) yield next.value
  }
  const source = Readable.from(all())
  source.once('error', (error) => stream.destroy(error))
  try {
    yield* source.pipe(stream)
  } finally {
    source.destroy()
    await chunks.return?.()
  }
}

/** Decompresses a short body. Returns it unchanged if that fails or exceeds `maxBytes`. */
export function decodedBytes(
  bytes: Uint8Array,
  { coding, maxBytes }: { readonly coding: string | undefined; readonly maxBytes: number },
): Uint8Array {
  const options = { maxOutputLength: maxBytes }
  try {
    if (coding === 'gzip' || coding === 'x-gzip') return zlib.gunzipSync(bytes, options)
    if (coding === 'br') return zlib.brotliDecompressSync(bytes, options)
    if (coding === 'zstd') return zlib.zstdDecompressSync(bytes, options)
    if (coding !== 'deflate') return bytes
    return isZlib(bytes) ? zlib.inflateSync(bytes, options) : zlib.inflateRawSync(bytes, options)
  } catch {
    return bytes
  }
}

export function headerOf({ headers }: UpstreamAnswer, name: string): string | undefined {
  return headers.find(([one]) => one.toLowerCase() === name)?.[1]
}
