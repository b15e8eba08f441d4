// CORS: preflight responses and headers for pages of allowed origins.

import type { ReadableHeaders } from './header-list.ts'
import { type HttpReply, wholeReply } from './response.ts'

/** Cache lifetime of a preflight response, in seconds. */
const maxAge = '600'

export class Cors {
  readonly #origins: ReadonlySet<string>

  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins)
  }

  /** Answers a CORS preflight; undefined for any other request. */
  preflight({ method, headers }: Request): HttpReply | undefined {
    const asked = headers.get('access-control-request-method')
    if (method !== 'OPTIONS' || asked === null || !this.#allows(headers)) return undefined
    const allowed = new Headers({
      'access-control-allow-methods': 'GET, POST, PUT, DELETE',
      'access-control-allow-headers': headers.get('access-control-request-headers') ?? '',
      'access-control-max-age': maxAge,
      'cache-control': 'no-store',
    })
    return wholeReply(200, allowed, '')
  }

  /** Adds CORS headers so that the page can read the response. */
  mark({ headers }: Request, reply: HttpReply): HttpReply {
    if (!this.#allows(headers)) return reply
    try {
      reply.headers.set('access-control-allow-origin', headers.get('origin') ?? '')
      reply.headers.set('access-control-expose-headers', '*')
      reply.headers.append('vary', 'origin')
    } catch {
      // Headers of a fetched response are immutable.
    }
    return reply
  }

  #allows(headers: ReadableHeaders): boolean {
    return this.#origins.has(headers.get('origin') ?? '')
  }
}
