// HTTP client for upstreams, over undici: streams the response, follows no redirects, does not
// decompress or buffer.

import { OrielError } from 'oriel'
import { apiRoots, keyHeaders } from 'oriel/providers'
import type { Agent, Dispatcher } from 'undici'
import { UpstreamSlots } from '../limits/upstream-slots.ts'
import type { ContextManagement, Limits, UpstreamOptions } from '../options.ts'
import { refuse } from './errors.ts'

export interface UpstreamRequest {
  readonly method: string
  /** Path and query, starting with `/v1`. */
  readonly path: string
  readonly headers: readonly (readonly [string, string])[]
  readonly body: string | Uint8Array | undefined
  readonly signal: AbortSignal
  /** The tenant of the request, for fair queueing at the upstream. @default '' */
  readonly tenant?: string
}

export interface UpstreamAnswer {
  readonly status: number
  readonly headers: readonly (readonly [string, string])[]
  readonly body: AsyncIterable<Uint8Array>
  /** Aborts the response and the upstream request. */
  cancel(): void
}

export interface Upstream {
  readonly name: string
  /** Managed calls add hints for the provider's prompt cache. */
  readonly wantsCacheHints: boolean
  /** Who edits the context where a client asks for it, given the hosts of servers that can. */
  contextManagement(hosts: readonly string[]): Exclude<ContextManagement, 'auto'>
  /** Active requests, and requests that wait for a slot. */
  readonly load: { readonly active: number; readonly waiting: number }
  serves(model: string): 'named' | 'any' | 'no'
  send(request: UpstreamRequest): Promise<UpstreamAnswer>
}

/** Retries of a connection that failed before any byte of the request was sent. */
const maxConnects = 2
/** Error codes that a retry may fix. */
const transient = new Set([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ECONNRESET', 'EPIPE'],
  // The connection was closed.
  'UND_ERR_SOCKET',
])
/** Methods that are safe to repeat after any failure. */
const idempotent = new Set(['GET', 'HEAD', 'OPTIONS'])
const retryStatuses = new Set([408, 409, 429, 500, 502, 503, 504, 529])
/** Longer waits are left to the client. */
const maxRetryAfterMs = 10_000

