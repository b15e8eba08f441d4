// Where a request of Chat Completions holds what. System text stands among the messages.

import type { JsonObject } from '../../core/log/json.ts'
import { frameOf, listAt, type RequestFormat } from '../provider.ts'

export const request: RequestFormat = {
  paths: ['/v1/chat/completions'],
  hasFreeRoot: true,
  keyHeader: 'authorization',
  list: (body) => listAt(body, 'messages') ?? [],
  history: (body) => listAt(body, 'messages'),
  frame: (body) => frameOf(body, { messages: 'messages', tools: 'tools' }),
  write: (body, { messages }) => ({ ...body, messages }),
  recognizes: (body) => listAt(body, 'messages') !== undefined,
  isStreaming: ({ stream }) => stream === true,
  maxTokens: (body) => body.max_completion_tokens ?? body.max_tokens,
  wantsReasoning: ({ reasoning }) => typeof reasoning === 'object' && reasoning !== null,
  isAmbiguous: ({ n = 1 }: JsonObject) => n !== 1,
  cacheKey: 'prompt_cache_key',
}
