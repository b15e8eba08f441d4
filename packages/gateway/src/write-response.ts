// Writes a response to a connection: each chunk as it comes, as fast as the client reads, and a body that breaks ends the connection, so
// that the client can tell half an answer from a whole one.

import type { ServerResponse } from 'node:http'

/** Resolves when the answer is written or the connection is gone. Never rejects. */
export async function writeResponse(response: Response, outgoing: ServerResponse): Promise<void> {
  if (outgoing.destroyed) {
    await response.body?.cancel().catch(() => undefined)
    return
  }
  outgoing.writeHead(response.status, headersOf(response.headers))
  if (response.body === null) {
    outgoing.end()
    return
  }
  outgoing.flushHeaders()
  const reader = response.body.getReader()
  const leave = (): void => {
    reader.cancel().catch(() => undefined)
  }
  outgoing.once('close', leave)
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (outgoing.destroyed) return
      if (done) break
      if (!outgoing.write(value)) await drained(outgoing)
    }
    outgoing.off('close', leave)
    outgoing.end()
  } catch {
    cut(outgoing)
  }
}

/** Resolves when more can be written, or when nothing can any more. */
function drained(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      outgoing.off('drain', done)
      outgoing.off('close', done)
      resolve()
    }
    outgoing.once('drain', done)
    outgoing.once('close', done)
  })
}

/** Ends the connection after what was written has left; a client that does not read is not waited for. */
function cut(outgoing: ServerResponse): void {
  const timer = setTimeout(() => outgoing.destroy(), 1000)
  outgoing.socket?.write('', () => outgoing.destroy())
  outgoing.once('close', () => clearTimeout(timer))
}

function headersOf(headers: Headers): Record<string, string | string[]> {
  const cookies = headers.getSetCookie()
  return {
    ...Object.fromEntries(headers),
    ...(cookies.length === 0 ? {} : { 'set-cookie': cookies }),
  }
}