export function createUpstream(options: UpstreamOptions, limits: Limits): Upstream {
  const { name, key, keyHeader, models, retries = 0 } = options
  const base = readBase(options)
  const target = targetOf(base)
  const slots = new UpstreamSlots(name, limits)
  const once = (request: UpstreamRequest): Promise<UpstreamAnswer> =>
    options.fetch === undefined
      ? sendInSlot(slots, { target, request, limits })
      : sendFetch(options.fetch, new URL(request.path, base), request)
  return {
    name,
    load: slots,
    wantsCacheHints: options.cacheHints ?? false,
    contextManagement: (hosts) => {
      const { contextManagement: mode = 'auto' } = options
      if (mode !== 'auto') return mode
      return hosts.includes(base.hostname) ? 'delegate' : 'emulate'
    },
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
      const answer = await withRetries(() => once({ ...request, headers }), {
        retries,
        signal,
        isRepeatable: (error) =>
          isTransient(error) && (target.isUnconnected(error) || idempotent.has(method)),
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
      `The base URL of the upstream '${name}' must be a plain http or https address, such as https://api.openai.com.`,
      { path: 'upstreams' },
    )
  }
  return url
}

/** The parsed upstream address, and its connections. */
interface Target {
  readonly agent: Promise<Agent>
  readonly origin: string
  readonly host: string
  readonly prefix: string
  /** True for the error of a connection that was never made: nothing of the request was sent. */
  isUnconnected(error: object): boolean
}

/** Limits of time are ours. Upstream slots limit the connections, fairly between tenants. */
const agentOptions = {
  headersTimeout: 0,
  connect: { timeout: 0 },
  // A request that waits behind another one could not be repeated elsewhere.
  pipelining: 1,
} as const

function targetOf(base: URL): Target {
  const unconnected = new WeakSet<object>()
  return {
    agent: createAgent((error) => unconnected.add(error)),
    origin: base.origin,
    host: base.host,
    prefix: base.pathname.replace(/\/$/, ''),
    isUnconnected: (error) => unconnected.has(error),
  }
}

/** undici takes as long to load as the gateway itself, so it loads beside the rest. */
async function createAgent(connectionFailed: (error: object) => void): Promise<Agent> {
  const undici = await import('undici')
  const agent = new undici.Agent(agentOptions)
  agent.on('connectionError', (_origin, _targets, error) => connectionFailed(error))
  return agent
}

/** The upstream for a model: one that names it, else one that takes any. */
export function upstreamFor(upstreams: readonly Upstream[], model: string): Upstream | undefined {
  return (
    upstreams.find((one) => one.serves(model) === 'named') ??
    upstreams.find((one) => one.serves(model) === 'any') ??
    upstreams[0]
  )
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

async function withRetries(
  once: () => Promise<UpstreamAnswer>,
  options: {
    readonly retries: number
    readonly signal: AbortSignal
    readonly isRepeatable: (error: unknown) => boolean
  },
): Promise<UpstreamAnswer> {
  const { retries, signal, isRepeatable } = options
  let connects = 0
  for (let tries = 0; ; tries++) {
    try {
      const answer = await once()
      const waitMs = retryStatuses.has(answer.status) ? retryAfterMs(answer, tries) : undefined
      if (tries - connects >= retries || waitMs === undefined) return answer
      answer.cancel()
      await pause(waitMs, signal)
    } catch (error) {
      if (!isRepeatable(error) || connects >= maxConnects || signal.aborted) throw error
      connects += 1
      await pause(backoffMs(connects), signal)
    }
  }
}

function isTransient(error: unknown): error is Error {
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

async function sendHttp(
  { target, request, limits }: Sending,
  closed: () => void,
): Promise<UpstreamAnswer> {
  const { origin, host, prefix } = target
  const { method, path, headers, body = null, signal } = request
  const agent = await target.agent
  const clock = new Clock(signal, limits)
  try {
    const {
      statusCode,
      headers: raw,
      body: incoming,
    } = await agent.request({
      origin,
      path: prefix + path,
      method: method as Dispatcher.HttpMethod,
      headers: ['host', host, ...headers.flat()],
      body,
      signal: clock.signal,
      bodyTimeout: limits.idleMs,
      responseHeaders: 'raw',
    })
    clock.begun()
    incoming.once('close', () => {
      clock.stop()
      closed()
    })
    return {
      status: statusCode,
      headers: pairs(raw as unknown as readonly string[]),
      body: chunksOf(incoming),
      // An error without a reader would end the process.
      cancel: () => void incoming.on('error', () => {}).destroy(),
    }
  } catch (error) {
    clock.stop()
    throw hasCode(error, 'UND_ERR_SOCKET') && /upgrade/.test(error.message) ? brokeOff() : error
  }
}

/** Aborts a request with its client, when no response begins in time, and when it does not end in time. */
class Clock {
  readonly #control = new AbortController()
  readonly #client: AbortSignal
  readonly #limits: Limits
  readonly #leave = (): void => this.#control.abort(this.#client.reason)
  /** Wall-clock time: an active connection may still never start or end a response. */
  #timer: NodeJS.Timeout

  constructor(client: AbortSignal, limits: Limits) {
    this.#client = client
    this.#limits = limits
    if (client.aborted) this.#leave()
    client.addEventListener('abort', this.#leave, { once: true })
    this.#timer = this.#abortAfter(limits.firstByteMs, 'began no answer')
  }

  get signal(): AbortSignal {
    return this.#control.signal
  }

  begun(): void {
    clearTimeout(this.#timer)
    this.#timer = this.#abortAfter(this.#limits.streamMs, 'came to no end')
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#client.removeEventListener('abort', this.#leave)
  }

  #abortAfter(ms: number, what: string): NodeJS.Timeout {
    return setTimeout(() => this.#control.abort(timeout(what)), ms)
  }
}

async function* chunksOf(incoming: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* incoming
  } catch (error) {
    throw hasCode(error, 'UND_ERR_BODY_TIMEOUT') ? timeout('did not go on') : error
  }
}

function hasCode(error: unknown, code: string): error is Error {
  return error instanceof Error && 'code' in error && error.code === code
}

function brokeOff(): Error {
  return refuse(502, 'upstream-failed', 'The upstream broke off before it answered.')
}

function timeout(what: string): Error {
  return refuse(504, 'upstream-timeout', `The upstream ${what} in time.`)
}

function pairs(raw: readonly string[]): readonly (readonly [string, string])[] {
  const found: [string, string][] = []
  for (let index = 0; index + 1 < raw.length; index += 2) {
    found.push([raw[index] as string, raw[index + 1] as string])
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
