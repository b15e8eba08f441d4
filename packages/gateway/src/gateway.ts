// Gateway: one function from request to response, assembled from its parts.

import { randomBytes } from 'node:crypto'
import { callerView, memoryStore, OrielError, type Store } from 'oriel'
import { apiRoots, isApiPath, providers, speakerAt } from 'oriel/providers'
import { agentRoutes } from './api/agent-routes.ts'
import { conversationRoutes } from './api/conversation-routes.ts'
import { gatewayRoutes } from './api/gateway-routes.ts'
import { memoryRoutes } from './api/memory-routes.ts'
import { ThreadApi } from './api/thread-api.ts'
import { threadRoutes } from './api/thread-routes.ts'
import { type Background, type BackgroundTask, codeOf } from './background.ts'
import { Calls } from './call/calls.ts'
import { LearnedLimits } from './call/learned-limits.ts'
import { assertGatewayOptions } from './check-options.ts'
import { createDemoUpstream } from './demo/demo-upstream.ts'
import { createAuthenticate } from './http/auth.ts'
import { createUpstream, type Upstream, upstreamFor } from './http/client.ts'
import { Cors } from './http/cors.ts'
import {
  exhaustionOf,
  refusalOf,
  refusalReply,
  refuse,
  type WrittenRefusal,
  writeRefusal,
} from './http/errors.ts'
import { guard } from './http/guard.ts'
import { describeApi } from './http/openapi.ts'
import { locationOf, pathOf } from './http/request.ts'
import { type HttpReply, toResponse } from './http/response.ts'
import { createRouter, json, type Route } from './http/router.ts'
import { readStatic } from './http/static-files.ts'
import { ConcurrencyLimiter, overloaded } from './limits/concurrency.ts'
import { OverloadDetector } from './limits/overload.ts'
import { createMcp, type Mcp } from './mcp/mcp-routes.ts'
import { LargeCalls } from './offload/large-calls.ts'
import { defaultLimits, type GatewayOptions, type Limits, type UpstreamOptions } from './options.ts'
import { AgentRegistry } from './settings/agents.ts'
import { SettingsResolver } from './settings/resolve.ts'
import { createSummarize } from './settings/summarizer.ts'
import { Log } from './telemetry/log.ts'
import { metricsRoute } from './telemetry/metrics-route.ts'
import { Telemetry } from './telemetry/telemetry.ts'
import { Conversations } from './threads/conversations.ts'
import { EventBus } from './threads/event-bus.ts'
import { ThreadIndex } from './threads/index.ts'
import { OpenThreads } from './threads/open-threads.ts'
import { ThreadResolver } from './threads/resolver.ts'
import { ResponseChain } from './threads/response-chain.ts'
import { StoreWatcher } from './threads/store-watcher.ts'
import { Tenants } from './threads/tenants.ts'
import { version } from './version.ts'

export interface Gateway {
  /** Answers any request. Never rejects. */
  fetch(request: Request): Promise<Response>
  /** Like `fetch`, for servers that write to a connection themselves. */
  reply(request: Request): Promise<HttpReply>
  /**
   * Load shedding before anything of a request is read: the refusal to write for a model call at this path while the gateway is
   * overloaded. Undefined where the request is to be answered by `reply`.
   */
  shed(path: string, headers: { readonly origin?: string | undefined }): WrittenRefusal | undefined
  /** All routes, for documentation and tests. */
  readonly routes: readonly Route[]
  readonly store: Store
  /** Callers need a key. */
  readonly hasKeys: boolean
  readonly limits: Limits
  /** @internal A thread was erased elsewhere: nothing of it stays in memory. */
  forget(tenant: string, thread: string): void
  /** Counts and logs a failure outside of any request. */
  failed(task: BackgroundTask, error: unknown): void
  /**
   * Ends endless streams, such as server-sent events, so that a closing server need not wait for
   * them.
   */
  endStreams(): void
  /** Resolves when all pending log writes are done. */
  settled(): Promise<void>
  /** Waits for active work, then closes the store if the gateway created it. */
  close(): Promise<void>
}

/**
 * Creates an HTTP handler that manages the context of model calls. Throws at once on invalid
 * options.
 */
