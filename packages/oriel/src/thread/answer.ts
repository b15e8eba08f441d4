// What a host's `summarize` answers, and when it cannot be used at all.

import { OrielError } from '../core/errors.ts'
import { isObject } from '../core/json.ts'

/** A summary as a host may answer it. */
export type SummaryResult =
  | string
  | {
      readonly summary: string
      /** Why the model stopped, in the provider's word: an answer that was cut off is not used. */
      readonly finishReason?: string
    }

const cutOff: ReadonlySet<string> = new Set([
  'length',
  'max_tokens',
  'max_output_tokens',
  'incomplete',
  'content_filter',
  'content-filter',
  'refusal',
  'tool_calls',
  'tool-calls',
  'tool_use',
  'error',
])

/** Longer answers than this are a mistake, whatever was asked for: they are not even looked at. */
const maxAnswer = 1_000_000

/** The summary in an answer. Throws 'job-failed' for one that is empty, cut off, or a tool call. */
export function readAnswer(answer: unknown): string {
  const result: unknown = typeof answer === 'string' ? { summary: answer } : answer
  if (!isObject(result) || typeof result.summary !== 'string') {
    throw rejected('is neither a text nor { summary }')
  }
  const reason = result.finishReason
  if (typeof reason === 'string' && cutOff.has(reason.toLowerCase())) {
    throw rejected(`is not complete (${reason.toLowerCase()})`)
  }
  const summary = unwrapped(result.summary.slice(0, maxAnswer).toWellFormed().trim())
  if (summary === '') throw rejected('is empty')
  if (isToolCall(summary)) throw rejected('is a tool call')
  return summary
}

export function rejected(why: string): OrielError {
  return new OrielError('job-failed', `The summary ${why}. The deterministic form serves.`)
}

/** A model that goes on with the work instead of summarizing it writes calls in one of these ways. */
function isToolCall(text: string): boolean {
  return /^(?:```\w*\s*)?(?:<(?:tool_call|function_calls?|invoke|antml:\w+)\b|\{\s*"(?:tool_calls|function_call|tool_use)"|\[\s*\{\s*"(?:type"\s*:\s*"(?:tool_use|function)|name"\s*:.{0,80}"(?:arguments|input|parameters)))/.test(
    text,
  )
}

/** Document 001 asks for `{ "summary": "..." }`: some models write it, in a fence or not, and hosts hand on what they get. */
function unwrapped(text: string): string {
  const json = /^(?:```(?:json)?\s*)?(\{\s*"summary"[\s\S]*\})\s*(?:```)?$/.exec(text)?.[1]
  if (json === undefined) return text
  try {
    const value: unknown = JSON.parse(json)
    return isObject(value) && typeof value.summary === 'string' ? value.summary.trim() : text
  } catch {
    return text
  }
}
