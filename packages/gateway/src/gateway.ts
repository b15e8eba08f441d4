// The gateway as one function from request to response.

import { randomBytes } from 'node:crypto'
import { memoryStore, OrielError, type Store } from 'oriel'
import { AgentBook } from './agents.ts'
import { refusalOf, refusalResponse, refuse } from './answer-errors.ts'
import { agentRoutes } from './api/agent-routes.ts'
import { ownRoutes } from './api/own-routes.ts'
import { threadRoutes } from './api/thread-routes.ts'
import { Calls } from './calls.ts'
import { Changes } from './changes.ts'
import { createDemoUpstream } from './demo/demo-upstream.ts'
import { endpoints } from './endpoints.ts'
import { Families } from './families.ts'
import { guard } from './guard.ts'
import { Hub } from './hub.ts'
import { createAuthenticate } from './keys.ts'
import { describeApi } from './openapi.ts'
import { defaultLimits, type GatewayOptions, type Limits, type UpstreamOptions } from './options.ts'
import { type Reply, toResponse } from './reply.ts'
import { createRouter, json, type Route } from './routes.ts'
import { Sessions } from './sessions.ts'
import { Settings } from './settings.ts'
import { readStatic } from './static-files.ts'
import { createSummarize } from './summarizer.ts'
import { Tenants } from './tenants.ts'
import { ThreadIndex } from './thread-index.ts'
import { Turnstile } from './turnstile.ts'
import { createUpstream, type Upstream } from './upstream.ts'
import { version } from './version.ts'

export interface Gateway {
  /** Answers any request; never rejects. */
  fetch(request: Request): Promise<Response>
  /** As `fetch`, for servers that write to a connection themselves. */
  reply(request: Request): Promise<Reply>
  /** Every route, for documentation and tests. */
  readonly routes: readonly Route[]
  readonly store: Store
  /** Whether callers need a key. */
  readonly hasKeys: boolean
  readonly limits: Limits
  /** Resolves when everything that calls had to log is logged. */
  settled(): Promise<void>
  /** Waits for what is under way, then closes the store if the gateway made it. */
  close(): Promise<void>
}

/** An HTTP handler that manages the context of the model calls that pass through it. Wrong options throw at once. */
export function createGateway(options: GatewayOptions = {}): Gateway {
  const parts = assemble(options)
  const { routes, limits, via, store, families, threads } = parts
  const { keys = [], hosts = [], origins = [], log = () => {} } = options
  const authenticate = createAuthenticate(keys)
  const notFound = (): Response =>
    json({ error: { code: 'not-found', message: 'There is nothing here.' } }, 404)
  const router = createRouter(routes, notFound)
  const turnstile = new Turnstile(limits)
  const answer = async (request: Request): Promise<Reply> => {
    guard(request, { hosts, origins, via })
    const url = new URL(request.url)
    const caller = authenticate(request.headers)
    if (caller === undefined && !router.isOpen(request.method, url.pathname)) {
      throw refuse(401, 'unauthorized', 'A valid key is needed.')
    }
    const known = caller ?? { tenant: '', isAdmin: false, mayOverride: false, keyHeaders: [] }
    await parts.ready()
    return turnstile.pass(known.tenant, url.pathname, () =>
      router.handle(request, { caller: known, url }),
    )
  }
  const reply = async (request: Request): Promise<Reply> => {
    try {
      return await answer(request)
    } catch (error) {
      return failed(request, error, log)
    }
  }
  return {
    routes,
    store,
    limits,
    hasKeys: keys.length > 0,
    reply,
    fetch: async (request) => toResponse(await reply(request)),
    settled: () => families.settled(),
    async close() {
      await families.settled()
      await threads.settled()
      await parts.changes.close()
      if (options.store === undefined) await store.close()
    },
  }
}

/** A failure as a response. Only codes are logged: messages of others may hold content. */
function failed(request: Request, error: unknown, log: (line: string) => void): Response {
  const { pathname } = new URL(request.url)
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const isNetwork = /^E[A-Z]+$|^UND_ERR|^HPE_|^CERT_|^DEPTH_ZERO|^ERR_TLS/.test(code)
  const isLeft = request.signal.aborted
  const refusal =
    isNetwork || isLeft
      ? {
          status: 502,
          code: 'upstream-failed',
          message: 'The upstream could not be reached, or broke off before it answered.',
        }
      : refusalOf(error)
  if (refusal.status >= 500 && !isLeft) {
    const kind = OrielError.is(error)
      ? error.code
      : code || (error instanceof Error ? error.name : 'unknown')
    log(
      `[gateway] ${request.method} ${pathname.startsWith('/v1/') ? pathname.slice(0, 40) : '/api'}: ${refusal.status} ${refusal.code} (${kind})`,
    )
  }
  return refusalResponse(pathname, refusal)
}

