// OpenAI's SDK: a client whose chat completions and responses are managed. Works with every server that speaks the same.

import { isObject, type Json, type JsonObject } from '../core/json.ts'
import type { Frame } from '../core/view.ts'
import type { Answered } from './conversation.ts'
import {
  type ClientLike,
  type Endpoint,
  type Listener,
  type ManagedClientOptions,
  managedClient,
  usageOf,
} from './managed-fetch.ts'
import { ChatListener } from './openai-stream.ts'

export type { ManagedClientOptions }

/**
 * The same client with its context managed: `chat.completions` and `responses`, with all their helpers, streaming or not.
 *
 * - The model gets the view of the thread; send the whole history or only what is new.
 * - Answers and usage are recorded in the thread. After a context-length error a smaller view is sent, once.
 * - Requests of whose history OpenAI holds a part (`previous_response_id`, `conversation`, `prompt`, references to items) and several
 *   choices (`n`) pass unmanaged.
 * - A client that is managed already is refused: manage the one that it was made from.
 */
export function managed<C extends ClientLike<C>>(client: C, options: ManagedClientOptions): C {
  return managedClient(client, options, [chat, responses])
}

const chat: Endpoint = {
  handles: (path, { messages, n = 1 }) =>
    path.endsWith('/chat/completions') && Array.isArray(messages) && n === 1,
  read: (body) => ({
    format: 'openai-chat',
    messages: listOf(body.messages),
    frame: frameOf(body, ['tool_choice', 'response_format']),
    ...modelOf(body),
  }),
  write: (body, call) => ({ ...body, messages: call.messages }),
  answer: ({ choices, usage }) => {
    const choice = Array.isArray(choices) ? (choices[0] as Json) : undefined
    if (!isObject(choice) || !isObject(choice.message)) return undefined
    return { messages: [choice.message], usage: usageOf(usage) }
  },
  listen: () => new ChatListener(),
}

const responses: Endpoint = {
  handles: (path, { input, previous_response_id: previous, conversation, prompt }) =>
    path.endsWith('/responses') &&
    (typeof input === 'string' || (Array.isArray(input) && !input.some(isReference))) &&
    (previous ?? conversation ?? prompt ?? null) === null,
  read: (body) => ({
    format: 'openai-responses',
    messages:
      typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : listOf(body.input),
    frame: {
      ...frameOf(body, ['tool_choice', 'text', 'reasoning']),
      ...(typeof body.instructions === 'string' ? { system: body.instructions } : {}),
    },
    ...modelOf(body),
  }),
  write: (body, call) => ({
    ...body,
    // Nothing is kept there by its id, so only what came with its content can be sent back.
    input: body.store === false ? call.messages.filter((one) => !isBare(one)) : call.messages,
    ...(call.system === undefined || (body.instructions ?? null) !== null
      ? {}
      : { instructions: call.system }),
  }),
  answer: answeredResponse,
  listen: () => new ResponseListener(),
}

/** One that failed, or that goes on in the background, says nothing that can be sent back. */
function answeredResponse({ output, status, usage }: JsonObject): Answered | undefined {
  if (!Array.isArray(output)) return undefined
  const isWhole = !['failed', 'cancelled', 'queued', 'in_progress'].includes(String(status))
  return { messages: isWhole ? output : [], usage: usageOf(usage) }
}

function isBare(item: unknown): boolean {
  return isObject(item) && item.type === 'reasoning' && (item.encrypted_content ?? null) === null
}

function isReference(item: unknown): boolean {
  return isObject(item) && item.type === 'item_reference'
}

/** The last event of a stream holds the whole response. */
class ResponseListener implements Listener {
  #response: JsonObject | undefined

  get isOver(): boolean {
    return this.#response !== undefined
  }

  hear({ type, response }: JsonObject): void {
    const isLast = type === 'response.completed' || type === 'response.incomplete'
    if (isLast && isObject(response)) this.#response = response as JsonObject
  }

  answered(): Answered | undefined {
    return this.#response && answeredResponse(this.#response)
  }
}

function frameOf(body: JsonObject, settings: readonly string[]): Frame {
  const present = settings.filter((key) => (body[key] ?? null) !== null)
  const params = Object.fromEntries(present.map((key) => [key, body[key] as Json]))
  return {
    ...(Array.isArray(body.tools) ? { tools: body.tools } : {}),
    ...(present.length === 0 ? {} : { params }),
  }
}

function modelOf({ model }: JsonObject): { readonly model?: string } {
  return typeof model === 'string' ? { model } : {}
}

function listOf(value: Json | undefined): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
