// The surface of `oriel/providers`: how the answers of each provider are read. It needs nothing of Node, so that pages can use it too.

import { aiSdk } from './ai-sdk/stream.ts'
import { anthropic } from './anthropic/stream.ts'
import { openaiChat } from './openai-chat/stream.ts'
import { openaiResponses } from './openai-responses/stream.ts'
import type { Provider } from './stream.ts'

export { BlockPlaces } from './anthropic/stream.ts'
export { type ToolCall, ToolCalls } from './openai-chat/stream.ts'
export { OutputPlaces } from './openai-responses/stream.ts'
export type { Answer, AnswerStream, Provider, ResponseFacts } from './stream.ts'
export { endOfStream, parseEvent, parseObject } from './stream.ts'

/** The providers, by the message format that each speaks. */
export const providers = {
  'openai-chat': openaiChat,
  'openai-responses': openaiResponses,
  anthropic,
  'ai-sdk': aiSdk,
} as const satisfies Readonly<Record<string, Provider>>
