// Telemetry facade: the one place that turns events into metrics, spans and log lines.

import { randomBytes } from 'node:crypto'
import type { ThreadEvent } from 'oriel'
import { isApiPath, type Provider, providerAt } from 'oriel/providers'
import {
  Background,
  type BackgroundTask,
  codeOf,
  framesOf,
  isBackgroundTask,
} from '../background.ts'
import { pathOf } from '../http/request.ts'
import type { HttpReply } from '../http/response.ts'
import type { TelemetrySink } from '../options.ts'
import { type RouteName, shedCodes } from './definitions.ts'
import type { Log, LogEvent, LogFields } from './log.ts'
import { Meters } from './meters.ts'
import { ObservedCall } from './observed-call.ts'

/** Rate limit of log lines per task and code. The metric counts every failure. */
const sayAgainMs = 1000
/** Stack frames logged for an uncaught error. */
const maxFrames = 8
/** Maximum remembered task and code pairs. Codes may come from foreign errors. */
const maxSaid = 1000

export interface Responded {
  readonly request: Request
  readonly reply: HttpReply
  readonly startedMs: number
  /** The gateway's error code, if it rejected the request. */
  readonly code?: string
  /** The code of an internal failure. */
  readonly kind?: string
}

export class Telemetry {
  readonly meters: Meters
  readonly log: Log
  /** Runs background tasks. */
  readonly background = new Background((task, error) =>
    this.#backgroundFailed(task, {
      code: codeOf(error),
      // Its origin is unknown, so log the stack.
      ...(task === 'process' ? { stack: framesOf(error).slice(0, maxFrames).join('\n') } : {}),
    }),
  )
  /** Calls without a response yet. */
  readonly #calls = new Map<Request, ObservedCall>()
  /** Calls by tenant and thread, to attribute thread events to their call. */
  readonly #threads = new Map<string, ObservedCall>()
  readonly #boot = randomBytes(4).toString('hex')
  #count = 0
  /** When a task and code was last logged. */
  readonly #saidAt = new Map<string, number>()

  constructor(log: Log, report?: TelemetrySink['metric']) {
    this.log = log
    this.meters = new Meters(report)
  }

  /** A model call began. */
  begin(request: Request, provider: Provider): ObservedCall {
    const call = new ObservedCall({
      request,
      provider,
      meters: this.meters,
      over: (one) => this.#over(request, one),
    })
    call.id = this.#nextId()
    this.#calls.set(request, call)
    return call
  }

  /** A request was answered, or its response started. */
  responded({ request, reply, startedMs, code, kind }: Responded): void {
    const { status } = reply
    const call = this.#calls.get(request)
    this.#calls.delete(request)
    // The worker thread has counted it.
    if (call?.isDelegated === true && code === undefined) return
    const route = call?.format ?? routeOf(request)
    // A client that disconnected got no status.
    const isLeft = code !== undefined && request.signal.aborted
    this.meters.record('requests', 1, [route, isLeft ? 'other' : classOf(status)])
    const isShed = shedCodes.some((one) => one === code)
    if (code !== undefined && isShed) this.meters.record('shed', 1, [code])
    if (code !== undefined && status >= 500 && !isShed && !isLeft) {
      this.meters.record('failures', 1, [code])
      const fields = { method: methodOf(request), route, status, code: kind ?? code }
      const text = `[gateway] ${fields.method} ${route}: ${status} ${code} (${fields.code})`
      this.log.write('error', 'failed', fields, text)
    }
    const id = call === undefined ? this.#nextId() : call.id
    if (id !== undefined) setHeader(reply, id)
    if (call !== undefined) {
      if (code === undefined) return
      if (isLeft) call.ended(0, 'client-left', 'client-left')
      else call.ended(status, 'refused', code)
      return
    }
    if (id === undefined) return
    const ms = performance.now() - startedMs
    this.#line({ request: id, method: methodOf(request), route, status, ms, code })
  }

  /** Counts a call that is rejected unread. False where requests are logged: then it must be answered in the usual way. */
  shed(path: string, code: string): boolean {
    if (this.log.hasRequests) return false
    this.meters.record('requests', 1, [providerAt(path)?.name ?? 'pass', '5xx'])
    this.meters.record('shed', 1, [code])
    return true
  }

  /** The thread of a call is known. */
  placed(tenant: string, call: ObservedCall): void {
    this.#leave(call)
    call.place = `${tenant}\0${call.thread}`
    this.#threads.set(call.place, call)
  }

  /** An event in a thread. */
  happened(tenant: string, event: ThreadEvent): void {
    const { meters } = this
    switch (event.type) {
      case 'message-expanded':
        meters.record('expansions', 1)
        break
      case 'cache-broken':
        meters.record('cacheBreaks', 1, [event.reason ?? 'unknown'])
        meters.record('tokensLost', event.tokensLost ?? 0, [event.reason ?? 'unknown'])
        break
      case 'compaction-ended':
        if ((event.tokensSaved ?? 0) > 0) {
          meters.record('compactions', 1, [event.trigger ?? 'other'])
        }
        break
      case 'recovery':
        meters.record('recoveries', 1)
        break
      case 'job-failed':
        this.#jobFailed(event)
        break
      default:
        return
    }
    this.#threads.get(`${tenant}\0${event.thread}`)?.happened(event)
  }

  warn(event: LogEvent, fields: LogFields, text: string): void {
    if (event === 'answer-unlogged') this.meters.record('unlogged', 1)
    if (event === 'answer-truncated') {
      this.meters.record('truncated', 1, [fields.code ?? 'other'])
    }
    this.log.write('warn', event, fields, text)
  }

  /** An internal failure that did not fail a request. */
  failed(route: RouteName, code: string): void {
    this.meters.record('failures', 1, [code])
    this.log.write('error', 'failed', { route, code }, `[gateway] ${route}: ${code}`)
  }

  /** Logs only the code, which has a closed set of values. */
  #jobFailed({ thread, id = '', error: code = 'job-failed' }: ThreadEvent): void {
    if (isBackgroundTask(id)) {
      this.#backgroundFailed(id, { code, thread })
      return
    }
    this.meters.record('jobsFailed', 1)
    this.log.write('warn', 'job-failed', { thread, code }, `[gateway] A job failed: ${code}`)
  }

  #backgroundFailed(
    task: BackgroundTask,
    fields: Pick<LogFields, 'code' | 'thread' | 'stack'>,
  ): void {
    this.meters.record('backgroundFailures', 1, [task])
    const { code } = fields
    // A store that is down fails the same task with every request.
    const now = performance.now()
    const saidAt = this.#saidAt.get(`${task}\0${code}`) ?? -Infinity
    if (now - saidAt < sayAgainMs) return
    this.#saidAt.set(`${task}\0${code}`, now)
    if (this.#saidAt.size > maxSaid) this.#saidAt.clear()
    const at = fields.stack ? `, at ${fields.stack.replaceAll('\n', ', at ')}` : ''
    const text = `[gateway] In the background (${task}): ${code}${at}`
    this.log.write('error', 'background-failed', { task, ...fields }, text)
  }

  #nextId(): string | undefined {
    if (!this.log.hasRequests) return undefined
    this.#count += 1
    return `${this.#boot}-${this.#count}`
  }

  #over(request: Request, call: ObservedCall): void {
    this.#leave(call)
    if (call.id === undefined) return
    const { id, format: route, status, ms, errorType: code, tokens } = call
    this.#line({
      request: id,
      method: methodOf(request),
      route,
      status,
      ms,
      thread: call.thread === '' ? undefined : call.thread,
      code,
      tokensBefore: tokens?.before,
      tokensAfter: tokens?.after,
    })
  }

  #leave(call: ObservedCall): void {
    if (this.#threads.get(call.place) === call) this.#threads.delete(call.place)
  }

  #line(fields: LogFields): void {
    const { method, route, status = 0, code } = fields
    const ms = Math.round((fields.ms ?? 0) * 10) / 10
    const text = `[gateway] ${method} ${route}: ${status} in ${ms} ms${code === undefined ? '' : ` (${code})`}`
    this.log.write('info', 'request', { ...fields, ms }, text)
  }
}

const methods = new Set(['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH'])

function methodOf({ method }: Request): string {
  return methods.has(method) ? method : 'other'
}

function classOf(status: number): string {
  return status >= 200 && status < 600 ? `${Math.floor(status / 100)}xx` : 'other'
}

/** The route label, from the path alone. */
function routeOf(request: Request): RouteName {
  const { method } = request
  const pathname = pathOf(request)
  const provider = method === 'POST' ? providerAt(pathname) : undefined
  if (provider !== undefined) return provider.name
  if (pathname === '/v1/preview') return 'preview'
  if (isApiPath(pathname)) return 'pass'
  if (pathname.startsWith('/api/')) return 'api'
  if (pathname === '/mcp') return 'mcp'
  if (pathname === '/metrics') return 'metrics'
  if (pathname === '/healthz') return 'health'
  return /^\/(?:$|chat$|threads|assets\/)/.test(pathname) ? 'page' : 'other'
}

function setHeader({ headers }: HttpReply, id: string): void {
  try {
    headers.set('x-oriel-request', id)
  } catch {
    // Headers of a fetched response are immutable.
  }
}
