// Builders of provider messages for tests.

import type { JsonObject } from '../core/log/json.ts'

/** Input of a call builder. */
export interface BuiltCall {
  readonly id: string
  /** @default 'search' */
  readonly name?: string
  /** @default an empty object */
  readonly input?: JsonObject
}

/** OpenAI Chat Completions messages. */
export const chatMessage = {
  system: (text: string): JsonObject => ({ role: 'system', content: text }),
  user: (text: string): JsonObject => ({ role: 'user', content: text }),
  assistant: (text: string): JsonObject => ({ role: 'assistant', content: text }),
  calls: (...calls: readonly BuiltCall[]): JsonObject => ({
    role: 'assistant',
    content: null,
    tool_calls: calls.map(({ id, name = 'search', input = {} }) => ({
      id,
      type: 'function',
      function: { name, arguments: JSON.stringify(input) },
    })),
  }),
  result: (id: string, text: string): JsonObject => ({
    role: 'tool',
    tool_call_id: id,
    content: text,
  }),
} as const

/** Anthropic messages. System text is not a message. */
export const anthropicMessage = {
  user: (text: string): JsonObject => ({ role: 'user', content: text }),
  assistant: (text: string): JsonObject => ({ role: 'assistant', content: text }),
  calls: (...calls: readonly BuiltCall[]): JsonObject => ({
    role: 'assistant',
    content: calls.map(({ id, name = 'search', input = {} }) => ({
      type: 'tool_use',
      id,
      name,
      input,
    })),
  }),
  results: (...results: readonly { readonly id: string; readonly text: string }[]): JsonObject => ({
    role: 'user',
    content: results.map(({ id, text }) => ({
      type: 'tool_result',
      tool_use_id: id,
      content: text,
    })),
  }),
} as const

/** OpenAI Responses items. */
export const responsesItem = {
  system: (text: string): JsonObject => ({ role: 'system', content: text }),
  user: (text: string): JsonObject => ({ role: 'user', content: text }),
  assistant: (text: string): JsonObject => ({ role: 'assistant', content: text }),
  call: ({ id, name = 'search', input = {} }: BuiltCall): JsonObject => ({
    type: 'function_call',
    call_id: id,
    name,
    arguments: JSON.stringify(input),
  }),
  result: (id: string, text: string): JsonObject => ({
    type: 'function_call_output',
    call_id: id,
    output: text,
  }),
} as const

/** AI SDK messages. */
export const aiSdkMessage = {
  system: (text: string): JsonObject => ({ role: 'system', content: text }),
  user: (text: string): JsonObject => ({ role: 'user', content: text }),
  assistant: (text: string): JsonObject => ({ role: 'assistant', content: text }),
  calls: (...calls: readonly BuiltCall[]): JsonObject => ({
    role: 'assistant',
    content: calls.map(({ id, name = 'search', input = {} }) => ({
      type: 'tool-call',
      toolCallId: id,
      toolName: name,
      input,
    })),
  }),
  results: (...results: readonly { readonly id: string; readonly text: string }[]): JsonObject => ({
    role: 'tool',
    content: results.map(({ id, text }) => ({
      type: 'tool-result',
      toolCallId: id,
      toolName: 'search',
      output: { type: 'text', value: text },
    })),
  }),
} as const

/** LangChain messages as plain data that every chat model accepts. */
export const langchainMessage = {
  system: (text: string): JsonObject => ({ role: 'system', content: text }),
  user: (text: string): JsonObject => ({ role: 'user', content: text }),
  assistant: (text: string): JsonObject => ({ role: 'assistant', content: text }),
  calls: (...calls: readonly BuiltCall[]): JsonObject => ({
    role: 'assistant',
    content: '',
    tool_calls: calls.map(({ id, name = 'search', input = {} }) => ({
      name,
      args: input,
      id,
      type: 'tool_call',
    })),
  }),
  result: (id: string, text: string): JsonObject => ({
    role: 'tool',
    tool_call_id: id,
    content: text,
  }),
} as const

/** Contents of Gemini. Its system text is no content. */
export const geminiContent = {
  user: (text: string): JsonObject => ({ role: 'user', parts: [{ text }] }),
  model: (text: string): JsonObject => ({ role: 'model', parts: [{ text }] }),
  calls: (...calls: readonly BuiltCall[]): JsonObject => ({
    role: 'model',
    parts: calls.map(({ id, name = 'search', input = {} }) => ({
      functionCall: { id, name, args: input },
    })),
  }),
  results: (
    ...results: readonly { readonly id: string; readonly text: string; readonly name?: string }[]
  ): JsonObject => ({
    role: 'user',
    parts: results.map(({ id, text, name = 'search' }) => ({
      functionResponse: { id, name, response: { output: text } },
    })),
  }),
} as const
