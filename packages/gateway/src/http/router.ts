// One table lists every route. Who may use it is a field of the route, checked before anything is routed.

import { type Context, Hono } from 'hono'
import { matchPath } from 'oriel/providers'
import type { z } from 'zod'
import type { Reservation } from '../limits/memory-budget.ts'
import type { Caller } from './auth.ts'
import { type HttpReply, toResponse } from './response.ts'

export interface RouteContext {
  readonly request: Request
  readonly url: URL
  readonly caller: Caller
  /** For the body of the request. */
  readonly room: Reservation
  /** Values of the path's `:name` parts. */
  param(name: string): string
}

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'ALL'
  /** For example `/api/threads/:id`, or of a model call `/models/{model}:generate`; `*` at the end stands for anything. */
  readonly path: string
  /** `open` needs no key: the page itself, and whether the server is up. */
  readonly access: 'open' | 'key'
  readonly summary: string
  /** Parameters of the address, with what they mean. */
  readonly query?: Readonly<Record<string, string>>
  /** The body, where it is the gateway's own. */
  readonly body?: z.ZodType
  /** What is answered with 200. */
  readonly answer?: string
  /** Whether each call counts against the limits on calls at the same time. */
  readonly isCall?: boolean
  handle(context: RouteContext): Promise<HttpReply> | HttpReply
}

interface Environment {
  readonly Bindings: Pick<RouteContext, 'caller' | 'url' | 'room'>
}

export interface Router {
  /** Whether a path may be asked for without a key. */
  isOpen(method: string, path: string): boolean
  handle(request: Request, bindings: Environment['Bindings']): Promise<HttpReply> | HttpReply
}

export function createRouter(routes: readonly Route[], notFound: () => Response): Router {
  const app = new Hono<Environment>()
  const patterned = routes.filter(({ path }) => path.includes('{'))
  for (const route of routes.filter((one) => !patterned.includes(one))) {
    const handle = async (context: Context<Environment>): Promise<Response> =>
      toResponse(
        await route.handle({
          request: context.req.raw,
          url: context.env.url,
          caller: context.env.caller,
          room: context.env.room,
          param: (name) => context.req.param(name) ?? '',
        }),
      )
    if (route.method === 'ALL') app.all(route.path, handle)
    else app.on(route.method, route.path, handle)
  }
  /** Model calls have fixed addresses and need nothing of a router. */
  const calls = new Map(
    routes
      .filter(
        ({ isCall, path, method }) => isCall === true && method !== 'ALL' && !path.includes(':'),
      )
      .map((route) => [`${route.method} ${route.path}`, route]),
  )
  app.notFound(() => notFound())
  app.onError((error) => {
    throw error
  })
  const open = routes
    .filter(({ access }) => access === 'open')
    .map(({ method, path }) => ({ method, pattern: patternOf(path) }))
  return {
    isOpen: (method, path) =>
      open.some((one) => (one.method === method || method === 'HEAD') && one.pattern.test(path)),
    handle: (request, { caller, url, room }) => {
      const call =
        calls.get(`${request.method} ${url.pathname}`) ??
        patterned.find(
          (one) => one.method === request.method && matchPath(one.path, url.pathname) !== undefined,
        )
      if (call === undefined) return app.fetch(request, { caller, url, room })
      return call.handle({ request, url, caller, room, param: noParam })
    },
  }
}

const noParam = (): string => ''

function patternOf(path: string): RegExp {
  const source = path
    .replace(/[.+?^${}()|[\]\\]/g, '\\$&')
    .replace(/:\w+/g, '[^/]+')
    .replace(/\*$/, '.*')
  return new RegExp(`^${source}$`)
}

export function json(value: unknown, status = 200): Response {
  return new Response(JSON.stringify(value), { status, headers: jsonHeaders })
}

/** An answer whose JSON text is written already. */
export function jsonBytes(bytes: Uint8Array<ArrayBuffer>): Response {
  return new Response(bytes, { headers: jsonHeaders })
}

const jsonHeaders = { 'content-type': 'application/json', 'cache-control': 'no-store' }