export function createGateway(options: GatewayOptions = {}): Gateway {
  assertGatewayOptions(options)
  const parts = assemble(options)
  const { routes, limits, via, store, threads, telemetry } = parts
  const { keys = [], hosts = [], origins = [] } = options
  const authenticate = createAuthenticate(keys)
  const notFound = (): Response =>
    json({ error: { code: 'not-found', message: 'Not found: no route has this path.' } }, 404)
  const router = createRouter(routes, notFound)
  const { limiter } = parts
  const cors = new Cors(origins)
  const answer = async (request: Request): Promise<HttpReply> => {
    const url = locationOf(request)
    // First, because rejecting must be cheap.
    limiter.check(url.pathname)
    guard(request, url, { hosts, origins, via })
    const preflight = cors.preflight(request)
    if (preflight !== undefined) return preflight
    const caller = authenticate(request.headers)
    if (caller === undefined && !router.isOpen(request.method, url.pathname)) {
      throw refuse(401, 'unauthorized', 'A valid API key is required.')
    }
    const known = caller ?? { tenant: '', isAdmin: false, mayOverride: false, keyHeaders: [] }
    await parts.loading()
    return limiter.pass(known.tenant, url.pathname, (room) =>
      router.handle(request, { caller: known, url, room }),
    )
  }
  const reply = async (request: Request): Promise<HttpReply> => {
    const startedMs = performance.now()
    try {
      const given = await answer(request)
      telemetry.responded({ request, reply: given, startedMs })
      return cors.mark(request, given)
    } catch (error) {
      const { response, code, kind } = failed(request, error)
      telemetry.responded({ request, reply: response, startedMs, code, kind })
      return cors.mark(request, response)
    }
  }
  return {
    routes,
    store,
    limits,
    hasKeys: keys.length > 0,
    reply,
    shed: shedder(limiter, telemetry),
    fetch: async (request) => toResponse(await reply(request)),
    forget: (tenant, thread) => {
      parts.calls.forget(tenant, thread)
      parts.api.forget({ tenant, thread })
    },
    failed: (task, error) => telemetry.background.failed(task, error),
    endStreams: () => parts.events.close(),
    settled: () => threads.settled(),
    async close() {
      parts.events.close()
      parts.overload.close()
      await parts.mcp.close()
      await parts.calls.close()
      await threads.settled()
      await parts.changes.close()
      if (options.store === undefined) await store.close()
    },
  }
}

function shedder(limiter: ConcurrencyLimiter, telemetry: Telemetry): Gateway['shed'] {
  const written = new Map<string, WrittenRefusal>()
  return (path, { origin }) => {
    // Pages need more headers, and other paths are not limited.
    if (origin !== undefined || !isApiPath(path) || !limiter.isFull) return undefined
    if (!telemetry.shed(path, overloaded.code)) return undefined
    const speaker = speakerAt(path)?.name ?? ''
    const known = written.get(speaker)
    if (known !== undefined) return known
    const made = writeRefusal(path, overloaded)
    written.set(speaker, made)
    return made
  }
}

/**
 * Converts a failure to a response. Foreign error messages may contain content, so they are not
 * used.
 */
function failed(
  request: Request,
  error: unknown,
): { readonly response: HttpReply; readonly code: string; readonly kind: string } {
  const pathname = pathOf(request)
  const kind = codeOf(error)
  const isNetwork = /^E[A-Z]+$|^UND_ERR|^HPE_|^CERT_|^DEPTH_ZERO|^ERR_TLS/.test(kind)
  const isLeft = request.signal.aborted
  const refusal = exhaustionOf(error) ?? (isNetwork || isLeft ? upstreamFailed : refusalOf(error))
  return { response: refusalReply(pathname, refusal), code: refusal.code, kind }
}

const upstreamFailed = {
  status: 502,
  code: 'upstream-failed',
  message: 'The upstream could not be reached, or broke off before it answered.',
}

interface Parts {
  readonly api: ThreadApi
  readonly routes: readonly Route[]
  readonly limits: Limits
  readonly via: string
  readonly store: Store
  readonly threads: OpenThreads
  readonly changes: StoreWatcher
  readonly events: EventBus
  readonly overload: OverloadDetector
  readonly limiter: ConcurrencyLimiter
  readonly mcp: Mcp
  readonly telemetry: Telemetry
  readonly calls: Calls
  /** Resolves when the gateway's stored data is loaded; undefined once it is. */
  loading(): Promise<void> | undefined
}

function ignore(): void {}

