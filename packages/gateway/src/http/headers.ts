// Header forwarding: which headers pass between client and upstream.

import { HeaderList, type ReadableHeaders } from './header-list.ts'

/** Hop-by-hop headers, and those that the next hop sets itself. */
const hops = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'host',
  'content-length',
  'expect',
])

/** Browser headers about the page, not about the call. */
const browser = new Set(['cookie', 'origin', 'referer'])

export interface ForwardOptions {
  readonly via: string
  readonly keyHeaders: readonly string[]
  /** Words of a header that lists some which are not forwarded. @default all are */
  readonly without?: { readonly header: string; readonly values: readonly string[] } | undefined
}

function withoutWords(list: string, words: readonly string[]): string {
  const all = list.split(',').map((word) => word.trim())
  return all.some((word) => words.includes(word))
    ? all.filter((word) => !words.includes(word)).join(',')
    : list
}

/** Client headers to forward to the upstream. */
export function requestHeaders(
  headers: ReadableHeaders,
  { via, keyHeaders, without }: ForwardOptions,
): readonly (readonly [string, string])[] {
  const dropped = droppedBy(headers.get('connection'))
  const passed: [string, string][] = []
  for (const header of headers) {
    const [name, value] = header
    if (!isPassedOn(name) || dropped.has(name) || keyHeaders.includes(name)) continue
    const kept = name === without?.header ? withoutWords(value, without.values) : value
    if (kept !== '') passed.push(kept === value ? header : [name, kept])
  }
  const before = headers.get('via')
  // The gateway reads the response, so ask for it uncompressed.
  passed.push(['accept-encoding', 'identity'])
  passed.push(['via', before === null ? via : `${before}, ${via}`])
  return passed
}

function isPassedOn(name: string): boolean {
  if (hops.has(name) || browser.has(name) || name === 'accept-encoding' || name === 'via') {
    return false
  }
  return !name.startsWith('x-oriel-') && !name.startsWith('sec-fetch-')
}

/** Upstream headers to forward to the client. */
export function responseHeaders(headers: readonly (readonly [string, string])[]): HeaderList {
  const connection = headers.find(([name]) => name.toLowerCase() === 'connection')?.[1] ?? null
  const dropped = droppedBy(connection)
  const passed = new HeaderList()
  for (const [name, value] of headers) {
    const lower = name.toLowerCase()
    if (!hops.has(lower) && !dropped.has(lower)) passed.append(name, value)
  }
  return passed
}

function droppedBy(connection: string | null): ReadonlySet<string> {
  if (connection === null) return none
  return new Set(connection.split(',').map((name) => name.trim().toLowerCase()))
}

const none: ReadonlySet<string> = new Set()
