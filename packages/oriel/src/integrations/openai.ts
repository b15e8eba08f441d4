// OpenAI's SDK: a client whose chat completions and responses are managed. Works with every server that speaks the same.

import { isObject, type Json, type JsonObject } from '../core/log/json.ts'
import type { Frame } from '../core/view/view.ts'
import { openaiChat } from '../providers/openai-chat/stream.ts'
import { openaiResponses } from '../providers/openai-responses/stream.ts'
import {
  type ClientLike,
  type Endpoint,
  type ManagedClientOptions,
  managedClient,
} from './managed-fetch.ts'

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
  provider: openaiChat,
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
  provider: openaiResponses,
}

function isBare(item: unknown): boolean {
  return isObject(item) && item.type === 'reasoning' && (item.encrypted_content ?? null) === null
}

function isReference(item: unknown): boolean {
  return isObject(item) && item.type === 'item_reference'
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
