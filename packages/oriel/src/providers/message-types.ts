// The messages of each format as types, so that a view passes to a provider's SDK as it is. Written here and not imported from the SDKs, so
// that programs without them compile; type tests pass them to the SDKs' own types.

import type { Json, JsonObject } from '../core/log/json.ts'
import type { FormatName } from './codecs.ts'

type ChatText = { type: 'text'; text: string }

/** A message of OpenAI's chat completions, and of all servers that speak the same. */
export type OpenAIChatMessage =
  | { role: 'system' | 'developer'; content: string | ChatText[]; name?: string }
  | {
      role: 'user'
      content:
        | string
        | (
            | ChatText
            | { type: 'image_url'; image_url: { url: string; detail?: 'auto' | 'low' | 'high' } }
          )[]
      name?: string
    }
  | {
      role: 'assistant'
      content?: string | ChatText[] | null
      name?: string
      tool_calls?: {
        id: string
        type: 'function'
        function: { name: string; arguments: string }
      }[]
    }
  | { role: 'tool'; tool_call_id: string; content: string | ChatText[] }

type AnthropicImage = {
  type: 'image'
  source:
    | {
        type: 'base64'
        media_type: 'image/jpeg' | 'image/png' | 'image/gif' | 'image/webp'
        data: string
      }
    | { type: 'url'; url: string }
}
type CacheControl = { cache_control?: { type: 'ephemeral'; ttl?: '5m' | '1h' } | null }
type AnthropicText = { type: 'text'; text: string } & CacheControl

/** A message of Anthropic's API. */
export type AnthropicMessage = {
  role: 'user' | 'assistant'
  content:
    | string
    | (
        | AnthropicText
        | (AnthropicImage & CacheControl)
        | { type: 'thinking'; thinking: string; signature: string }
        | { type: 'redacted_thinking'; data: string }
        | ({ type: 'tool_use'; id: string; name: string; input: Json } & CacheControl)
        | ({
            type: 'tool_result'
            tool_use_id: string
            content?: string | (AnthropicText | AnthropicImage)[]
            is_error?: boolean
          } & CacheControl)
      )[]
}

/** A content of Gemini's API. */
export type GeminiContent = {
  role?: string
  parts?: {
    text?: string
    thought?: boolean
    thoughtSignature?: string
    inlineData?: { mimeType?: string; data?: string }
    fileData?: { mimeType?: string; fileUri?: string }
    functionCall?: { id?: string; name?: string; args?: JsonObject }
    functionResponse?: { id?: string; name?: string; response?: JsonObject }
  }[]
}

/** Messages by format. What a format has no type for is JSON here. */
export interface MessageTypes {
  'openai-chat': OpenAIChatMessage
  'openai-responses': JsonObject
  anthropic: AnthropicMessage
  gemini: GeminiContent
  'ai-sdk': JsonObject
  langchain: Json
}

/** A message of a format; JSON where it is not known which. */
export type MessageOf<Format extends FormatName> = FormatName extends Format
  ? Json
  : MessageTypes[Format]
