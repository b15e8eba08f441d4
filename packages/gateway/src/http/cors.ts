// Pages of other origins that may call: their browsers ask first, and show them only what is meant for them.

import type { ReadableHeaders } from './header-list.ts'
import { type HttpReply, wholeReply } from './response.ts'

/** Seconds for which a browser need not ask again. */
const maxAge = '600'

export class Cors {
  readonly #origins: ReadonlySet<string>

  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins)
  }

  /** The answer to a browser that asks whether a page may call; undefined for any other request. */
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

  /** Lets the page read the answer. */
  mark({ headers }: Request, reply: HttpReply): HttpReply {
    if (!this.#allows(headers)) return reply
    try {
      reply.headers.set('access-control-allow-origin', headers.get('origin') ?? '')
      reply.headers.set('access-control-expose-headers', '*')
      reply.headers.append('vary', 'origin')
    } catch {
      // Headers of another's answer may not be changed.
    }
    return reply
  }

  #allows(headers: ReadableHeaders): boolean {
    return this.#origins.has(headers.get('origin') ?? '')
  }
}