interface Parts {
  readonly routes: readonly Route[]
  readonly limits: Limits
  readonly via: string
  readonly store: Store
  readonly families: Families
  readonly threads: Families
  readonly changes: Changes
  ready(): Promise<void>
}

function ignore(): void {}

function assemble(options: GatewayOptions): Parts {
  const { store = memoryStore(), now = Date.now, log = () => {}, agents: templates = {} } = options
  const limits = { ...defaultLimits, ...options.limits }
  const via = `1.1 oriel-${randomBytes(6).toString('hex')}`
  const hub = new Hub()
  const agents = new AgentBook(templates, store)
  const { requestOverrides, ceilings, onInvalid } = options
  const settings = new Settings({
    requestOverrides,
    ceilings,
    onInvalid,
    env: options.env ?? {},
    defaults: options.policy ?? 'recommended',
    agents,
  })
  const upstreams = upstreamsOf(options, limits)
  const summarize = summarizeOf(options, upstreams, via)
  const on: ConstructorParameters<typeof Families>[0]['on'] = (tenant, event) =>
    hub.tell({ tenant, type: event.type, data: event })
  const changes = new Changes(store, hub)
  const changed = (tenant: string, thread: string): void => changes.tell(tenant, thread)
  const shared = { store, policy: settings.base, tokens: options.tokens, now, log }
  const families = new Families({ ...shared, summarize, on })
  const threads = new Families({ ...shared, policy: undefined, summarize, on })
  const tenants = new Tenants(store)
  const sessions = new Sessions(families, new ThreadIndex(store), now)
  const isManaging = options.management ?? true
  const calls = new Calls({
    sessions,
    settings,
    upstreams,
    limits,
    via,
    isManaging,
    hasExpansion: options.expand ?? false,
    log,
    changed,
    tenants,
    now,
  })
  const info = (): object => describe(options, upstreams, settings)
  let loading: Promise<void> | undefined
  const own = [
    ...agentRoutes({ agents, limits }),
    ...ownRoutes({ calls, sessions, settings, agents, hub, limits, now, info, store }),
    ...threadRoutes({
      store,
      families: threads,
      tenants,
      limits,
      changed,
      quiet: (tenant) => families.quiet(tenant),
      erased: (tenant, thread) => families.forget(tenant, thread),
    }),
  ]
  const routes = withPages([...own, ...modelRoutes(calls)], options.studio)
  return {
    routes,
    limits,
    via,
    store,
    families,
    threads,
    changes,
    ready: () => (loading ??= Promise.all([agents.load(), changes.open()]).then(ignore, ignore)),
  }
}

function modelRoutes(calls: Calls): readonly Route[] {
  return [
    ...endpoints.map(
      (endpoint): Route => ({
        method: 'POST',
        path: endpoint.path,
        access: 'key',
        summary: `A model call in the format ${endpoint.format}.`,
        isCall: true,
        handle: (context) => calls.call(context, endpoint),
      }),
    ),
    {
      method: 'ALL',
      path: '/v1/*',
      access: 'key',
      summary: 'Everything else of the upstream, as it is.',
      isCall: true,
      handle: (context) => calls.pass(context),
    },
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
    ...['/', '/chat', '/threads', '/threads/:id'].map(page),
    {
      method: 'GET',
      path: '/assets/*',
      access: 'open',
      summary: 'Files of the studio.',
      handle: ({ url }) => {
        const file = files.file(url.pathname)
        if (file === undefined) throw refuse(404, 'not-found', 'There is nothing here.')
        return file
      },
    },
  ]
  return all
}

/** The demo answers in the same process; its address is never asked for. */
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
  if (upstream !== undefined) return createSummarize(summarizer, upstream, via)
  const message = `The summarizer names the upstream '${summarizer.upstream}', which is not configured.`
  throw new OrielError('invalid-option', message, { path: 'summarizer.upstream' })
}

function describe(
  options: GatewayOptions,
  upstreams: readonly Upstream[],
  settings: Settings,
): object {
  return {
    version,
    isDemo: (options.upstreams ?? []).length === 0,
    hasKeys: (options.keys ?? []).length > 0,
    isManaging: options.management ?? true,
    upstreams: upstreams.map(({ name }) => ({ name })),
    defaultPolicy: settings.base,
    requestOverrides: options.requestOverrides ?? 'allow',
  }
}
