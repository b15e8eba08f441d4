// Request guard, before routing: allowed host, allowed origin, normalized path, no loop.

import { refuse } from './errors.ts'

export interface GuardOptions {
  readonly hosts: readonly string[]
  readonly origins: readonly string[]
  /** This gateway's id in the `via` header, used to detect loops. */
  readonly via: string
}

const loopback: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])

/** Throws for requests that must not be served. In-process requests have no Host header. */
export function guard(request: Request, url: URL, { hosts, origins, via }: GuardOptions): void {
  const { headers, method } = request
  // TRACE would echo the request, including the operator's upstream key.
  if (method === 'TRACE') throw refuse(405, 'not-allowed', 'The method TRACE is not supported.')
  // Codex asks for a WebSocket first: at 426 it sends its call over HTTP, at any other status it retries for seconds.
  if (headers.get('upgrade')?.toLowerCase() === 'websocket')
    throw refuse(426, 'not-allowed', 'WebSocket is not supported. Send the call over HTTP.')
  const host = headers.get('host')
  if (host !== null && !isAllowedHost(host, hosts)) {
    throw refuse(
      403,
      'forbidden-host',
      'This Host header is not allowed. Add it to the option hosts.',
    )
  }
  const origin = headers.get('origin')
  if (origin !== null && !isOwnOrigin(origin, host) && !origins.includes(origin)) {
    throw refuse(
      403,
      'forbidden-origin',
      'Requests from this origin are not allowed. Add it to the option origins.',
    )
  }
  if (origin === null && headers.get('sec-fetch-site') === 'cross-site') {
    throw refuse(
      403,
      'forbidden-origin',
      'Requests from this origin are not allowed. Add it to the option origins.',
    )
  }
  if (!isPlainPath(request.url, url))
    throw refuse(404, 'not-found', 'Not found: no route has this path.')
  if (headers.get('via')?.includes(via) === true) {
    throw refuse(508, 'loop', 'Loop detected: an upstream points back at this gateway.')
  }
  const encoding = headers.get('content-encoding')
  if (encoding !== null && encoding !== 'identity') {
    throw refuse(415, 'unsupported-encoding', 'Send the body without content-encoding.')
  }
  // Node decodes chunked and nothing else. RFC 9112, section 6.1, requires status 501.
  const transfer = headers.get('transfer-encoding')
  if (transfer !== null && transfer.toLowerCase() !== 'chunked') {
    throw refuse(
      501,
      'unsupported-encoding',
      'This transfer-encoding is not supported. Send the body chunked or with content-length.',
    )
  }
}

/**
 * True if guard, router and upstream all read the path in the same way. Some decode `%2e%2e` as a
 * parent directory, others do not.
 */
function isPlainPath(address: string, { pathname }: URL): boolean {
  const [path = ''] = address.slice(address.indexOf('/', address.indexOf('//') + 2)).split(/[?#]/)
  return path === pathname && !/\/\/|%2f|%5c|\\|%00|\.\.|;/i.test(path)
}

/** Exactly `name` or `name:port`. */
function isAllowedHost(host: string, allowed: readonly string[]): boolean {
  const match = /^(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::\d{1,5})?$/i.exec(host)
  const name = match?.[1]?.toLowerCase()
  if (name === undefined) return false
  return loopback.has(name) || allowed.some((one) => one.toLowerCase() === name || one === host)
}

function isOwnOrigin(origin: string, host: string | null): boolean {
  return host !== null && (origin === `http://${host}` || origin === `https://${host}`)
}
