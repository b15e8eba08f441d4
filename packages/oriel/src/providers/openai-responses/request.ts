// Where a request of the Responses holds what. The provider may keep a part of the history, and a text stands for one message.

import { isJsonObject, type Json, type JsonObject } from '../../core/log/json.ts'
import { frameOf, isGiven, listAt, type RequestFormat } from '../provider.ts'

export const request: RequestFormat = {
  paths: ['/v1/responses'],
  hasFreeRoot: true,
  keyHeader: 'authorization',
  list,
  history(body) {
    const isHeld = ['previous_response_id', 'conversation', 'prompt'].some((key) =>
      isGiven(body[key]),
    )
    const items = isHeld ? undefined : itemsOf(body)
    return items?.some(isReference) ? undefined : items
  },
  frame: (body) => frameOf(body, { messages: 'input', system: 'instructions', tools: 'tools' }),
  write: (body, { messages, system }) => ({
    ...body,
    // Nothing is kept there by its id, so only what came with its content can be sent back.
    input: body.store === false ? messages.filter((one) => !isBare(one)) : messages,
    ...(system === undefined || isGiven(body.instructions) ? {} : { instructions: system }),
  }),
  recognizes: ({ input }) => input !== undefined,
  isStreaming: ({ stream }) => stream === true,
  maxTokens: (body) => body.max_output_tokens,
  wantsReasoning: ({ reasoning }) => isJsonObject(reasoning),
  cacheKey: 'prompt_cache_key',
  stored: {
    key: 'previous_response_id',
    isKept: ({ store }) => store !== false,
    conversations: {
      key: 'conversation',
      path: '/v1/conversations',
      prefix: 'conv_',
      idIn(value) {
        const id = isJsonObject(value) ? value.id : value
        return typeof id === 'string' ? id : undefined
      },
      answer: (id) => ({ conversation: { id } }),
    },
  },
}

function list(body: JsonObject): readonly Json[] {
  return itemsOf(body) ?? []
}

function itemsOf(body: JsonObject): readonly Json[] | undefined {
  const { input } = body
  return typeof input === 'string' ? [{ role: 'user', content: input }] : listAt(body, 'input')
}

/** An item that only its provider knows. */
function isReference(item: Json): boolean {
  return isJsonObject(item) && item.type === 'item_reference'
}

/** Reasoning without its content. */
function isBare(item: Json): boolean {
  return isJsonObject(item) && item.type === 'reasoning' && !isGiven(item.encrypted_content)
}
