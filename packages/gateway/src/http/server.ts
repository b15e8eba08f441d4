// HTTP server of the gateway: loopback by default, with limits on headers, time and connections.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { getRequestListener } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { OrielError } from 'oriel'
import { assertOptions, type OptionNames } from 'oriel/internal'
import { isApiPath } from 'oriel/providers'
import type { Gateway } from '../gateway.ts'
import { IncomingRequest } from './request.ts'
import { type WriteOptions, writeReply } from './write-response.ts'

export interface ServeOptions {
  /** 0 picks a free port. @default 4141 */
  readonly port?: number
  /** @default '127.0.0.1' */
  readonly host?: string
  /** Maximum concurrent connections. @default 4096 */
  readonly maxConnections?: number
  /** Timeout for the headers of a request. @default 10000 */
  readonly headersMs?: number
  /** Time for active calls to finish when the server closes. @default 10000 */
  readonly drainMs?: number
}

const serveOptions: OptionNames<ServeOptions> = {
  port: true,
  host: true,
  maxConnections: true,
  headersMs: true,
  drainMs: true,
}

export interface GatewayServer {
  readonly url: string
  readonly port: number
  /** Graceful shutdown: lets active calls finish for a while, then aborts them. */
  close(): Promise<void>
}

const loopback = new Set(['127.0.0.1', '::1', 'localhost'])
const maxHeaderBytes = 32 * 1024
/** Time after the abort in which the received part of an answer is logged. */
const cutMs = 1000
/** Interval at which a closing server drops idle connections. */
const sweepMs = 100
/** Listen backlog. */
const maxWaiting = 1024

/** Starts listening. Rejects with 'invalid-option' for a non-loopback host without keys. */
export async function serveGateway(
  gateway: Gateway,
  options: ServeOptions = {},
): Promise<GatewayServer> {
  assertOptions(options, serveOptions, 'serveGateway')
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
      // The whole request. Responses have their own limits.
      requestTimeout: headersMs + bodyMs,
      // Longer than clients keep connections idle: a server that closes first can race with a
      // request in flight.
      keepAliveTimeout: 75_000,
      connectionsCheckingInterval: 1000,
      requireHostHeader: true,
    },
    listener(gateway, running),
  )
  server.maxConnections = maxConnections
  await listen(server, port, host)
  // Accept errors, such as too many open files. Without a listener they would end the process.
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

/**
 * Throws 'invalid-option' for a non-loopback host without keys. Exported for callers that want to
 * fail before other startup work.
 */
export function checkHost({ hasKeys }: Pick<Gateway, 'hasKeys'>, host: string): void {
  if (loopback.has(host) || hasKeys) return
  throw new OrielError(
    'invalid-option',
    `Listening on ${host} exposes the gateway to the network: configure keys first, or listen on 127.0.0.1.`,
    { path: 'host' },
  )
}

/** `running` holds the active model calls. */
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
    const refusal = gateway.shed(location.pathname, headers)
    if (refusal !== undefined) {
      // Node discards the body. 25 microseconds in all: what is rejected takes no time from what is served.
      outgoing.writeHead(refusal.status, refusal.headers as string[])
      outgoing.end(refusal.body)
      return
    }
    const request = new IncomingRequest(incoming, outgoing, location)
    const call = answerCall(gateway, request, { outgoing, writing })
    running.add(call)
    call.then(() => running.delete(call))
  }
}

/**
 * Parses URLs and caches the newest one, because most calls repeat it. The result must not be
 * modified.
 */
function addressReader(): (url: string, host: string | undefined) => URL | null {
  let newest: { readonly address: string; readonly location: URL | null } | undefined
  return (url, host) => {
    // Absolute URLs are for proxies, HTTP/1.0 may omit the host, and some hosts are invalid.
    if (!url.startsWith('/') || url.startsWith('//') || host === undefined) return null
    const address = `http://${host}${url}`
    if (newest?.address !== address) newest = { address, location: URL.parse(address) }
    return newest.location
  }
}

/**
 * Serves a model call without a standard `Request`. Never rejects: a request that cannot be
 * answered loses its connection.
 */
async function answerCall(
  gateway: Gateway,
  { asRequest, incoming }: IncomingRequest,
  { outgoing, writing }: { readonly outgoing: ServerResponse; readonly writing: WriteOptions },
): Promise<void> {
  try {
    await writeReply(await gateway.reply(asRequest), outgoing, writing)
    // Discard the rest of the body of a rejected request.
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
    // With the default backlog, connections in a burst would wait for seconds. Accept them, so that
    // they get a 503 at once.
    server.listen({ port, host, backlog: maxWaiting }, () => resolve())
  })
}

async function close(server: Server, gateway: Gateway, drainMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeIdleConnections()
  gateway.endStreams()
  // Node closes idle connections once. Repeat it for connections whose response ends later.
  const sweep = setInterval(() => server.closeIdleConnections(), sweepMs)
  const timer = setTimeout(() => server.closeAllConnections(), drainMs)
  await closed
  clearInterval(sweep)
  clearTimeout(timer)
}
