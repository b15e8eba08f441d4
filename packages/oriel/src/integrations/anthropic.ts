// Anthropic's SDK: a client whose messages are managed.

import { isObject, type JsonObject } from '../core/log/json.ts'
import type { Frame } from '../core/view/view.ts'
import { anthropic } from '../providers/anthropic/stream.ts'
import {
  type ClientLike,
  type Endpoint,
  type ManagedClientOptions,
  managedClient,
} from './managed-fetch.ts'

export type { ManagedClientOptions }

/**
 * The same client with its context managed: `messages`, with all helpers, streaming or not.
 *
 * - The model gets the view of the thread; send the whole history or only what is new.
 * - Answers and usage are recorded in the thread. After a context-length error a smaller view is sent, once.
 * - An answer that Anthropic paused (`pause_turn`) or that the request begins goes on in the thread; without a thread such requests pass
 *   unmanaged, as do those whose history Anthropic holds, counting, batches and everything else.
 * - A client that is managed already is refused: manage the one that it was made from.
 */
export function managed<C extends ClientLike<C>>(client: C, options: ManagedClientOptions): C {
  return managedClient(client, options, [messages])
}

const messages: Endpoint = {
  handles: (path, { messages: list, thread }, { isKept }) => {
    if (!path.endsWith('/v1/messages') || !Array.isArray(list)) return false
    const last: unknown = list.at(-1)
    const isBegun = isObject(last) && last.role === 'assistant'
    // One that ends with calls is no request: the provider says so.
    const canGoOn = !isBegun || (isKept && !hasCalls(last))
    return canGoOn && (thread ?? null) === null
  },
  read: (body) => ({
    format: 'anthropic',
    messages: Array.isArray(body.messages) ? body.messages : [],
    frame: frameOf(body),
    ...(typeof body.model === 'string' ? { model: body.model } : {}),
  }),
  write: (body, call) => ({
    ...body,
    messages: call.messages,
    ...(call.system === undefined || body.system !== undefined ? {} : { system: call.system }),
  }),
  provider: anthropic,
}

function hasCalls({ content }: Readonly<Record<string, unknown>>): boolean {
  return Array.isArray(content) && content.some((one) => isObject(one) && one.type === 'tool_use')
}

function frameOf({ system, tools, thinking, tool_choice: choice }: JsonObject): Frame {
  const params = {
    ...(thinking === undefined ? {} : { thinking }),
    ...(choice === undefined ? {} : { tool_choice: choice }),
  }
  return {
    ...(system === undefined ? {} : { system }),
    ...(Array.isArray(tools) ? { tools } : {}),
    ...(Object.keys(params).length === 0 ? {} : { params }),
  }
}
