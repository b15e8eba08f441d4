// The official SDKs behind one face: ask with a history, get what was said. Streams are put together by the SDKs themselves.

import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import type { WireFormat } from 'oriel'
import { dialects, type Told, type ToolDefinition } from '../dialect.ts'

export interface SdkOptions {
  readonly url: string
  /** @default 'test-key' */
  readonly key?: string
  /** @default 0 */
  readonly maxRetries?: number
  readonly headers?: Readonly<Record<string, string>>
}

export interface AskOptions {
  readonly tools?: readonly ToolDefinition[]
  readonly isStream?: boolean
  readonly signal?: AbortSignal
  /** More fields of the body. */
  readonly extra?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string>>
  /** Called with each piece of text as it arrives. */
  readonly onText?: (text: string) => void
}

export interface Answer extends Told {
  /** The whole answer as the SDK gives it. */
  readonly whole: Readonly<Record<string, unknown>>
}

export type SdkClient = (history: readonly unknown[], options?: AskOptions) => Promise<Answer>

export function sdkClient(format: WireFormat, options: SdkOptions): SdkClient {
  const ask = format === 'anthropic' ? anthropicAsk(options) : openaiAsk(format, options)
  const dialect = dialects[format]
  return async (history, asked = {}) => {
    const { tools = [], extra = {} } = asked
    const whole = (await ask(
      { ...dialect.body(history, tools), ...extra },
      asked,
    )) as Answer['whole']
    return { ...dialect.read(whole), whole }
  }
}

type Ask = (body: Readonly<Record<string, unknown>>, options: AskOptions) => Promise<unknown>

// The bodies are the dialects': plain JSON, of which the SDKs' types know only a part.

function openaiAsk(format: 'openai-chat' | 'openai-responses', options: SdkOptions): Ask {
  const { url, key = 'test-key', maxRetries = 0, headers = {} } = options
  const client = new OpenAI({
    ...{ baseURL: `${url}/v1`, apiKey: key, maxRetries },
    defaultHeaders: headers,
  })
  return async (body, { isStream = false, signal, headers: more = {}, onText }) => {
    const requestOptions = { headers: more, ...(signal === undefined ? {} : { signal }) }
    if (format === 'openai-chat') {
      const params = body as unknown as OpenAI.ChatCompletionCreateParamsNonStreaming
      if (!isStream) return client.chat.completions.create(params, requestOptions)
      const stream = client.chat.completions.stream({ ...params, stream: true }, requestOptions)
      if (onText !== undefined) stream.on('content', onText)
      return stream.finalChatCompletion()
    }
    const params = body as unknown as OpenAI.Responses.ResponseCreateParamsNonStreaming
    if (!isStream) return client.responses.create(params, requestOptions)
    const stream = client.responses.stream({ ...params, stream: true }, requestOptions)
    if (onText !== undefined) stream.on('response.output_text.delta', ({ delta }) => onText(delta))
    return stream.finalResponse()
  }
}

function anthropicAsk(options: SdkOptions): Ask {
  const { url, key = 'test-key', maxRetries = 0, headers = {} } = options
  const client = new Anthropic({
    ...{ baseURL: url, apiKey: key, maxRetries },
    defaultHeaders: headers,
  })
  return async (body, { isStream = false, signal, headers: more = {}, onText }) => {
    const params = body as unknown as Anthropic.MessageCreateParamsNonStreaming
    const requestOptions = { headers: more, ...(signal === undefined ? {} : { signal }) }
    if (!isStream) return client.messages.create(params, requestOptions)
    const stream = client.messages.stream(params, requestOptions)
    if (onText !== undefined) stream.on('text', onText)
    return stream.finalMessage()
  }
}
