// A request as a connection brings it: the part of `Request` that model calls need, without the streams behind the standard one, which
// cost more than everything else that is done to a small request.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { joined } from './bytes.ts'
import { HeaderList } from './header-list.ts'

export class IncomingRequest {
  readonly incoming: IncomingMessage
  readonly method: string
  readonly url: string
  /** The address, read once. */
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

  /** As the type that handlers know. They use method, url, headers and signal, and read the body by `readBytes`. */
  get asRequest(): Request {
    return this as unknown as Request
  }
}

/** The address of a request. Throws where it is none. */
export function locationOf(request: Request): URL {
  return request instanceof IncomingRequest ? request.location : new URL(request.url)
}

/** The path of a request; empty where its address is none. */
export function pathOf({ url }: Pick<Request, 'url'>): string {
  return URL.parse(url)?.pathname ?? ''
}

export interface ReadingOptions {
  /** Told how many bytes have come; throws where they are too many. */
  readonly took: (size: number) => void
  readonly mostMs: number
  /** What is wrong with a body that takes longer. */
  readonly late: () => Error
}

/** The bytes of a body. Rejects when the client leaves before their end. */
export function readIncoming(
  incoming: IncomingMessage,
  options: ReadingOptions,
): Promise<Uint8Array> {
  return incoming.complete ? readAtOnce(incoming, options) : readOn(incoming, options)
}

/** A small body comes with its headers. */
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
        // What still comes is not kept.
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