function assemble(options: GatewayOptions): Parts {
  const { store = memoryStore(), now = Date.now, agents: templates = {} } = options
  const telemetry = new Telemetry(logOf(options, now), options.sink?.metric)
  const log = telemetry.log.thread
  const limits = { ...defaultLimits, ...options.limits }
  const via = `1.1 oriel-${randomBytes(6).toString('hex')}`
  const { background } = telemetry
  const events = new EventBus(background)
  const agents = new AgentRegistry(templates, store)
  const settings = settingsOf(options, agents)
  const upstreams = upstreamsOf(options, limits)
  const summarize = summarizeOf(options, upstreams, via)
  const changes = new StoreWatcher(store, events, background)
  const changed: StoreWatcher['tell'] = (tenant, thread) => changes.tell(tenant, thread)
  const shared = { ...options, store, now, log, limits }
  const { prompts, summarizer: { timeoutMs: summarizeTimeoutMs } = {} } = options
  const on = listenerOf(telemetry, events, options.sink)
  const summaries = { summarize, summarizeTimeoutMs, prompts }
  const threads = new OpenThreads({ ...shared, ...summaries, on })
  const tenants = new Tenants(store, background)
  const sessions = new ThreadResolver(threads, new ThreadIndex(store, background), shared)
  const overload = new OverloadDetector({ mostMs: limits.lateMs, background })
  const limiter = new ConcurrencyLimiter(limits, overload)
  const largeCalls = largeCallsOf(options, { telemetry, events })
  const conversations = new Conversations(store, now)
  const calls = new Calls({
    largeCalls,
    pressure: overload,
    ...{ sessions, settings, upstreams, limits, via },
    isManaging: options.management ?? true,
    expand: options.expand ?? 'auto',
    telemetry,
    changed,
    tenants,
    learned: new LearnedLimits(store, background, now),
    chain: new ResponseChain(store, background),
    conversations,
    now,
  })
  const forget: Gateway['forget'] = (tenant, thread) => calls.forget(tenant, thread)
  const info = (): object => describe(options, upstreams, settings)
  const around = { store, settings, threads, tenants, limits, changed, tokens: options.tokens }
  const api = new ThreadApi({ ...around, erased: forget })
  const mcp = createMcp({ api, limits, failed: (code) => telemetry.failed('mcp', code) })
  const own = [
    ...agentRoutes({ agents, limits }),
    ...gatewayRoutes({ store, calls, sessions, settings, agents, events, limits, info }),
    ...threadRoutes(api),
    ...memoryRoutes({ store, threads, tenants, limits }),
    ...mcp.routes,
    metricsOf({ telemetry, store, threads, limiter, upstreams }),
  ]
  const named = conversationRoutes({ calls, conversations, now, ...around })
  const routes = withPages([...own, ...named, ...modelRoutes(calls, telemetry)], options.studio)
  return {
    api,
    routes,
    limits,
    via,
    store,
    threads,
    changes,
    events,
    overload,
    limiter,
    mcp,
    telemetry,
    calls,
    loading: loader(background, { settings: () => agents.load(), changes: () => changes.open() }),
  }
}

function listenerOf(
  telemetry: Telemetry,
  events: EventBus,
  sink: GatewayOptions['sink'],
): ConstructorParameters<typeof OpenThreads>[0]['on'] {
  return (tenant, event) => {
    telemetry.happened(tenant, event)
    sink?.event(tenant, event)
    events.publish({ tenant, type: event.type, data: event })
  }
}

function largeCallsOf(
  { offload, log = ignore }: GatewayOptions,
  { telemetry, events }: { readonly telemetry: Telemetry; readonly events: EventBus },
): LargeCalls | undefined {
  if (offload === undefined) return undefined
  return new LargeCalls(offload, {
    metric: ({ name, value, values }) => telemetry.meters.record(name, value, values),
    log,
    // The worker has counted it: here it is only told to whoever listens.
    event: ({ tenant, event }) => events.publish({ tenant, type: event.type, data: event }),
    failed: (error) => telemetry.background.failed('large-calls', error),
  })
}

function metricsOf(
  parts: Pick<Parts, 'telemetry' | 'store' | 'threads' | 'limiter'> & {
    readonly upstreams: readonly Upstream[]
  },
): Route {
  const { telemetry, store, threads, limiter, upstreams } = parts
  return metricsRoute({
    meters: telemetry.meters,
    store: store.name,
    openThreads: () => threads.size,
    reservedBytes: () => limiter.reservedBytes,
    upstreamLoads: () => upstreams.map(({ load }) => load),
  })
}

/** Delay between attempts to load. */
const reloadMs = 1000

/**
 * Loads on first use; the first requests wait for it. A failure does not fail them: loading is
 * retried in the background until it succeeds.
 */
function loader(
  background: Background,
  wanted: Partial<Record<BackgroundTask, () => Promise<void>>>,
): () => Promise<void> | undefined {
  let missing = Object.entries(wanted)
  let isFirst = true
  let loading: Promise<void> | undefined
  let lastAt = 0
  const load = async (): Promise<void> => {
    const failed: typeof missing = []
    const attempts = missing.map(async ([task, attempt]) => {
      try {
        await attempt()
      } catch (error) {
        failed.push([task, attempt])
        background.failed(task as BackgroundTask, error)
      }
    })
    await Promise.all(attempts)
    missing = failed
    lastAt = performance.now()
    loading = undefined
    isFirst = false
  }
  return () => {
    if (missing.length === 0) return undefined
    const isDue = isFirst || performance.now() - lastAt >= reloadMs
    if (loading === undefined && isDue) loading = load()
    return isFirst ? loading : undefined
  }
}

