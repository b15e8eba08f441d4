// An answer on its way: a response of the gateway's own, or an upstream's answer that is passed on chunk by chunk.

import type { WritableHeaders } from './header-list.ts'
import type { RelayedBody } from './relay.ts'

/** Passed on without the layers of a `Response`, which cost more than everything else that is done to a small answer. */
export interface RelayedReply {
  readonly status: number
  readonly headers: WritableHeaders
  readonly relayed: RelayedBody | undefined
  /** Whether the client can use the body only when it is whole. @default false */
  readonly isWhole?: boolean
}

export type HttpReply = Response | RelayedReply

export function isRelayed(reply: HttpReply): reply is RelayedReply {
  return 'relayed' in reply
}

/** A short answer of the gateway's own. */
export function wholeReply(status: number, headers: WritableHeaders, text: string): RelayedReply {
  let bytes: Uint8Array | undefined = Buffer.from(text)
  const relayed = {
    async next() {
      const given = bytes
      bytes = undefined
      return given
    },
    get isOver() {
      return bytes === undefined
    },
    cancel() {},
  }
  return { status, headers, relayed, isWhole: true }
}

/** Statuses that come without a body. */
export function hasNoBody(status: number): boolean {
  return status === 204 || status === 205 || status === 304
}

/** The same as a standard response. */
export function toResponse(reply: HttpReply): Response {
  if (!isRelayed(reply)) return reply
  const { status, headers, relayed } = reply
  return new Response(relayed === undefined ? null : streamOf(relayed), {
    status,
    headers: pairsOf(headers),
  })
}

/** Names and values, with each cookie by itself. */
export function pairsOf(headers: WritableHeaders): [string, string][] {
  const pairs = [...headers].filter(([name]) => name !== 'set-cookie')
  for (const cookie of headers.getSetCookie()) pairs.push(['set-cookie', cookie])
  return pairs
}

function streamOf(body: RelayedBody): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const chunk = await body.next()
        if (chunk !== undefined) controller.enqueue(chunk)
        if (chunk !== undefined && body.isOver !== true) return
        controller.close()
        body.written?.()
      },
      cancel: () => body.cancel(),
    },
    { highWaterMark: 0 },
  )
}
