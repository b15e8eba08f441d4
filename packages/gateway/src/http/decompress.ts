// Decompresses answers. Upstreams are asked for plain ones (`accept-encoding: identity`), and some compress all the same.

import { Readable, type Transform } from 'node:stream'
import * as zlib from 'node:zlib'
import type { UpstreamAnswer } from './client.ts'

/** What takes a stream apart, by the name of the coding. Zstandard came to Node with 22.15. */
const makers: Readonly<Record<string, (first: Uint8Array) => Transform>> = {
  gzip: () => zlib.createGunzip(),
  'x-gzip': () => zlib.createGunzip(),
  // The standard means the format of zlib; some servers send the bare one.
  deflate: (first) => (isZlib(first) ? zlib.createInflate() : zlib.createInflateRaw()),
  br: () => zlib.createBrotliDecompress(),
  ...('createZstdDecompress' in zlib ? { zstd: () => zlib.createZstdDecompress() } : {}),
}

function isZlib([first = 0, second]: Uint8Array): boolean {
  const isDeflate = (first & 0x0f) === 8
  return isDeflate && (second === undefined || ((first << 8) | second) % 31 === 0)
}

/** The content coding of a message in lower case; undefined where there is none. */
export function codingOf(header: string | null | undefined): string | undefined {
  const coding = header?.trim().toLowerCase() ?? ''
  return coding === '' || coding === 'identity' ? undefined : coding
}

/** Whether a coding, or none, can be undone here. */
export function isDecodable(coding: string | undefined): boolean {
  return coding === undefined || Object.hasOwn(makers, coding)
}

/** Decompresses chunk by chunk. Never throws. */
export class Decoder {
  readonly #coding: string
  readonly #sink: (bytes: Uint8Array) => boolean
  #stream: Transform | undefined
  /** Whether the bytes are not what their coding says. */
  isDamaged = false

  /** `sink` gets what comes out; false ends it, so that a small input cannot become a large output. */
  constructor(coding: string, sink: (bytes: Uint8Array) => boolean) {
    this.#coding = coding
    this.#sink = sink
  }

  /** Resolves when the sink has everything that the bytes so far give. */
  take(chunk: Uint8Array): Promise<void> {
    if (chunk.byteLength === 0 || this.#stream?.destroyed === true) return Promise.resolve()
    this.#stream ??= this.#open(chunk)
    return this.#settled(this.#stream, (done) => this.#stream?.write(chunk, done))
  }

  /** No more comes. */
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
        // What is still in the buffer goes to the sink.
        while (!stream.destroyed && stream.read() !== null);
        resolve()
      }
      stream.once('close', done)
      begin(done)
    })
  }
}

/** The same answer without its coding, for those who change it; unchanged where the coding is unknown. */
export function decodedAnswer(answer: UpstreamAnswer): UpstreamAnswer {
  const coding = codingOf(headerOf(answer, 'content-encoding'))
  if (coding === undefined || !isDecodable(coding)) return answer
  return {
    ...answer,
    headers: answer.headers.filter(([name]) => name.toLowerCase() !== 'content-encoding'),
    body: decodedBody(answer.body, coding),
    isThere: () => false,
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

/** Decodes a short body; as it came where that fails or gives more than `maxBytes`. */
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
