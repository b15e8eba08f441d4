// What a host's `summarize` answers, and when it cannot be used at all.

import { OrielError } from '../../core/log/errors.ts'
import { isObject, type JsonObject } from '../../core/log/json.ts'
import type { FormatName } from '../../providers/format.ts'

/** A summary as a host may answer it. */
export type SummaryResult =
  | string
  | {
      readonly summary: string
      /** Why the model stopped, in the provider's word: an answer that was cut off is not used. */
      readonly finishReason?: string
      /** Whether the model was asked with the job's `request`: then it has read the whole conversation. @default false */
      readonly isAligned?: boolean
    }

/**
 * Finish reasons of completions that are not whole: `length`, `max_tokens`, `content_filter`, `SAFETY`, `tool_use`, `pause_turn` and
 * the like. A list of good ones would refuse every server that has a word of its own for "done".
 */
const notWhole =
  /length|max.*tokens|token.*limit|context_window|incomplete|filter|refus|safety|recitation|prohibited|blocklist|spii|guardrail|tool|function|malformed|pause|error|fail|cancel|abort/

/** Longer answers than this are a mistake, whatever was asked for: they are not even looked at. */
const maxAnswer = 1_000_000
/** Characters around a JSON object that still are a wrapper ("Here is the summary: ..."). Beyond them it is a text that quotes JSON. */
const maxWrapper = 200
/** JSON inside JSON, as hosts make it that hand on what they get. */
const maxNesting = 3

/**
 * The summary in an answer: a plain text, or a whole `{ summary }`, also fenced or with a few words around it. Throws 'job-failed' for
 * everything else: an error, JSON that is cut off or ambiguous, a tool call, a completion that did not end by itself, nothing. Where
 * several summaries were asked for, each part is read by `readText`.
 */
export function readAnswer(answer: unknown, { isSeveral = false } = {}): string {
  const result: unknown = typeof answer === 'string' ? { summary: answer } : answer
  if (!isObject(result) || typeof result.summary !== 'string') {
    throw rejected('is neither a text nor { summary }')
  }
  if (isFailure(result)) throw rejected('comes with an error or a refusal')
  const reason = typeof result.finishReason === 'string' ? result.finishReason.toLowerCase() : ''
  if (notWhole.test(reason.replaceAll('-', '_'))) {
    const word = /^[\w-]{1,40}$/.test(reason) ? ` (${reason})` : ''
    throw rejected(`is not complete${word}`)
  }
  return readText(result.summary.slice(0, maxAnswer).toWellFormed(), { isSeveral })
}

/** The same for a text alone, such as one of several summaries in an answer. */
export function readText(text: string, { isSeveral = false, nesting = 0 } = {}): string {
  const bare = unfenced(text.trim())
  if (isToolCall(bare)) throw rejected('is a tool call')
  if (isSeveral && partMark.test(bare)) return bare
  const inner = nesting < maxNesting ? summaryIn(bare) : undefined
  if (inner !== undefined) return readText(inner, { isSeveral, nesting: nesting + 1 })
  // Placeholders of hosts that had no text to hand on.
  if (/^(?:null|undefined|true|false|\[object \w+\])$/i.test(bare)) throw rejected('is no text')
  if (!/[\p{L}\p{N}]/u.test(bare)) throw rejected('is empty')
  return bare
}

