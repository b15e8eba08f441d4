// Which headers travel on.

/** Headers about one connection, and those that the next one sets itself. */
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

/** What a browser adds, which is about the page and not about the call. */
const browser = new Set(['cookie', 'origin', 'referer'])

/** The client's headers as the upstream gets them. */
export function requestHeaders(
  headers: Headers,
  { via, keyHeaders }: { readonly via: string; readonly keyHeaders: readonly string[] },
): readonly (readonly [string, string])[] {
  const dropped = droppedBy(headers.get('connection'))
  const passed = [...headers].filter(
    ([name]) =>
      !hops.has(name) &&
      !browser.has(name) &&
      !dropped.has(name) &&
      !name.startsWith('x-oriel-') &&
      !name.startsWith('sec-fetch-') &&
      !keyHeaders.includes(name) &&
      name !== 'accept-encoding' &&
      name !== 'via',
  )
  const before = headers.get('via')
  // The answer is read on its way: it must come as plain text.
  return [
    ...passed,
    ['accept-encoding', 'identity'],
    ['via', before === null ? via : `${before}, ${via}`],
  ]
}

/** The upstream's headers as the client gets them. */
export function responseHeaders(headers: readonly (readonly [string, string])[]): Headers {
  const connection = headers.find(([name]) => name.toLowerCase() === 'connection')?.[1] ?? null
  const dropped = droppedBy(connection)
  const passed = new Headers()
  for (const [name, value] of headers) {
    const lower = name.toLowerCase()
    if (!hops.has(lower) && !dropped.has(lower)) passed.append(name, value)
  }
  return passed
}

function droppedBy(connection: string | null): ReadonlySet<string> {
  return new Set((connection ?? '').split(',').map((name) => name.trim().toLowerCase()))
}
