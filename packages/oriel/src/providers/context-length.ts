// Whether an error says that the request was too long for the model. Rate limits and other refusals must never match.

import { isObject } from '../core/log/json.ts'
import { providers } from './registry.ts'

/** Wordings of the providers, and of servers that speak their APIs, lower-cased. Each has a fixture in the test. */
const phrases: readonly RegExp[] = [
  ...Object.values(providers).flatMap(({ errors }) => errors.contextLength),
  /exceeds? the (?:maximum )?(?:model'?s? )?(?:context|input) (?:length|window|limit)/,
  /input (?:length|token count|tokens?).{0,40}exceeds?.{0,60}(?:context|maximum|limit)/,
  /too many (?:input )?tokens in (?:the )?(?:prompt|request|input)/,
  /input is too long for requested model/,
  /validationexception.{0,40}input is too long/s,
  /context(?:window|length)?(?:overflow|exceeded)error/,
  /prompt exceeds max length/,
  /exceeds the available context size/,
  /greater than the context length/,
  /maximum prompt length/,
  /exceed(?:s|ed)? max context length/,
  /exceed_context_size_error/,
  /too many tokens: .{0,60}cannot exceed/,
]
/** Words that mean something else, whatever else the text says. */
const others =
  /rate.?limit|tokens per (?:minute|day|hour)|quota|too many requests|string too long|tool_call/

/** True for the errors by which providers refuse a request that is longer than the model's window, also inside other errors. */
export function isContextLengthError(error: unknown): boolean {
  const { status, text } = read(error)
  if (status === 429) return false
  const lower = text.toLowerCase()
  // Some limits per minute come as 413 too.
  if (others.test(lower)) return false
  if (status === 413) return true
  if (status !== undefined && (status < 400 || status >= 500)) return false
  return phrases.some((phrase) => phrase.test(lower))
}

/** The most of an error's text that is looked at. */
const inspectedLength = 4000
/** How many errors inside each other are looked at. */
const inspectedDepth = 6

function read(error: unknown): { status: number | undefined; text: string } {
  const texts: string[] = []
  let status: number | undefined
  let current: unknown = error
  for (let depth = 0; depth < inspectedDepth && isObject(current); depth++) {
    for (const key of ['name', 'code', 'type', 'message', 'responseBody', 'body']) {
      const value = current[key]
      if (typeof value === 'string') texts.push(value.slice(0, inspectedLength))
    }
    for (const key of ['status', 'statusCode']) {
      const value = current[key]
      if (typeof value === 'number') status ??= value
    }
    current = innerOf(current)
  }
  if (typeof current === 'string') texts.push(current.slice(0, inspectedLength))
  return { status, text: texts.join('\n') }
}

/** The error inside one. Of several attempts (AI_RetryError, AggregateError) the last: it is why they ended. */
function innerOf(error: Readonly<Record<string, unknown>>): unknown {
  const { errors } = error
  const last = Array.isArray(errors) ? (errors as readonly unknown[]).at(-1) : undefined
  return error.lastError ?? error.error ?? error.cause ?? last
}
