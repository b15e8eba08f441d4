// Sends a request to an upstream and hands back its answer as it arrives: no redirects, no decompression, nothing buffered.

import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import type { Socket } from 'node:net'
import { urlToHttpOptions } from 'node:url'
import { OrielError } from 'oriel'
import { apiRoots, keyHeaders } from 'oriel/providers'
import { UpstreamSlots } from '../limits/upstream-slots.ts'
import type { Limits, UpstreamOptions } from '../options.ts'
import { IncomingChunks } from './chunks.ts'
import { refuse } from './errors.ts'

export interface UpstreamRequest {
  readonly method: string
  /** Path and query, from `/v1` on. */
  readonly path: string
  readonly headers: readonly (readonly [string, string])[]
  readonly body: string | Uint8Array | undefined
  readonly signal: AbortSignal
  /** Whose request it is: tenants wait for the upstream in turn. @default '' */
  readonly tenant?: string
}

export interface UpstreamAnswer {
  readonly status: number
  readonly headers: readonly (readonly [string, string])[]
  readonly body: AsyncIterable<Uint8Array>
  /** Whether everything of it has come, where that is known. */
  readonly isThere?: () => boolean
  /** Ends the answer: nothing more is read, the upstream is told. */
  cancel(): void
}

export interface Upstream {
  readonly name: string
  /** Whether managed calls ask for the provider's cache. */
  readonly wantsCacheHints: boolean
  /** Requests at the upstream now, and those that wait for a slot. */
  readonly load: { readonly active: number; readonly waiting: number }
  serves(model: string): 'named' | 'any' | 'no'
  send(request: UpstreamRequest): Promise<UpstreamAnswer>
}

/** Times that a connection is made again which failed before anything of the request was sent. */
const maxConnects = 2
/** Failures that may pass. */
const transient = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ECONNRESET', 'EPIPE'])
/** Methods that may be repeated whatever became of the first attempt. */
const idempotent = new Set(['GET', 'HEAD', 'OPTIONS'])
const retryStatuses = new Set([408, 409, 429, 500, 502, 503, 504, 529])
/** Longer waits are the client's business. */
const maxRetryAfterMs = 10_000

export function createUpstream(options: UpstreamOptions, limits: Limits): Upstream {
  const { name, key, keyHeader, models, retries = 0 } = options
  const base = readBase(options)
  const target = targetOf(base)
  const slots = new UpstreamSlots(name, limits)
  const once = (request: UpstreamRequest, attempt: Attempt): Promise<UpstreamAnswer> =>
    options.fetch === undefined
      ? sendInSlot(slots, { target, request, attempt, limits })
      : sendFetch(options.fetch, new URL(request.path, base), request)
  return {
    name,
    load: slots,
    wantsCacheHints: options.cacheHints ?? false,
    serves: (model) => {
      if (models === undefined) return 'any'
      const isNamed = models.some((one) =>
        one.endsWith('*') ? model.startsWith(one.slice(0, -1)) : one === model,
      )
      return isNamed ? 'named' : 'no'
    },
    async send(request) {
      const headers = key === undefined ? request.headers : withKey(request.headers, key, keyHeader)
      const { method, signal } = request
      const answer = await withRetries((attempt) => once({ ...request, headers }, attempt), {
        retries,
        signal,
        isIdempotent: idempotent.has(method),
      })
      if (answer.status >= 300 && answer.status < 400 && answer.status !== 304) {
        answer.cancel()
        throw refuse(
          502,
          'upstream-redirect',
          `The upstream '${name}' answered with a redirect, which is not followed.`,
        )
      }
      return answer
    },
  }
}

/** The slots of the upstream bound the number of connections: Node's own queue has no bound and no order between tenants. */
const agentOptions = {
  keepAlive: true,
  maxFreeSockets: 128,
  scheduling: 'lifo',
} as const

/** `/v1` at the end is part of every path already, as is every other root. */
function readBase({ name, baseUrl }: UpstreamOptions): URL {
  const plain = baseUrl.replace(/\/+$/, '')
  const root = apiRoots.find((one) => `${plain}/`.endsWith(one))
  const url = URL.canParse(baseUrl)
    ? new URL(root === undefined ? plain : plain.slice(0, 1 - root.length))
    : undefined
  if (
    url === undefined ||
    !/^https?:$/.test(url.protocol) ||
    url.search !== '' ||
    url.username !== ''
  ) {
    throw new OrielError(
      'invalid-option',
      `The base URL of the upstream '${name}' must be a plain http or https address.`,
      { path: 'upstreams' },
    )
  }
  return url
}

