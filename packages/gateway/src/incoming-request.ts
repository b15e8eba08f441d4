// A request as a connection brings it: the part of `Request` that model calls need, without the streams behind the standard one, which
// cost more than everything else that is done to a small request.

import type { IncomingMessage, ServerResponse } from 'node:http'

export class IncomingRequest {
  readonly incoming: IncomingMessage
  readonly method: string
  readonly url: string
  readonly headers: Headers
  readonly signal: AbortSignal

  constructor(incoming: IncomingMessage, outgoing: ServerResponse) {
    const { method = 'GET', url = '/', rawHeaders, headers } = incoming
    this.incoming = incoming
    this.method = method
    this.url = `http://${headers.host}${url}`
    this.headers = new Headers()
    for (let index = 0; index < rawHeaders.length; index += 2) {
      this.headers.append(String(rawHeaders[index]), String(rawHeaders[index + 1]))
    }
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

/** The path of a request; empty where its address is none. */
export function pathOf({ url }: Pick<Request, 'url'>): string {
  return URL.canParse(url) ? new URL(url).pathname : ''
}

/** The bytes of a body. `took` is told how many have come, and throws where they are too many. Rejects when the client leaves before their end. */
export function readIncoming(
  incoming: IncomingMessage,
  took: (size: number) => void,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const end = (): void => {
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
      resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks))
    })
    incoming.once('error', fail)
    incoming.once('close', leave)
  })
}
