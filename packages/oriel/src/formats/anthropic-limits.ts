// What Anthropic refuses of a body as a whole: its tools, its size, its text (A16, A17, A18).

import { OrielError } from '../core/errors.ts'
import { checkJson, isObject, maxDepth } from '../core/json.ts'
import { findIllFormed } from './foreign.ts'
import type { Violation } from './format.ts'

type Fields = Readonly<Record<string, unknown>>

/** Cache breakpoints in one request: tools, system and messages together (A17). */
export const maxBreakpoints = 4

const maxMessages = 100_000
/** Largest request (A17). */
export const maxBytes = 32 * 1024 * 1024

/** The limits of a body whose `messages` are a list. */
export function* judgeLimits(request: Fields): Iterable<Violation> {
  const messages = request.messages as readonly unknown[]
  if (messages.length > maxMessages) {
    const message = `messages: at most ${maxMessages} messages are allowed`
    yield { rule: 'A17', path: 'messages', message }
  }
  // One on the body itself asks the provider to place a breakpoint, which takes its share.
  const own = isObject(request.cache_control) ? 1 : 0
  const contents = messages.map((message) => (isObject(message) ? message.content : undefined))
  const breakpoints = own + countBreakpoints([request.tools, request.system, contents])
  if (breakpoints > maxBreakpoints) {
    const message = `A maximum of ${maxBreakpoints} blocks with cache_control may be provided. Found ${breakpoints}.`
    yield { rule: 'A17', path: '', message }
  }
}

/** How many blocks in a list, or a list of lists, ask for a cache breakpoint. */
export function countBreakpoints(blocks: readonly unknown[]): number {
  let count = 0
  for (const block of blocks) {
    if (Array.isArray(block)) count += countBreakpoints(block)
    if (!isObject(block)) continue
    if (isObject(block.cache_control)) count += 1
    // Only results hold blocks of their own; what a call's input holds is data.
    if (block.type === 'tool_result' && Array.isArray(block.content)) {
      count += countBreakpoints(block.content)
    }
  }
  return count
}

/** Whether the body can be written as JSON in UTF-8, and how large it then is. */
export function* judgeText(request: Fields): Iterable<Violation> {
  const illFormed = findIllFormed(request, '')
  if (illFormed !== undefined) {
    const message = 'no low surrogate in string: surrogates not allowed'
    yield { rule: 'A18', path: illFormed.replace(/^\./, ''), message }
  }
  try {
    // The body and its list of messages stand around a message that may itself be as deep as the log allows.
    checkJson(request, '', maxDepth + 2)
    const isTooLarge = exceeds(JSON.stringify(request), maxBytes)
    if (isTooLarge) yield { rule: 'A17', path: '', message: 'request_too_large' }
  } catch (error) {
    if (!OrielError.is(error)) throw error
    const path = (error.path ?? '').replace(/^\./, '')
    const isTooLarge = error.code === 'too-large'
    yield isTooLarge
      ? { rule: 'A17', path, message: 'request_too_large' }
      : { rule: 'A18', path, message: `the body is not valid JSON: ${error.message}` }
  }
}

/** Whether a text takes more bytes in UTF-8. */
function exceeds(text: string, bytes: number): boolean {
  // A UTF-16 unit takes at most three bytes, so most requests need no counting.
  return text.length * 3 > bytes && new TextEncoder().encode(text).length > bytes
}
