// Listens for the gateway: loopback unless told otherwise, with limits on headers, time and connections.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { getRequestListener } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { OrielError } from 'oriel'
import { isApiPath } from 'oriel/providers'
import type { Gateway } from '../gateway.ts'
import { IncomingRequest } from './request.ts'
import { type WriteOptions, writeReply } from './write-response.ts'

export interface ServeOptions {
  /** 0 takes any free port. @default 4141 */
  readonly port?: number
  /** @default '127.0.0.1' */
  readonly host?: string
  /** Connections at the same time. @default 4096 */
  readonly maxConnections?: number
  /** Time for the headers of a request. @default 10000 */
  readonly headersMs?: number
  /** Time that calls under way get when the server closes. @default 10000 */
  readonly drainMs?: number
}

export interface GatewayServer {
  readonly url: string
  readonly port: number
  /** Lets calls under way finish for a while, then cuts them. */
  close(): Promise<void>
}

const loopback = new Set(['127.0.0.1', '::1', 'localhost'])
const maxHeaderBytes = 32 * 1024
/** Time that calls which were cut get to end, so that what had come of their answers is logged. */
const cutMs = 1000
/** How often a server that closes lets go of connections whose answers are over. */
const sweepMs = 100
/** Connections that the system accepts before the process does. */
const maxWaiting = 1024

/** Starts listening. Rejects with 'invalid-option' to listen beyond this machine without keys. */
export async function serveGateway(
  gateway: Gateway,
  options: ServeOptions = {},
): Promise<GatewayServer> {
  const {
    port = 4141,
    host = '127.0.0.1',
    maxConnections = 4096,
    headersMs = 10_000,
    drainMs = 10_000,
  } = options
  checkHost(gateway, host)
  const { bodyMs } = gateway.limits
  const running = new Set<Promise<void>>()
  const server = createServer(
    {
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: headersMs,
      // The whole request; answers have limits of their own.
      requestTimeout: headersMs + bodyMs,
      // Longer than clients keep theirs: a server that closes first meets requests on their way.
      keepAliveTimeout: 75_000,
      connectionsCheckingInterval: 1000,
      requireHostHeader: true,
    },
    listener(gateway, running),
  )
  server.maxConnections = maxConnections
  await listen(server, port, host)
  // A connection that could not be accepted, for want of a file descriptor or of memory; an error without a listener ends the process.
  server.on('error', (error) => gateway.failed('client-connection', error))
  const bound = (server.address() as AddressInfo).port
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    port: bound,
    async close() {
      await close(server, gateway, drainMs)
      await Promise.race([Promise.all(running), wait(cutMs, undefined, { ref: false })])
      await gateway.close()
    },
  }
}

/** Throws 'invalid-option' for a host beyond this machine where callers need no key: for those who have more to do before they listen. */
export function checkHost({ hasKeys }: Pick<Gateway, 'hasKeys'>, host: string): void {
  if (loopback.has(host) || hasKeys) return
  throw new OrielError(
    'invalid-option',
    `Listening on ${host} lets others in: configure keys first, or listen on 127.0.0.1.`,
    { path: 'host' },
  )
}

/** `running` holds the model calls under way. */
function listener(
  gateway: Gateway,
  running: Set<Promise<void>>,
): (incoming: IncomingMessage, outgoing: ServerResponse) => void {
  const writing = writingOf(gateway)
  const listen = getRequestListener(
    async (request, { outgoing }) => {
      // This server speaks HTTP/1 only.
      await writeReply(await gateway.reply(request), outgoing as ServerResponse, writing)
      return RESPONSE_ALREADY_SENT
    },
    { overrideGlobalObjects: false },
  )
  const addressOf = addressReader()
  return (incoming, outgoing) => {
    const { url = '', headers } = incoming
    const location = addressOf(url, headers.host)
    if (location === null) {
      outgoing.writeHead(400, { 'content-type': 'application/json', connection: 'close' })
      outgoing.end('{"error":{"code":"bad-request","message":"The request line is not plain."}}')
      return
    }
    if (!isApiPath(url)) return listen(incoming, outgoing)
    const request = new IncomingRequest(incoming, outgoing, location)
    const call = answerCall(gateway, request, { outgoing, writing })
    running.add(call)
    call.then(() => running.delete(call))
  }
}

/** Reads addresses. Most calls go to the same one as the call before, so that the newest is kept; nobody changes it. */
function addressReader(): (url: string, host: string | undefined) => URL | null {
  let newest: { readonly address: string; readonly location: URL | null } | undefined
  return (url, host) => {
    // Absolute addresses are for proxies; HTTP/1.0 may leave the host out; some hosts are none.
    if (!url.startsWith('/') || url.startsWith('//') || host === undefined) return null
    const address = `http://${host}${url}`
    if (newest?.address !== address) newest = { address, location: URL.parse(address) }
    return newest.location
  }
}

/** A model call, without the layers of a standard request. Never rejects: a request that nobody can answer loses its connection. */
async function answerCall(
  gateway: Gateway,
  { asRequest, incoming }: IncomingRequest,
  { outgoing, writing }: { readonly outgoing: ServerResponse; readonly writing: WriteOptions },
): Promise<void> {
  try {
    await writeReply(await gateway.reply(asRequest), outgoing, writing)
    // What the client still sends of a request that was refused is of no use to anybody.
    if (!incoming.complete) incoming.resume()
  } catch (error) {
    gateway.failed('client-connection', error)
    outgoing.destroy()
  }
}

function writingOf({ limits, failed }: Gateway): WriteOptions {
  return { limits, failed: (error) => failed('client-connection', error) }
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const isTaken = cause.code === 'EADDRINUSE'
      const problem = isTaken
        ? `Port ${port} is taken`
        : `Listening on ${host}:${port} failed (${cause.code})`
      reject(
        new OrielError('invalid-option', `${problem}. Choose another with --port.`, {
          path: 'port',
          cause,
        }),
      )
    })
    // Connections beyond the usual length of the line would wait for seconds; here they are told to come again.
    server.listen({ port, host, backlog: maxWaiting }, () => resolve())
  })
}

async function close(server: Server, gateway: Gateway, drainMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeIdleConnections()
  gateway.endStreams()
  // Node looks for idle connections once: one whose answer ends later would be kept for its next request.
  const sweep = setInterval(() => server.closeIdleConnections(), sweepMs)
  const timer = setTimeout(() => server.closeAllConnections(), drainMs)
  await closed
  clearInterval(sweep)
  clearTimeout(timer)
}
