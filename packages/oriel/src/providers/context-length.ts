// Whether an error says that the request was too long for the model, and the numbers that it names. Rate limits and other refusals must
// never match.

import { isObject } from '../core/log/json.ts'
import { providers } from './registry.ts'

/** Wordings of servers that speak the providers' APIs, lower-cased, with the groups of `ErrorFormat.contextLength`. */
const servers: readonly RegExp[] = [
  // vLLM; also as 500.
  /prompt \(?length (?:of )?(?<sent>[\d,]+)\)? is longer than the maximum model length of (?<limit>[\d,]+)/,
  /prompt \(total length (?<sent>[\d,]+)\) is too long to fit into the model \(context length (?<limit>[\d,]+)\)/,
  /maximum context length is (?<limit>[\d,]+) tokens and your request has (?<sent>[\d,]+) input tokens \((?<output>[\d,]+) >/,
  // SGLang and Together.
  /input \((?<sent>[\d,]+) tokens\) is longer than the model'?s context length \((?<limit>[\d,]+) tokens\)/,
  // TGI and Together.
  /`inputs` tokens \+ `max_new_tokens` must be <= (?<limit>[\d,]+)(?:\. given: (?<sent>[\d,]+) `inputs` tokens and (?<output>[\d,]+))?/,
  // llama.cpp.
  /request \((?<sent>[\d,]+) tokens\) exceeds the available context size \((?<limit>[\d,]+) tokens\)/,
  /exceeds the available context size/,
  /exceed_context_size_error/,
  // LM Studio.
  /keep the first (?<sent>[\d,]+) tokens when context the overflows\D{1,80}(?<limit>[\d,]+) tokens/,
  /tokens to keep from the initial prompt is greater than the context length/,
  // Ollama.
  /prompt too long; exceeded (?:max )?context length/,
  // Mistral.
  /contains (?<sent>[\d,]+) tokens.{1,80}with (?<limit>[\d,]+) maximum context length/,
  // xAI.
  /maximum prompt length is (?<limit>[\d,]+) but the request contains (?<sent>[\d,]+) tokens/,
  // Cerebras.
  /current length is (?<sent>[\d,]+) while limit is (?<limit>[\d,]+)/,
  // GitHub Copilot.
  /prompt token count of (?<sent>[\d,]+) exceeds the limit of (?<limit>[\d,]+)/,
  /max_prompt_tokens_exceeded/,
  // Moonshot.
  /exceeded model token limit: (?<limit>[\d,]+)(?: \(requested: (?<sent>[\d,]+)\))?/,
  // MiniMax.
  /context window exceeds limit/,
  // Alibaba's DashScope.
  /range of input length should be \[\d+, (?<limit>[\d,]+)\]/,
  // Zhipu.
  /prompt exceeds max length/,
  // Volcengine.
  /total tokens of image and text exceed max message tokens/,
  // Cohere.
  /too many tokens: .{0,60}cannot exceed (?<limit>[\d,]+)(?: - received (?<sent>[\d,]+))?/,
  // Fireworks and Poolside.
  /prompt is too long: (?<sent>[\d,]+), model maximum context length: (?<limit>[\d,]+)/,
  /input length (?<sent>[\d,]+) exceeds the maximum allowed input length of (?<limit>[\d,]+)/,
  // DS4.
  /prompt has (?<sent>[\d,]+) tokens?, but the configured context size is (?<limit>[\d,]+)/,
  // Cloudflare's Workers AI.
  /tokens \((?<sent>[\d,]+)\) exceeded this model context window limit \((?<limit>[\d,]+)\)/,
  // Bedrock.
  /input is too long for requested model/,
  /validationexception.{0,40}input is too long/,
  /number of input tokens exceeds maximum length/,
  // LiteLLM and LangChain, by name.
  /context(?:window|length)?(?:overflow|exceeded)error/,
  // Others.
  /exceeds? the (?:maximum )?(?:model'?s? )?(?:context|input) (?:length|window|limit)/,
  /too many (?:input )?tokens in (?:the )?(?:prompt|request|input)/,
]

const phrases: readonly RegExp[] = [
  ...servers,
  ...Object.values(providers).flatMap(({ errors }) => errors.contextLength),
]
/** Wordings of servers that answer with 500 where the client is at fault. */
const serverErrors = servers.slice(0, 2)
/** Words that mean something else, whatever else the text says. */
const others =
  /rate.?limit|tokens per (?:min|day|hour)|quota|too many requests|throttl|string too long|tool_call/

/** True for the errors by which providers refuse a request that is longer than the model's window, also inside other errors. */
export function isContextLengthError(error: unknown): boolean {
  const { status, text } = read(error)
  if (status === 429) return false
  // Some limits per minute come as 413 too.
  if (others.test(text)) return false
  if (status === 413) return true
  if (status !== undefined && status < 400) return false
  const known = status !== undefined && status >= 500 ? serverErrors : phrases
  return known.some((phrase) => phrase.test(text))
}

/** What a context-length error says of the request. */
export interface ContextLengthNumbers {
  /** Tokens of the request. */
  readonly sent?: number
  /** Tokens that a request may have, without those that it asks for the answer. */
  readonly limit?: number
}

/** The numbers that a context-length error names. */
export function contextLengthNumbers(error: unknown): ContextLengthNumbers {
  const { text } = read(error)
  for (const phrase of phrases) {
    const { limit, sent, output } = phrase.exec(text)?.groups ?? {}
    if (limit === undefined) continue
    const most = numberOf(limit) - (output === undefined ? 0 : numberOf(output))
    return { limit: most, ...(sent === undefined ? {} : { sent: numberOf(sent) }) }
  }
  return {}
}

function numberOf(digits: string): number {
  return Number(digits.replaceAll(',', ''))
}

/** The most of an error's text that is looked at. */
const inspectedLength = 4000
/** Longer bodies are not parsed. */
const parsedLength = 100_000
/** How many errors inside each other are looked at. */
const inspectedDepth = 8

/** The status and the words of an error, lower-cased. What it quotes is left out: that may be the user's own text. */
function read(error: unknown): { status: number | undefined; text: string } {
  const texts: string[] = []
  let status: number | undefined
  let current: unknown = error
  for (let depth = 0; depth < inspectedDepth && current !== undefined; depth++) {
    if (typeof current === 'string') {
      const body = parsed(current)
      if (body === undefined) texts.push(current)
      current = body
      continue
    }
    if (Array.isArray(current)) {
      current = (current as readonly unknown[]).at(-1)
      continue
    }
    if (!isObject(current)) break
    for (const key of ['status', 'statusCode']) {
      const value = current[key]
      if (typeof value === 'number') status ??= value
    }
    for (const key of ['name', 'code', 'type', 'message', 'msg']) {
      const value = current[key]
      if (typeof value === 'string' && parsed(value) === undefined) texts.push(value)
    }
    current = innerOf(current)
  }
  return { status, text: texts.map(wordsOf).join(' ') }
}

const quoted = /"[^"\n]*"|`[^`\n]*`|(?<![\p{L}\p{N}])'[^'\n]*'(?![\p{L}\p{N}])/gu

/** Quoted names stay: they are the provider's own. */
function wordsOf(text: string): string {
  const short = text.slice(0, inspectedLength).toLowerCase()
  return short.replace(quoted, (part) => (/\s/.test(part) ? ' ' : part)).replace(/\s+/g, ' ')
}

/** The JSON that a text is, or ends with: SDKs put the status in front of the body. */
function parsed(text: string): unknown {
  const start = text.search(/[{[]/)
  if (start === -1 || text.length > parsedLength) return undefined
  try {
    const value: unknown = JSON.parse(text.slice(start))
    const body = Array.isArray(value) ? (value as readonly unknown[]).at(-1) : value
    return isObject(body) ? body : undefined
  } catch {
    return undefined
  }
}

/** The error inside one. Of several attempts (AI_RetryError, AggregateError) the last: it is why they ended. */
function innerOf(error: Readonly<Record<string, unknown>>): unknown {
  const { errors, message, detail } = error
  const last = (list: unknown): unknown =>
    Array.isArray(list) ? (list as readonly unknown[]).at(-1) : undefined
  const inner = error.lastError ?? error.error ?? error.cause ?? last(errors)
  if (inner !== undefined && inner !== null) return inner
  const bodies = [error.responseBody, error.body, last(detail) ?? detail]
  const body = bodies.find((value) => typeof value === 'string' || isObject(value))
  if (body !== undefined) return body
  return typeof message === 'string' && parsed(message) !== undefined ? message : undefined
}