function settingsOf(options: GatewayOptions, agents: AgentRegistry): SettingsResolver {
  const { requestOverrides, ceilings, onInvalid, env = {}, policy = 'recommended' } = options
  return new SettingsResolver({
    requestOverrides,
    ceilings,
    onInvalid,
    env,
    defaults: policy,
    agents,
  })
}

function logOf(options: GatewayOptions, now: () => number): Log {
  const { log = ignore, logFormat: format = 'text' } = options
  const isListening = options.log !== undefined
  const hasRequests = isListening && (options.logRequests ?? format === 'json')
  return new Log({ write: log, format, hasRequests, now })
}

function modelRoutes(calls: Calls, telemetry: Telemetry): readonly Route[] {
  return [
    ...Object.values(providers).flatMap((provider) =>
      provider.request.paths.map(
        (path): Route => ({
          method: 'POST',
          path,
          access: 'key',
          summary: `A model call in the format ${provider.name}.`,
          isCall: true,
          handle: (context) =>
            calls.call(
              { ...context, observed: telemetry.begin(context.request, provider) },
              provider,
            ),
        }),
      ),
    ),
    ...Object.values(providers).flatMap((provider): readonly Route[] => {
      const { path } = provider.compaction ?? {}
      if (path === undefined) return []
      return [
        {
          ...{ method: 'POST', path, access: 'key', isCall: true },
          summary: `A compaction of a conversation in the format ${provider.name}.`,
          handle: (context) => calls.call({ ...context, isCompacting: true }, provider),
        },
      ]
    }),
    ...apiRoots.map(
      (root): Route => ({
        method: 'ALL',
        path: `${root}*`,
        access: 'key',
        summary: 'All other paths of the upstream, passed through unchanged.',
        isCall: true,
        handle: (context) => calls.pass(context),
      }),
    ),
  ]
}

function withPages(routes: readonly Route[], folder: string | undefined): readonly Route[] {
  const files = readStatic(folder)
  const page = (path: string): Route => ({
    method: 'GET',
    path,
    access: 'open',
    summary: 'The studio.',
    answer: 'text/html',
    handle: () => files.page(),
  })
  const description: Route = {
    method: 'GET',
    path: '/api/openapi.json',
    access: 'open',
    summary: 'This description.',
    answer: 'An OpenAPI document.',
    handle: () => json(describeApi(all, version)),
  }
  const all: readonly Route[] = [
    ...routes,
    description,
    ...['/', '/chat', '/memory', '/settings', '/threads', '/threads/:id'].map(page),
    {
      method: 'GET',
      path: '/assets/*',
      access: 'open',
      summary: 'Files of the studio.',
      handle: ({ url }) => {
        const file = files.file(url.pathname)
        if (file === undefined) throw refuse(404, 'not-found', 'Not found: no route has this path.')
        return file
      },
    },
  ]
  return all
}

/** The demo runs in-process, so this address is never contacted. */
const demo: UpstreamOptions = { name: 'demo', baseUrl: 'http://demo.invalid' }

function upstreamsOf(options: GatewayOptions, limits: Limits): readonly Upstream[] {
  const given = options.upstreams ?? []
  if (given.length > 0) return given.map((one) => createUpstream(one, limits))
  const { fetch } = createDemoUpstream()
  return [createUpstream({ ...demo, fetch }, limits)]
}

function summarizeOf(options: GatewayOptions, upstreams: readonly Upstream[], via: string) {
  const { summarizer } = options
  if (summarizer === undefined) return undefined
  const upstream = upstreams.find(({ name }) => name === summarizer.upstream)
  if (upstream !== undefined) {
    const isServed = (model: string): boolean => upstreamFor(upstreams, model) === upstream
    return createSummarize(summarizer, { upstream, via, isServed })
  }
  const message = `The summarizer names the upstream '${summarizer.upstream}', which is not configured.`
  throw new OrielError('invalid-option', message, { path: 'summarizer.upstream' })
}

function describe(
  options: GatewayOptions,
  upstreams: readonly Upstream[],
  settings: SettingsResolver,
): object {
  return {
    version,
    isDemo: (options.upstreams ?? []).length === 0,
    hasKeys: (options.keys ?? []).length > 0,
    isManaging: options.management ?? true,
    upstreams: upstreams.map(({ name }) => ({ name })),
    defaultPolicy: callerView(settings.base),
    requestOverrides: options.requestOverrides ?? 'allow',
  }
}
