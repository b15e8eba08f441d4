// MCP endpoint at `/mcp`: stateless JSON-RPC over HTTP, with the same guards and limits as every
// other route.

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
  /** Aborts active requests. */
  close(): Promise<void>
}

/** Arguments are short, so larger bodies are rejected. */
const maxBytes = 1024 * 1024
/** Maximum calls per batch. Current clients send one. */
const maxBatch = 20

export function createMcp(options: McpOptions): Mcp {
  let loading: Promise<McpHttpHandler> | undefined
  const load = async (): Promise<McpHttpHandler> => {
    try {
      const { createHandler } = await import('./handler.ts')
      return createHandler({ ...options, maxBytes })
    } catch (error) {
      // Let the next request retry.
      loading = undefined
      throw error
    }
  }
  const handle = async (context: RouteContext): Promise<HttpReply> => {
    const { request, caller } = context
    const own = request.method === 'POST' ? await readMessage(context, options.limits) : request
    // Do not pass the key itself.
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
      // Nothing to close if loading failed.
      const handler = await loading?.catch(() => undefined)
      await handler?.close()
    },
  }
}

/**
 * Keeps the call active until the response has been read: work may continue after the first byte.
 */
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

/**
 * Reads the body within the limits. The handler reports errors in the message itself as JSON-RPC
 * errors.
 */
async function readMessage(context: RouteContext, limits: Limits): Promise<Request> {
  const { request } = context
  const bodyBytes = Math.min(limits.bodyBytes, maxBytes)
  const bytes = await readBytes(context, { bodyBytes, bodyMs: limits.bodyMs })
  const text = Buffer.from(bytes).toString()
  boundedOutline(text, limits)
  if (batchSize(text) > maxBatch) {
    throw refuse(413, 'too-large', `The body has more than ${maxBatch} calls.`)
  }
  const { method, headers, signal, url } = request
  return new Request(url, { method, headers, signal, body: withPlainNames(text) })
}

/** Tool names are echoed in errors, so unknown ones are shortened and sanitized. */
const maxName = 64

/** Sanitizes the tool names in the messages. Names of real tools are unaffected. */
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
