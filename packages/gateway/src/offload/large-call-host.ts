// Worker thread side of large calls: answers requests that come as messages with a gateway of its own.

import { parentPort } from 'node:worker_threads'
import { createGateway, type Gateway } from '../gateway.ts'
import { HeaderList } from '../http/header-list.ts'
import type { RelayedBody } from '../http/relay.ts'
import { pairsOf } from '../http/response.ts'
import { relayedBodyOf } from '../http/write-response.ts'
import type { GatewayOptions } from '../options.ts'
import { type FromWorker, movable, type ToWorker } from './protocol.ts'

interface Running {
  readonly leaving: AbortController
  body?: RelayedBody | undefined
}

/**
 * Serves large requests in the current worker thread until it is told to close: the module that `offload` names calls this once. The
 * options are those of the gateway that offloads, with a store of this thread's own.
 */
export function hostLargeCalls(options: GatewayOptions): void {
  const port = parentPort
  if (port === null) throw new Error('hostLargeCalls runs in a worker thread only.')
  const send = (message: FromWorker, transfer: ArrayBuffer[] = []): void =>
    port.postMessage(message, transfer)
  const { offload: _, studio: _studio, ...own } = options
  const gateway = createGateway({
    ...own,
    // This thread is meant to be busy: the other one decides what it gets.
    limits: { ...options.limits, lateMs: 0 },
    log: (line) => send({ type: 'log', line }),
    sink: {
      metric: (name, value, values) => send({ type: 'metric', name, value, values }),
      event: (tenant, event) => send({ type: 'event', tenant, event }),
    },
  })
  const running = new Map<number, Running>()
  port.on('message', (message: ToWorker) => {
    switch (message.type) {
      case 'call':
        void answer(gateway, message, { running, send })
        break
      case 'next':
        void pump(message.id, { running, send })
        break
      case 'written':
        running.get(message.id)?.body?.written?.()
        running.delete(message.id)
        break
      case 'abort':
        running.get(message.id)?.leaving.abort(new Error('The client left.'))
        running.get(message.id)?.body?.cancel()
        running.delete(message.id)
        break
      case 'forget':
        gateway.forget(message.tenant, message.thread)
        break
      case 'close':
        void gateway.close().then(async () => {
          await options.store?.close()
          send({ type: 'closed' })
        })
    }
  })
}

interface Around {
  readonly running: Map<number, Running>
  readonly send: (message: FromWorker, transfer?: ArrayBuffer[]) => void
}

async function answer(
  gateway: Gateway,
  { id, method, url, headers, body }: Extract<ToWorker, { type: 'call' }>,
  { running, send }: Around,
): Promise<void> {
  const leaving = new AbortController()
  const own: Running = { leaving }
  running.set(id, own)
  const request = {
    method,
    url,
    headers: HeaderList.ofRaw([...headers]),
    signal: leaving.signal,
    body: { getReader: () => readerOf(body) },
  }
  // The part of a `Request` that handlers use, as `IncomingRequest` has it. `reply` never rejects.
  const reply = await gateway.reply(request as unknown as Request)
  own.body = relayedBodyOf(reply)
  if (!running.has(id)) own.body?.cancel()
  const isWhole = 'isWhole' in reply && reply.isWhole === true
  const hasBody = own.body !== undefined
  if (!hasBody) running.delete(id)
  send({
    type: 'reply',
    id,
    status: reply.status,
    headers: pairsOf(reply.headers),
    hasBody,
    isWhole,
  })
}

async function pump(id: number, { running, send }: Around): Promise<void> {
  const body = running.get(id)?.body
  if (body === undefined) return
  try {
    const chunk = await body.next()
    const isOver = chunk === undefined || body.isOver === true
    if (chunk === undefined) return send({ type: 'chunk', id, isOver })
    const moved = movable(chunk)
    send({ type: 'chunk', id, chunk: moved, isOver }, [moved.buffer])
  } catch {
    running.delete(id)
    send({ type: 'broken', id })
  }
}

/** The reader of a stream that has one chunk. */
function readerOf(body: Uint8Array): object {
  let rest: Uint8Array | undefined = body
  return {
    async read() {
      const value = rest
      rest = undefined
      return value === undefined ? { done: true } : { done: false, value }
    },
    async cancel() {},
  }
}
