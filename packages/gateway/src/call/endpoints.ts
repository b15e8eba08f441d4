// The three model endpoints: where each keeps its history and its frame. How they answer is the provider's (oriel/providers).

import type { Frame, Json, JsonObject, WireFormat } from 'oriel'
import { type Provider, providers } from 'oriel/providers'
import { isObject } from './rewrite.ts'

export interface Endpoint {
  readonly path: string
  readonly format: WireFormat
  /** The field of the body that holds the history. */
  readonly listKey: 'messages' | 'input'
  /** The conversation that the body carries; undefined where it does not carry all of it, so that nothing may be changed. */
  history(body: JsonObject): readonly Json[] | undefined
  frame(body: JsonObject): Frame
  /** Reads the answers. */
  readonly provider: Provider
}

/** Fields that name a call or a caller, not what the model is asked: they would make every frame a new one. */
const volatile = new Set([
  'messages',
  'input',
  'model',
  'system',
  'instructions',
  'tools',
  'metadata',
  'client_metadata',
  'user',
  'safety_identifier',
  'session_id',
  'prompt_cache_key',
  'stream',
  'stream_options',
  'store',
  'oriel',
])

const chat: Endpoint = {
  path: '/v1/chat/completions',
  format: 'openai-chat',
  listKey: 'messages',
  history: (body) => listAt(body, 'messages'),
  frame: (body) => frameOf(body, undefined),
  provider: providers['openai-chat'],
}

const responses: Endpoint = {
  path: '/v1/responses',
  format: 'openai-responses',
  listKey: 'input',
  history: (body) => {
    const isHeld = ['previous_response_id', 'conversation', 'prompt'].some(
      (key) => body[key] !== undefined && body[key] !== null,
    )
    if (isHeld) return undefined
    if (typeof body.input === 'string') return [{ role: 'user', content: body.input }]
    const list = listAt(body, 'input')
    return list?.some((item) => isObject(item) && item.type === 'item_reference') ? undefined : list
  },
  frame: (body) => frameOf(body, body.instructions),
  provider: providers['openai-responses'],
}

const messages: Endpoint = {
  path: '/v1/messages',
  format: 'anthropic',
  listKey: 'messages',
  history: (body) => {
    // The provider keeps the history of a thread; what ends with calls is no request, and the provider says so.
    if (body.thread !== undefined && body.thread !== null) return undefined
    const list = listAt(body, 'messages')
    return endsWithCalls(list) ? undefined : list
  },
  frame: (body) => frameOf(body, body.system),
  provider: providers.anthropic,
}

export const endpoints: readonly Endpoint[] = [chat, responses, messages]

function endsWithCalls(list: readonly Json[] | undefined): boolean {
  const last = list?.at(-1)
  if (!isObject(last) || last.role !== 'assistant' || !Array.isArray(last.content)) return false
  return last.content.some((block) => isObject(block) && block.type === 'tool_use')
}

function listAt(body: JsonObject, key: string): readonly Json[] | undefined {
  const list = body[key]
  return Array.isArray(list) && list.length > 0 ? list : undefined
}

function frameOf(body: JsonObject, system: Json | undefined): Frame {
  const names = Object.keys(body).filter((key) => !volatile.has(key))
  return {
    ...(system === undefined || system === null ? {} : { system }),
    ...(body.tools === undefined || body.tools === null ? {} : { tools: body.tools }),
    ...(names.length === 0
      ? {}
      : { params: Object.fromEntries(names.map((name) => [name, body[name] as Json])) }),
  }
}