/** Where an upstream is, as `request` takes it: an address that is read once. */
interface Target {
  readonly send: typeof httpRequest
  readonly host: string
  readonly prefix: string
  readonly options: RequestOptions
}

function targetOf(base: URL): Target {
  const isSafe = base.protocol === 'https:'
  const agent = isSafe ? new HttpsAgent(agentOptions) : new HttpAgent(agentOptions)
  const { protocol, hostname, port } = urlToHttpOptions(base)
  const place = { protocol, hostname, ...(port ? { port } : {}) }
  return {
    send: isSafe ? httpsRequest : httpRequest,
    host: base.host,
    prefix: base.pathname.replace(/\/$/, ''),
    options: { ...place, agent },
  }
}

function withKey(
  headers: UpstreamRequest['headers'],
  key: string,
  keyHeader: UpstreamOptions['keyHeader'],
): UpstreamRequest['headers'] {
  const came = keyHeaders.findLast((one) => headers.some(([name]) => name === one))
  const header = keyHeader ?? came ?? 'authorization'
  const others = headers.filter(([name]) => !keyHeaders.includes(name))
  return [...others, [header, header === 'authorization' ? `Bearer ${key}` : key]]
}

/** What is known of one attempt when it fails. */
interface Attempt {
  /** Whether the upstream may have read something of the request. */
  isSent: boolean
  /** Whether it went over a connection that an earlier request had used. */
  isReused: boolean
}

async function withRetries(
  once: (attempt: Attempt) => Promise<UpstreamAnswer>,
  options: {
    readonly retries: number
    readonly signal: AbortSignal
    readonly isIdempotent: boolean
  },
): Promise<UpstreamAnswer> {
  const { retries, signal, isIdempotent } = options
  let connects = 0
  for (let tries = 0; ; tries++) {
    const attempt: Attempt = { isSent: false, isReused: false }
    try {
      const answer = await once(attempt)
      const waitMs = retryStatuses.has(answer.status) ? retryAfterMs(answer, tries) : undefined
      if (tries - connects >= retries || waitMs === undefined) return answer
      answer.cancel()
      await pause(waitMs, signal)
    } catch (error) {
      // An upstream that closes an idle connection loses the request that is on its way: repeated only where that does no harm.
      const isRepeatable = !attempt.isSent || (isIdempotent && attempt.isReused)
      if (!isRepeatable || !isTransient(error) || connects >= maxConnects || signal.aborted) {
        throw error
      }
      connects += 1
      await pause(backoffMs(connects), signal)
    }
  }
}

function isTransient(error: unknown): boolean {
  return error instanceof Error && 'code' in error && transient.has(String(error.code))
}

function backoffMs(attempt: number): number {
  return 50 * 2 ** attempt * (0.5 + Math.random())
}

function retryAfterMs({ headers }: UpstreamAnswer, attempt: number): number | undefined {
  const value = headers.find(([name]) => name.toLowerCase() === 'retry-after')?.[1]
  if (value === undefined) return backoffMs(attempt + 2)
  const seconds = Number(value)
  const waitMs = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(value) - Date.now()
  return waitMs >= 0 && waitMs <= maxRetryAfterMs ? waitMs : undefined
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    const stop = (): void => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal.addEventListener('abort', stop, { once: true })
  })
}

interface Sending {
  readonly target: Target
  readonly request: UpstreamRequest
  /** Told how far the request got. */
  readonly attempt: Attempt
  readonly limits: Limits
}

async function sendInSlot(slots: UpstreamSlots, sending: Sending): Promise<UpstreamAnswer> {
  const { tenant = '', signal } = sending.request
  const startedMs = performance.now()
  const taken = slots.acquire({ tenant, signal })
  const release = typeof taken === 'function' ? taken : await taken
  const firstByteMs = Math.max(1, sending.limits.firstByteMs - (performance.now() - startedMs))
  try {
    return await sendHttp({ ...sending, limits: { ...sending.limits, firstByteMs } }, release)
  } catch (error) {
    release()
    throw error
  }
}

