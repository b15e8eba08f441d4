// Incoming requests: the part of the `Request` interface that model calls need, without web
// streams, which dominate the cost of a small request; bounded body reading; the query string.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Outline, outlineOf } from '../call/json-outline.ts'
import type { Reservation } from '../limits/memory-budget.ts'
import type { Limits } from '../options.ts'
import { ownParameters } from '../settings/resolve.ts'
import { refuse } from './errors.ts'
import { HeaderList } from './header-list.ts'

export class IncomingRequest {
  readonly incoming: IncomingMessage
  readonly method: string
  readonly url: string
  /** The URL, parsed once. */
  readonly location: URL
  readonly headers: HeaderList
  readonly signal: AbortSignal

  constructor(incoming: IncomingMessage, outgoing: ServerResponse, location: URL) {
    const { method = 'GET', url = '/', rawHeaders, headers } = incoming
    this.incoming = incoming
    this.method = method
    this.url = `http://${headers.host}${url}`
    this.location = location
    this.headers = HeaderList.ofRaw(rawHeaders)
    const leaving = new AbortController()
    this.signal = leaving.signal
    outgoing.once('close', () => {
      if (!outgoing.writableFinished) leaving.abort(new Error('The client left.'))
    })
  }

  /**
   * Typed as `Request` for handlers. They use method, url, headers and signal, and read the body
   * with `readBytes`.
   */
  get asRequest(): Request {
    return this as unknown as Request
  }
}

/** The URL of a request. Throws if it is invalid. */
export function locationOf(request: Request): URL {
  return request instanceof IncomingRequest ? request.location : new URL(request.url)
}

/** The path of a request; empty if its URL is invalid. */
export function pathOf({ url }: Pick<Request, 'url'>): string {
  return URL.parse(url)?.pathname ?? ''
}

export interface ReadingOptions {
  /** Called with the bytes received so far; throws if there are too many. */
  readonly took: (size: number) => void
  readonly mostMs: number
  /** The error for a body that exceeds `mostMs`. */
  readonly late: () => Error
}

/** Reads a body. Rejects if the client disconnects before its end. */
function readIncoming(incoming: IncomingMessage, options: ReadingOptions): Promise<Uint8Array> {
  return incoming.complete ? readAtOnce(incoming, options) : readOn(incoming, options)
}

/** Fast path: a small body arrives with its headers. */
async function readAtOnce(
  incoming: IncomingMessage,
  { took }: ReadingOptions,
): Promise<Uint8Array> {
  const bytes: Buffer = incoming.read() ?? Buffer.alloc(0)
  took(bytes.length)
  return bytes
}

function readOn(
  incoming: IncomingMessage,
  { took, mostMs, late }: ReadingOptions,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const timer = setTimeout(() => fail(late()), mostMs)
    const end = (): void => {
      clearTimeout(timer)
      incoming.off('data', take)
      incoming.off('error', fail)
      incoming.off('close', leave)
    }
    const fail = (error: unknown): void => {
      end()
      reject(error)
    }
    const leave = (): void => fail(new Error('The client left.'))
    const take = (chunk: Buffer): void => {
      size += chunk.length
      try {
        took(size)
        chunks.push(chunk)
      } catch (error) {
        fail(error)
        // Discard the rest.
        incoming.resume()
      }
    }
    incoming.on('data', take)
    incoming.once('end', () => {
      end()
      resolve(joined(chunks))
    })
    incoming.once('error', fail)
    incoming.once('close', leave)
  })
}

/** The query parameters. Shares one empty instance, the common case. */
export function queryOf(url: URL): URLSearchParams {
  return url.search === '' ? noQuery : url.searchParams
}

const noQuery = new URLSearchParams()

/** The query string for the upstream, without Oriel's parameters. */
export function foreignQuery(url: URL): string {
  if (url.search === '') return ''
  const others = [...url.searchParams].filter(([name]) => !ownParameters.has(name))
  return others.length === 0 ? '' : `?${new URLSearchParams(others)}`
}

const tooLarge = (limit: number) =>
  refuse(413, 'too-large', `The body is larger than ${limit} bytes.`)

/** Reads a body into reserved memory. Stops at the limit, whatever content-length says. */
export async function readBytes(
  { request, room }: { readonly request: Request; readonly room: Pick<Reservation, 'take'> },
  limits: Pick<Limits, 'bodyBytes' | 'bodyMs'>,
): Promise<Uint8Array> {
  const promised = Number(request.headers.get('content-length') ?? 0)
  if (promised > limits.bodyBytes) throw tooLarge(limits.bodyBytes)
  room.take(promised)
  const took = (size: number): void => {
    if (size > limits.bodyBytes) throw tooLarge(limits.bodyBytes)
    room.take(size)
  }
  if (request instanceof IncomingRequest) {
    return readIncoming(request.incoming, { took, mostMs: limits.bodyMs, late })
  }
  return readStream(request, limits.bodyMs, took)
}

/** Called with the bytes received so far; throws if there are too many. */
type Took = (size: number) => void

async function readStream(request: Request, bodyMs: number, took: Took): Promise<Uint8Array> {
  if (request.body === null) return new Uint8Array()
  const reader = request.body.getReader()
  const chunks: Uint8Array[] = []
  let size = 0
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    reader.cancel().catch(() => undefined)
  }, bodyMs)
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (isLate) throw late()
      if (done) break
      size += value.byteLength
      took(size)
      chunks.push(value)
    }
  } catch (error) {
    reader.cancel().catch(() => undefined)
    throw error
  } finally {
    clearTimeout(timer)
  }
  return joined(chunks)
}

function late(): Error {
  return refuse(408, 'timeout', 'The body did not arrive in time.')
}

/**
 * Scans the JSON structure within the limits. Must run before `JSON.parse`, which deep nesting can
 * block for many seconds.
 */
export function boundedOutline(text: string, limits: Pick<Limits, 'depth' | 'nodes'>): Outline {
  const outline = outlineOf(text, limits)
  if (outline.depth > limits.depth) {
    throw refuse(400, 'too-deep', `The body is nested deeper than ${limits.depth} levels.`)
  }
  if (outline.nodes > limits.nodes) {
    throw refuse(413, 'too-large', `The body has more than ${limits.nodes} values.`)
  }
  return outline
}

/** A Buffer view of the same memory. */
export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** Concatenates chunks. */
export function joined(chunks: readonly Uint8Array[]): Uint8Array {
  const [first] = chunks
  return chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks)
}
