// MCP handler, loaded at the first request: most gateways never need it, and it costs 0.1 s and 12
// MB.

import { createMcpHandler, type McpHttpHandler } from '@modelcontextprotocol/server'
import type { Caller } from '../http/auth.ts'
import { createThreadTools, type ThreadToolsOptions } from './thread-tools.ts'

/** Subscriptions to changes of the tool list, which never changes. */
const maxSubscriptions = 64

export function createHandler(
  options: ThreadToolsOptions & { readonly maxBytes: number },
): McpHttpHandler {
  return createMcpHandler(
    // Requests are authenticated before routing.
    ({ authInfo }) => createThreadTools(options, authInfo?.extra?.caller as Caller),
    { maxRequestBodySize: options.maxBytes, maxSubscriptions },
  )
}
