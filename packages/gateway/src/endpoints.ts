// The three model endpoints: where each keeps its history, its frame, its answer and its numbers.

import type { Frame, Json, JsonObject, WireFormat } from 'oriel'
import { anthropicCollector } from './answers/anthropic.ts'
import { type Answer, type Collector, noteFacts, type ResponseFacts } from './answers/collector.ts'
import { chatCollector } from './answers/openai-chat.ts'
import { finishOf, responsesCollector } from './answers/openai-responses.ts'
import { isObject } from './rewrite.ts'

export interface Endpoint {
  readonly path: string
  readonly format: WireFormat
  /** The field of the body that holds the history. */
  readonly listKey: 'messages' | 'input'
  /** The conversation that the body carries; undefined where it does not carry all of it, so that nothing may be changed. */
  history(body: JsonObject): readonly Json[] | undefined
  frame(body: JsonObject): Frame
  /** What a whole answer says; undefined where it holds none that a client would send back. */
  answer(body: JsonObject): Answer | undefined
  collector(): Collector
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
  answer: ({ choices, usage, id, model }) => {
    const [choice, ...others] = Array.isArray(choices) ? choices : []
    const message = isObject(choice) ? choice.message : undefined
    const response = factsOf({ id, model, finish: isObject(choice) ? choice.finish_reason : null })
    if (!isObject(message) || others.length > 0) return usageOnly(usage, response)
    return { messages: [message], ...usageOf(usage), response }
  },
  collector: chatCollector,
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
  answer: (body) => {
    const { output, usage, status } = body
    const isWhole = Array.isArray(output) && output.length > 0 && status !== 'failed'
    const response = factsOf({ ...body, finish: finishOf(body) })
    if (!isWhole || status === 'queued' || status === 'in_progress') {
      return usageOnly(usage, response)
    }
    return { messages: output, ...usageOf(usage), response }
  },
  collector: responsesCollector,
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
  answer: ({ content, role, usage, id, model, stop_reason: finish }) => {
    const response = factsOf({ id, model, finish })
    if (!Array.isArray(content) || content.length === 0 || role !== 'assistant') {
      return usageOnly(usage, response)
    }
    return { messages: [{ role, content }], ...usageOf(usage), response }
  },
  collector: anthropicCollector,
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

function usageOf(usage: Json | undefined): { usage?: JsonObject } {
  return isObject(usage) ? { usage } : {}
}

function usageOnly(usage: Json | undefined, response: ResponseFacts): Answer | undefined {
  return isObject(usage) ? { messages: [], usage, response } : undefined
}

function factsOf(said: Parameters<typeof noteFacts>[1]): ResponseFacts {
  const facts = {}
  noteFacts(facts, said)
  return facts
}
