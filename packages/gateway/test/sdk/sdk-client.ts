// The official SDKs behind one face: ask with a history, get what was said. Streams are put together by the SDKs themselves.

import Anthropic from '@anthropic-ai/sdk'
import { type Content, type GenerateContentResponse, GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import type { Thread, WireFormat } from 'oriel'
import { managed as managedAnthropic } from 'oriel/anthropic'
import { managed as managedOpenAI } from 'oriel/openai'
import { dialects, type Told, type ToolDefinition } from '../dialect.ts'

export interface SdkOptions {
  readonly url: string
  /** @default 'test-key' */
  readonly key?: string
  /** @default 0 */
  readonly maxRetries?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Manages the client in the process, without a gateway. @default not managed */
  readonly thread?: Thread
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
  const ask = askWith(format, options)
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

function askWith(format: WireFormat, options: SdkOptions): Ask {
  if (format === 'anthropic') return anthropicAsk(options)
  return format === 'gemini' ? geminiAsk(options) : openaiAsk(format, options)
}

type Ask = (body: Readonly<Record<string, unknown>>, options: AskOptions) => Promise<unknown>

// The bodies are the dialects': plain JSON, of which the SDKs' types know only a part.

function openaiAsk(format: 'openai-chat' | 'openai-responses', options: SdkOptions): Ask {
  const { url, key = 'test-key', maxRetries = 0, headers = {} } = options
  const plainClient = new OpenAI({
    ...{ baseURL: `${url}/v1`, apiKey: key, maxRetries },
    defaultHeaders: headers,
  })
  const { thread } = options
  const client = thread === undefined ? plainClient : managedOpenAI(plainClient, { thread })
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
  const plainClient = new Anthropic({
    ...{ baseURL: url, apiKey: key, maxRetries },
    defaultHeaders: headers,
  })
  const { thread } = options
  const client = thread === undefined ? plainClient : managedAnthropic(plainClient, { thread })
  return async (body, { isStream = false, signal, headers: more = {}, onText }) => {
    const params = body as unknown as Anthropic.MessageCreateParamsNonStreaming
    const requestOptions = { headers: more, ...(signal === undefined ? {} : { signal }) }
    if (!isStream) return client.messages.create(params, requestOptions)
    const stream = client.messages.stream(params, requestOptions)
    if (onText !== undefined) stream.on('text', onText)
    return stream.finalMessage()
  }
}

/** It puts no stream together, except for its chats: they keep the contents of all pieces in a row. */
function geminiAsk(options: SdkOptions): Ask {
  const { url, key = 'test-key', maxRetries = 0, headers = {} } = options
  const retryOptions = { attempts: maxRetries + 1 }
  const client = new GoogleGenAI({
    apiKey: key,
    httpOptions: { baseUrl: url, headers, retryOptions },
  })
  return async (body, { isStream = false, signal, headers: more = {}, onText }) => {
    const { contents, ...extraBody } = body
    const params = {
      model: 'gemini-demo',
      contents: contents as Content[],
      config: {
        httpOptions: { headers: { ...headers, ...more }, extraBody },
        ...(signal === undefined ? {} : { abortSignal: signal }),
      },
    }
    if (!isStream) return plain(await client.models.generateContent(params))
    const chunks: Readonly<Record<string, unknown>>[] = []
    const pieces: Content[] = []
    for await (const chunk of await client.models.generateContentStream(params)) {
      const { content } = chunk.candidates?.[0] ?? {}
      if (content !== undefined) pieces.push(content)
      if (onText !== undefined && chunk.text !== undefined) onText(chunk.text)
      chunks.push(plain(chunk))
    }
    const last = chunks.at(-1) ?? {}
    const [candidate] = (last.candidates ?? []) as readonly object[]
    const parts = pieces.flatMap((piece) => piece.parts ?? [])
    return { ...last, candidates: [{ ...candidate, content: { role: 'model', parts } }], pieces }
  }
}

/** Without the headers of the answer. */
function plain(response: GenerateContentResponse): Readonly<Record<string, unknown>> {
  const { sdkHttpResponse: _headers, ...rest } = JSON.parse(JSON.stringify(response)) as Record<
    string,
    unknown
  >
  return rest
}