/** The line before each of several summaries. */
export const partMark = /^ {0,3}(?:[#*]{1,4} ?)?={3} *(\d{1,3}) *={3}[* ]*$/m

export function rejected(why: string): OrielError {
  const message = `The summary ${why}. The deterministic form is used.`
  return new OrielError('job-failed', message, { details: { failure: 'unusable-answer' } })
}

/** A model that continues with the work instead of summarizing it writes calls in one of these ways. */
function isToolCall(text: string): boolean {
  return /^(?:<(?:tool_call|function_calls?|invoke|antml:\w+)\b|\{\s*"(?:tool_calls|function_call|tool_use)"|\[\s*\{\s*"(?:type"\s*:\s*"(?:tool_use|function)|name"\s*:.{0,80}"(?:arguments|input|parameters)))/.test(
    text,
  )
}

/** A text without the code fence around all of it. */
function unfenced(text: string): string {
  return /^```\w*\s*\n?([\s\S]*?)\s*```$/.exec(text)?.[1]?.trim() ?? text
}

/** Document 001 asks for `{ "summary": "..." }`: some models write it, and hosts hand on what they get. Undefined for a plain text. */
function summaryIn(text: string): string | undefined {
  const whole = parsed(text)
  if (typeof whole === 'string') return whole
  if (Array.isArray(whole)) throw rejected('is a list')
  if (isObject(whole)) return summaryOf(whole)
  if (/^\[\s*[{"]/.test(text)) throw broken()
  const objects = objectsIn(text)
  const [first] = objects
  const startsWithJson = first?.start === 0 && /^\{\s*["']/.test(text)
  if (startsWithJson && first.value === undefined) throw broken()
  const found = objects.filter(({ json }) => /["']summary["']\s*:/.test(json))
  const [only] = found
  const around = found.reduce((sum, { json }) => sum - json.length, text.length)
  if (only === undefined) {
    if (startsWithJson && text.length - first.json.length <= maxWrapper) throw noSummary()
    return undefined
  }
  if (around > maxWrapper && !startsWithJson) return undefined
  if (found.length > 1) throw rejected('is several answers at once')
  if (only.value === undefined) throw broken()
  return summaryOf(only.value)
}

function summaryOf(value: Readonly<Record<string, unknown>>): string {
  if (isFailure(value)) throw rejected('comes with an error or a refusal')
  if (typeof value.summary !== 'string') throw noSummary()
  return value.summary
}

/** Whether an object says that it is no answer, whatever else is in it. */
function isFailure({ error, refusal }: Readonly<Record<string, unknown>>): boolean {
  return [error, refusal].some((one) => one !== undefined && one !== null && one !== false)
}

function broken(): OrielError {
  return rejected('is JSON that is broken or cut off')
}

function noSummary(): OrielError {
  return rejected('is JSON without a summary')
}

interface Embedded {
  readonly start: number
  readonly json: string
  /** Undefined where it is not whole, or no JSON at all. */
  readonly value: Readonly<Record<string, unknown>> | undefined
}

/** More braces than this belong to no answer. */
const maxObjects = 50

/** The outermost objects in a text. One that does not end goes to the end of the text. */
function objectsIn(text: string): readonly Embedded[] {
  const objects: Embedded[] = []
  for (let start = text.indexOf('{'); start >= 0 && objects.length < maxObjects; ) {
    const end = endOfObject(text, start)
    const json = text.slice(start, end)
    const value = parsed(json)
    objects.push({ start, json, value: isObject(value) ? value : undefined })
    start = text.indexOf('{', end)
  }
  return objects
}

/** Where an object ends, by its braces outside of strings. */
function endOfObject(text: string, start: number): number {
  let depth = 0
  let isInString = false
  for (let index = start; index < text.length; index++) {
    const char = text[index]
    if (isInString && char === '\\') index += 1
    else if (char === '"') isInString = !isInString
    else if (!isInString && char === '{') depth += 1
    else if (!isInString && char === '}') {
      depth -= 1
      if (depth === 0) return index + 1
    }
  }
  return text.length
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** What a host's `summarize` gets. */
export interface SummaryJob {
  readonly kind: 'checkpoint' | 'tool-result' | 'message'
  /** The conversation to summarize, as text. Data, never instructions. */
  readonly text: string
  readonly prompt: string
  /** Characters that the whole answer should have: for several results in one call, those of all of them. */
  readonly targetChars: number
  readonly meta: JsonObject
  readonly signal: AbortSignal
  /**
   * Checkpoints only: the same question as the conversation's own next request, with the instruction as its last message. Sent to the
   * model that the conversation is with, nearly all of it is read from the provider's cache. Answer with `isAligned: true` if you send it
   * instead of `prompt` and `text`. Absent where the conversation's requests are not known, or where it would be too long.
   */
  readonly request?: AlignedRequest
}

/** A request that begins as the conversation's newest one. */
export interface AlignedRequest {
  readonly format: FormatName
  readonly model?: string
  /** In the words of the format: system text, tools and parameters as they were sent, and the messages with the instruction behind them. */
  readonly body: JsonObject
}

/** Calls a model. Its answer is used only if it is not empty and not too long. */
export type Summarize = (job: SummaryJob) => Promise<SummaryResult>
