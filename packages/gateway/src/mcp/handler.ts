// The handler of the protocol. Loaded at the first request: most gateways never get one, and it costs a tenth of a second and 12 MB.

import { createMcpHandler, type McpHttpHandler } from '@modelcontextprotocol/server'
import type { Caller } from '../http/auth.ts'
import { createThreadTools, type ThreadToolsOptions } from './thread-tools.ts'

/** Clients that listen for changes of the list of tools, which has none. */
const maxSubscriptions = 64

export function createHandler(
  options: ThreadToolsOptions & { readonly maxBytes: number },
): McpHttpHandler {
  return createMcpHandler(
    // Every request has been authenticated before it was routed.
    ({ authInfo }) => createThreadTools(options, authInfo?.extra?.caller as Caller),
    { maxRequestBodySize: options.maxBytes, maxSubscriptions },
  )
}
