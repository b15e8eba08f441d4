// Anthropic's SDK: a client whose messages are managed.

import { isObject, type JsonObject } from '../core/json.ts'
import type { Frame } from '../core/view.ts'
import { MessageListener } from './anthropic-stream.ts'
import {
  type ClientLike,
  type Endpoint,
  type ManagedClientOptions,
  managedClient,
  usageOf,
} from './managed-fetch.ts'

export type { ManagedClientOptions }

/**
 * The same client with its context managed: `messages`, with all helpers, streaming or not.
 *
 * - The model gets the view of the thread; send the whole history or only what is new.
 * - Answers and usage are recorded in the thread. After a context-length error a smaller view is sent, once.
 * - Requests that end with the beginning of the answer (a prefill, a turn that paused) or whose history Anthropic holds pass
 *   unmanaged, as do counting, batches and everything else.
 * - A client that is managed already is refused: manage the one that it was made from.
 */
export function managed<C extends ClientLike<C>>(client: C, options: ManagedClientOptions): C {
  return managedClient(client, options, [messages])
}

const messages: Endpoint = {
  handles: (path, { messages: list, thread }) => {
    if (!path.endsWith('/v1/messages') || !Array.isArray(list)) return false
    // A view ends with a user's message (A6): an answer that was begun would be lost in it.
    const last: unknown = list.at(-1)
    const isBegun = isObject(last) && last.role === 'assistant'
    return !isBegun && (thread ?? null) === null
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
  answer: ({ role, content, usage }) =>
    role === 'assistant' && Array.isArray(content)
      ? {
          messages: content.length === 0 ? [] : [{ role, content }],
          usage: usageOf(usage),
        }
      : undefined,
  listen: () => new MessageListener(),
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
