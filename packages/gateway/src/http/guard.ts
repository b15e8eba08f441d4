// What every request must pass before it is routed: an allowed host, an allowed origin, a plain path, no loop.

import { refuse } from './errors.ts'

export interface GuardOptions {
  readonly hosts: readonly string[]
  readonly origins: readonly string[]
  /** Names this gateway in the `via` header, so that it knows its own requests. */
  readonly via: string
}

const loopback: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])

/** Throws a refusal for requests that must not be answered. Requests made in the same process have no Host header. */
export function guard(request: Request, url: URL, { hosts, origins, via }: GuardOptions): void {
  const { headers, method } = request
  // Its answer is the request as it arrived: with the key that the operator keeps for the upstream.
  if (method === 'TRACE') throw refuse(405, 'not-allowed', 'TRACE is not answered here.')
  const host = headers.get('host')
  if (host !== null && !isAllowedHost(host, hosts)) {
    throw refuse(
      403,
      'forbidden-host',
      'This host name is not served here. Name it in the option hosts.',
    )
  }
  const origin = headers.get('origin')
  if (origin !== null && !isOwnOrigin(origin, host) && !origins.includes(origin)) {
    throw refuse(403, 'forbidden-origin', 'Pages of other origins may not call.')
  }
  if (origin === null && headers.get('sec-fetch-site') === 'cross-site') {
    throw refuse(403, 'forbidden-origin', 'Pages of other origins may not call.')
  }
  if (!isPlainPath(request.url, url)) throw refuse(404, 'not-found', 'There is nothing here.')
  if (headers.get('via')?.includes(via) === true) {
    throw refuse(
      508,
      'loop',
      'This request has been here before: an upstream points back at the gateway.',
    )
  }
  const encoding = headers.get('content-encoding')
  if (encoding !== null && encoding !== 'identity') {
    throw refuse(415, 'unsupported-encoding', 'Send the body without content-encoding.')
  }
  // Node takes the chunks apart and nothing else. The status is that of RFC 9112, section 6.1.
  const transfer = headers.get('transfer-encoding')
  if (transfer !== null && transfer.toLowerCase() !== 'chunked') {
    throw refuse(501, 'unsupported-encoding', 'Send the body whole or in chunks, not packed.')
  }
}

/** Whether a path is read alike by everybody: by the guard, the router and the upstream. `%2e%2e` is a way up for some, a name for others. */
function isPlainPath(address: string, { pathname }: URL): boolean {
  const [path = ''] = address.slice(address.indexOf('/', address.indexOf('//') + 2)).split(/[?#]/)
  return path === pathname && !/\/\/|%2f|%5c|\\|%00|\.\.|;/i.test(path)
}

/** `name` or `name:port`, and nothing else in it. */
function isAllowedHost(host: string, allowed: readonly string[]): boolean {
  const match = /^(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::\d{1,5})?$/i.exec(host)
  const name = match?.[1]?.toLowerCase()
  if (name === undefined) return false
  return loopback.has(name) || allowed.some((one) => one.toLowerCase() === name || one === host)
}

function isOwnOrigin(origin: string, host: string | null): boolean {
  return host !== null && (origin === `http://${host}` || origin === `https://${host}`)
}
