// Response writer: writes chunks with backpressure. A body that breaks off closes the connection,
// so that the client can tell a truncated response from a complete one.

import type { ServerResponse } from 'node:http'
import type { Limits } from '../options.ts'
import type { RelayedBody } from './relay.ts'
import { type HttpReply, isRelayed, pairsOf } from './response.ts'

/** Maximum size of one write. The slow-client timeout applies to each. */
const maxWriteBytes = 256 * 1024

export interface WriteOptions {
  readonly limits: Pick<Limits, 'slowClientMs'>
  /** Reports a failure that is neither the client's nor the upstream's, such as invalid headers. */
  readonly failed: (error: unknown) => void
}

/**
 * Resolves when the connection has taken the response or is closed. Never rejects. Disconnects a
 * client that does not read.
 */
export async function writeReply(
  reply: HttpReply,
  outgoing: ServerResponse,
  options: WriteOptions,
): Promise<void> {
  try {
    await write(reply, outgoing, options)
  } catch (error) {
    options.failed(error)
    outgoing.destroy()
  }
}

async function write(
  reply: HttpReply,
  outgoing: ServerResponse,
  { limits: { slowClientMs }, failed }: WriteOptions,
): Promise<void> {
  const body = relayedBodyOf(reply)
  if (outgoing.destroyed) {
    body?.cancel()
    return
  }
  // Node's raw format: alternating names and values.
  const headers = pairsOf(reply.headers).flat()
  if (body === undefined) {
    outgoing.writeHead(reply.status, headers).end()
    return
  }
  const leave = (): void => body.cancel()
  outgoing.once('close', leave)
  // Send the headers together with the first chunk if it is ready, else before it.
  const head = (): unknown => outgoing.headersSent || outgoing.writeHead(reply.status, headers)
  const begin = (): void => {
    try {
      flush(outgoing, head)
    } catch (error) {
      failed(error)
      outgoing.destroy()
    }
  }
  const early = isRelayed(reply) && reply.isWhole === true ? undefined : setImmediate(begin)
  try {
    for (;;) {
      const chunk = await body.next()
      clearImmediate(early)
      if (chunk !== undefined && body.isOver === true && !outgoing.headersSent) {
        const length = String(chunk.byteLength)
        outgoing.writeHead(reply.status, [...headers, 'content-length', length])
        await finish(outgoing, chunk, slowClientMs)
        break
      }
      head()
      if (outgoing.destroyed) return
      if (chunk === undefined) {
        await finish(outgoing, undefined, slowClientMs)
        break
      }
      await writeChunk(outgoing, chunk, slowClientMs)
    }
    outgoing.off('close', leave)
    if (outgoing.writableFinished) body.written?.()
    else body.cancel()
  } catch {
    clearImmediate(early)
    if (!outgoing.destroyed) flush(outgoing, head)
    cut(outgoing)
  }
}

/** Writes a chunk and waits for the client to read it. */
async function writeChunk(
  outgoing: ServerResponse,
  chunk: Uint8Array,
  mostMs: number,
): Promise<void> {
  for (let start = 0; start < chunk.byteLength; start += maxWriteBytes) {
    const part = chunk.subarray(start, start + maxWriteBytes)
    if (!outgoing.write(part)) await happened(outgoing, 'drain', mostMs)
    if (outgoing.destroyed) return
  }
}

/** Writes the last chunk and the end, and waits until both are flushed. */
async function finish(
  outgoing: ServerResponse,
  last: Uint8Array | undefined,
  mostMs: number,
): Promise<void> {
  const isShort = last === undefined || last.byteLength <= maxWriteBytes
  if (!isShort) await writeChunk(outgoing, last, mostMs)
  if (outgoing.destroyed) return
  if (isShort && last !== undefined) outgoing.end(last)
  else outgoing.end()
  if (!outgoing.writableFinished) await happened(outgoing, 'finish', mostMs)
}

function flush(outgoing: ServerResponse, head: () => unknown): void {
  head()
  outgoing.flushHeaders()
}

/** The body of a reply, to be read chunk by chunk. */
export function relayedBodyOf(reply: HttpReply): RelayedBody | undefined {
  if (isRelayed(reply)) return reply.relayed
  const reader = reply.body?.getReader()
  if (reader === undefined) return undefined
  return {
    next: async () => {
      const { done, value } = await reader.read()
      return done ? undefined : value
    },
    cancel: () => void reader.cancel().catch(() => undefined),
  }
}

/** Resolves at the event, or when the connection is closed or has timed out. */
function happened(
  outgoing: ServerResponse,
  event: 'drain' | 'finish',
  mostMs: number,
): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => outgoing.destroy(), mostMs)
    const done = (): void => {
      clearTimeout(timer)
      outgoing.off(event, done)
      outgoing.off('close', done)
      resolve()
    }
    outgoing.once(event, done)
    outgoing.once('close', done)
  })
}

/** Closes the connection after flushing, with a timeout for clients that do not read. */
function cut(outgoing: ServerResponse): void {
  const timer = setTimeout(() => outgoing.destroy(), 1000)
  outgoing.socket?.write('', () => outgoing.destroy())
  outgoing.once('close', () => clearTimeout(timer))
}
