// HTTP replies: a standard `Response`, or an upstream response relayed chunk by chunk.

import type { WritableHeaders } from './header-list.ts'
import type { RelayedBody } from './relay.ts'

/** Relayed without a `Response`, whose layers dominate the cost of a small reply. */
export interface RelayedReply {
  readonly status: number
  readonly headers: WritableHeaders
  readonly relayed: RelayedBody | undefined
  /** The client needs the whole body at once. @default false */
  readonly isWhole?: boolean
}

export type HttpReply = Response | RelayedReply

export function isRelayed(reply: HttpReply): reply is RelayedReply {
  return 'relayed' in reply
}

/** A short reply written by the gateway. */
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

/** True for statuses without a body. */
export function hasNoBody(status: number): boolean {
  return status === 204 || status === 205 || status === 304
}

/** Converts to a standard `Response`. */
export function toResponse(reply: HttpReply): Response {
  if (!isRelayed(reply)) return reply
  const { status, headers, relayed } = reply
  return new Response(relayed === undefined ? null : streamOf(relayed), {
    status,
    headers: pairsOf(headers),
  })
}

/** Header pairs, with each cookie separate. */
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
