// Router: one table of all routes. Each route declares its access, which is checked before routing.

import { type Context, Hono } from 'hono'
import { matchPath } from 'oriel/providers'
import type { z } from 'zod'
import type { Reservation } from '../limits/memory-budget.ts'
import type { Caller } from './auth.ts'
import { compressed } from './compress.ts'
import { type HttpReply, toResponse } from './response.ts'

export interface RouteContext {
  readonly request: Request
  readonly url: URL
  readonly caller: Caller
  /** Memory reservation for the request body. */
  readonly room: Reservation
  /** Value of a `:name` path parameter. */
  param(name: string): string
}

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'ALL'
  /** For example `/api/threads/:id`, or of a model call `/models/{model}:generate`; `*` at the end stands for anything. */
  readonly path: string
  /** `open` needs no key: the studio's files and the health check. */
  readonly access: 'open' | 'key'
  readonly summary: string
  /** Query parameters with their description. */
  readonly query?: Readonly<Record<string, string>>
  /** Schema of the request body, if it is the gateway's own. */
  readonly body?: z.ZodType
  /** Description of the 200 response. */
  readonly answer?: string
  /** Counts against the concurrency limits. */
  readonly isCall?: boolean
  handle(context: RouteContext): Promise<HttpReply> | HttpReply
}

interface Environment {
  readonly Bindings: Pick<RouteContext, 'caller' | 'url' | 'room'>
}

export interface Router {
  /** True if the path needs no key. */
  isOpen(method: string, path: string): boolean
  handle(request: Request, bindings: Environment['Bindings']): Promise<HttpReply> | HttpReply
}

export function createRouter(routes: readonly Route[], notFound: () => Response): Router {
  const app = new Hono<Environment>()
  const patterned = routes.filter(({ path }) => path.includes('{'))
  for (const route of routes.filter((one) => !patterned.includes(one))) {
    const handle = async (context: Context<Environment>): Promise<Response> => {
      const response = toResponse(
        await route.handle({
          request: context.req.raw,
          url: context.env.url,
          caller: context.env.caller,
          room: context.env.room,
          param: (name) => context.req.param(name) ?? '',
        }),
      )
      return route.isCall === true ? response : compressed(context.req.raw, response)
    }
    if (route.method === 'ALL') app.all(route.path, handle)
    else app.on(route.method, route.path, handle)
  }
  /** Model calls have fixed paths and skip the router. */
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

/** A response with already serialized JSON. */
export function jsonBytes(bytes: Uint8Array<ArrayBuffer>): Response {
  return new Response(bytes, { headers: jsonHeaders })
}

const jsonHeaders = { 'content-type': 'application/json', 'cache-control': 'no-store' }
