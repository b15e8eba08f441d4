// The Model Context Protocol at `/mcp`: JSON-RPC over HTTP without sessions, behind the same guards and limits as every other route.

import type { McpHttpHandler } from '@modelcontextprotocol/server'
import { isObject } from '../call/rewrite.ts'
import { refuse } from '../http/errors.ts'
import { boundedOutline, readBytes } from '../http/request.ts'
import type { HttpReply } from '../http/response.ts'
import type { Route, RouteContext } from '../http/router.ts'
import type { Limits } from '../options.ts'
import type { ThreadToolsOptions } from './thread-tools.ts'

export interface McpOptions extends ThreadToolsOptions {
  readonly limits: Limits
}

export interface Mcp {
  readonly routes: readonly Route[]
  /** Ends what is under way. */
  close(): Promise<void>
}

/** Arguments are short; a larger body is none of ours. */
const maxBytes = 1024 * 1024
/** Calls in one request; today's clients send one. */
const maxBatch = 20

export function createMcp(options: McpOptions): Mcp {
  let loading: Promise<McpHttpHandler> | undefined
  const load = async (): Promise<McpHttpHandler> => {
    try {
      const { createHandler } = await import('./handler.ts')
      return createHandler({ ...options, maxBytes })
    } catch (error) {
      // The next request tries again.
      loading = undefined
      throw error
    }
  }
  const handle = async (context: RouteContext): Promise<HttpReply> => {
    const { request, caller } = context
    const own = request.method === 'POST' ? await readMessage(context, options.limits) : request
    // The key itself stays behind.
    const authInfo = { token: '', clientId: caller.tenant, scopes: [], extra: { caller } }
    loading ??= load()
    const handler = await loading
    return untilRead(await handler.fetch(own, { authInfo }))
  }
  const route = (method: 'GET' | 'POST' | 'DELETE', summary: string, answer: string): Route => ({
    method,
    path: '/mcp',
    access: 'key',
    summary,
    answer,
    isCall: method === 'POST',
    handle,
  })
  return {
    routes: [
      route(
        'POST',
        'The Model Context Protocol: the tools expand_message, search_thread and read_thread.',
        'A JSON-RPC response, or text/event-stream.',
      ),
      route('GET', 'Answers 405: there are no sessions to listen to.', 'nothing'),
      route('DELETE', 'Answers 405: there are no sessions to end.', 'nothing'),
    ],
    close: async () => {
      // One that could not be loaded has nothing to end.
      const handler = await loading?.catch(() => undefined)
      await handler?.close()
    },
  }
}

/** The same answer as one that is under way until it has been read: the work may go on behind its first byte. */
function untilRead({ status, headers, body }: Response): HttpReply {
  const reader = body?.getReader()
  if (reader === undefined) return { status, headers, relayed: undefined }
  return {
    status,
    headers: new Headers(headers),
    relayed: {
      next: async () => (await reader.read()).value,
      cancel: () => void reader.cancel().catch(() => undefined),
    },
  }
}

/** The request with its body, read within the limits. What is wrong with the message itself is said in JSON-RPC, by the handler. */
async function readMessage(context: RouteContext, limits: Limits): Promise<Request> {
  const { request } = context
  const bodyBytes = Math.min(limits.bodyBytes, maxBytes)
  const bytes = await readBytes(context, { bodyBytes, bodyMs: limits.bodyMs })
  const text = Buffer.from(bytes).toString()
  boundedOutline(text, limits)
  if (batchSize(text) > maxBatch) {
    throw refuse(413, 'too-large', `The body holds more than ${maxBatch} calls.`)
  }
  const { method, headers, signal, url } = request
  return new Request(url, { method, headers, signal, body: withPlainNames(text) })
}

/** A name that is none is said back in an error: what is left of it is short and plain. */
const maxName = 64

/** The messages with the names of the tools that they call made plain. No tool of ours has another one. */
function withPlainNames(text: string): string {
  const value = parsed(text)
  let isChanged = false
  for (const message of Array.isArray(value) ? value : [value]) {
    const params = isObject(message) && isObject(message.params) ? message.params : undefined
    const name = params?.name
    if (params === undefined || typeof name !== 'string' || /^[\w.-]{0,64}$/.test(name)) continue
    Object.assign(params, { name: name.slice(0, maxName).replace(/[^\w.-]/g, '?') })
    isChanged = true
  }
  return isChanged ? JSON.stringify(value) : text
}

function batchSize(text: string): number {
  const value = /^\s*\[/.test(text) ? parsed(text) : undefined
  return Array.isArray(value) ? value.length : 1
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
