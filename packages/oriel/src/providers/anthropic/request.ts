// Where a request of Anthropic's Messages holds what.

import { isJsonObject, type Json, type JsonObject } from '../../core/log/json.ts'
import { frameOf, isGiven, listAt, type RequestFormat } from '../provider.ts'

export const request: RequestFormat = {
  paths: ['/v1/messages'],
  keyHeader: 'x-api-key',
  list: (body) => listAt(body, 'messages') ?? [],
  history(body) {
    // The provider keeps the history of a thread; what ends with calls is no request, and the provider says so.
    const messages = isGiven(body.thread) ? undefined : listAt(body, 'messages')
    return messages !== undefined && endsWithCalls(messages) ? undefined : messages
  },
  frame: (body) => frameOf(body, { messages: 'messages', system: 'system', tools: 'tools' }),
  write: (body, { messages, system }) => ({
    ...body,
    messages,
    ...(system === undefined || body.system !== undefined ? {} : { system }),
  }),
  recognizes: ({ system, messages }) =>
    system !== undefined || /"type":"tool_(?:use|result)"/.test(JSON.stringify(messages ?? [])),
  isStreaming: ({ stream }) => stream === true,
  maxTokens: (body) => body.max_tokens,
  wantsReasoning: ({ thinking }) =>
    isJsonObject(thinking) && (thinking.type === 'enabled' || thinking.type === 'adaptive'),
  hasSystemNotes: true,
  joinSystem: (own, added) => [...textBlocks(own), ...textBlocks(added)],
  isBegun: (history) => isAssistant(history.at(-1)),
  joinBegun: (parts) => ({ role: 'assistant', content: parts.flatMap(blocksOf) }),
}

function endsWithCalls(messages: readonly Json[]): boolean {
  const last = messages.at(-1)
  if (!isAssistant(last) || !Array.isArray(last.content)) return false
  return last.content.some((block) => isJsonObject(block) && block.type === 'tool_use')
}

function isAssistant(message: Json | undefined): message is JsonObject {
  return isJsonObject(message) && message.role === 'assistant'
}

function blocksOf(message: Json): readonly Json[] {
  return isJsonObject(message) ? textBlocks(message.content) : []
}

function textBlocks(content: Json | undefined): readonly Json[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return Array.isArray(content) ? content : []
}