function sendHttp(
  { target, request, attempt, limits }: Sending,
  closed: () => void,
): Promise<UpstreamAnswer> {
  const { send, host, prefix, options } = target
  const { method, path, headers, body, signal } = request
  const { promise, resolve, reject } = Promise.withResolvers<UpstreamAnswer>()
  const length = body === undefined ? [] : ['content-length', String(Buffer.byteLength(body))]
  const outgoing = send({
    ...options,
    method,
    path: prefix + path,
    headers: ['host', host, ...headers.flat(), ...length],
  })
  endWith(outgoing, signal)
  // By the clock: a connection that is not quiet may still never begin an answer.
  const beginning = setTimeout(
    () => outgoing.destroy(timeout('began no answer')),
    limits.firstByteMs,
  )
  outgoing.once('close', () => clearTimeout(beginning))
  outgoing.once('close', closed)
  outgoing.on('error', reject)
  // A connection may also end without an answer and without an error, as after `101 Switching Protocols`.
  const end = (): void => reject(brokeOff())
  outgoing.once('close', end)
  outgoing.on('response', (incoming) => {
    if (!outgoing.writableEnded) {
      // An answer to nothing, such as a 408 before an idle connection is closed.
      outgoing.destroy(Object.assign(new Error('Answered too early'), { code: 'ECONNRESET' }))
      return
    }
    outgoing.off('close', end)
    clearTimeout(beginning)
    // A short answer comes with its headers: then there is nothing to wait for.
    queueMicrotask(() => {
      if (!incoming.complete) limitTime(outgoing, incoming, limits)
    })
    resolve({
      status: incoming.statusCode ?? 502,
      headers: pairs(incoming),
      body: new IncomingChunks(incoming),
      isThere: () => incoming.complete,
      cancel: () => incoming.destroy(),
    })
  })
  outgoing.once('socket', (socket) => writeTo(socket, { outgoing, body, attempt }))
  return promise
}

/** Writes the request to its connection, and notes when something of it may have been sent. */
function writeTo(
  socket: Socket,
  {
    outgoing,
    body,
    attempt,
  }: { outgoing: ClientRequest; body: UpstreamRequest['body'] } & Pick<Sending, 'attempt'>,
): void {
  const sent = (): void => {
    attempt.isSent = true
  }
  if (!outgoing.reusedSocket) {
    const isSafe = 'encrypted' in socket
    if (socket.connecting || isSafe) socket.once(isSafe ? 'secureConnect' : 'connect', sent)
    else sent()
    outgoing.end(body)
    return
  }
  attempt.isReused = true
  // The event loop reads from all connections first: one that the upstream has closed meanwhile fails before anything is written to it.
  setImmediate(() =>
    setImmediate(() => {
      if (outgoing.destroyed) return
      sent()
      outgoing.end(body)
    }),
  )
}

/** Ends an answer that pauses or goes on for too long. */
function limitTime(
  outgoing: ClientRequest,
  incoming: IncomingMessage,
  { idleMs, streamMs }: Pick<Limits, 'idleMs' | 'streamMs'>,
): void {
  outgoing.setTimeout(idleMs, () => incoming.destroy(timeout('did not go on')))
  const whole = setTimeout(() => incoming.destroy(timeout('came to no end')), streamMs)
  incoming.once('close', () => clearTimeout(whole))
}

/**
 * Ends a request when its signal says so. Node's own way watches the whole stream for it, which costs more than the request. Once the
 * response is complete, the socket is about to return to the agent, which removes the request's error listener: an error given to
 * `destroy` would then be emitted on a socket without one and end the process.
 */
function endWith(outgoing: ClientRequest, signal: AbortSignal): void {
  let answer: IncomingMessage | undefined
  outgoing.once('response', (incoming: IncomingMessage) => {
    answer = incoming
  })
  const leave = (): void => {
    if (answer?.complete !== true) {
      outgoing.destroy(signal.reason instanceof Error ? signal.reason : undefined)
    } else if (answer.readableLength > 0) answer.destroy()
  }
  if (signal.aborted) leave()
  signal.addEventListener('abort', leave, { once: true })
  outgoing.once('close', () => signal.removeEventListener('abort', leave))
}

function brokeOff(): Error {
  return refuse(502, 'upstream-failed', 'The upstream broke off before it answered.')
}

function timeout(what: string): Error {
  return refuse(504, 'upstream-timeout', `The upstream ${what} in time.`)
}

function pairs({ rawHeaders }: IncomingMessage): readonly (readonly [string, string])[] {
  const found: [string, string][] = []
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    found.push([rawHeaders[index] as string, rawHeaders[index + 1] as string])
  }
  return found
}

async function sendFetch(
  send: (request: Request) => Promise<Response>,
  url: URL,
  { method, headers, body, signal }: UpstreamRequest,
): Promise<UpstreamAnswer> {
  const init = {
    method,
    headers: headers.map(([name, value]): [string, string] => [name, value]),
    signal,
  }
  const response = await send(
    new Request(
      url,
      body === undefined ? init : { ...init, body: body as string | Uint8Array<ArrayBuffer> },
    ),
  )
  const reader = response.body?.getReader()
  async function* read(): AsyncGenerator<Uint8Array> {
    while (reader !== undefined) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  }
  return {
    status: response.status,
    headers: [...response.headers],
    body: read(),
    cancel: () => void reader?.cancel().catch(() => undefined),
  }
}
