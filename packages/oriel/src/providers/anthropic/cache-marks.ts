// Where Anthropic is told to keep a prefix. Other providers do that by themselves.

import { isObject, type Json, type JsonObject } from '../../core/log/json.ts'
import type { Frame } from '../../core/view/view.ts'
import type { FormatName } from '../format.ts'

const mark = { type: 'ephemeral' } as const

/** Blocks that take no mark of their own. */
const unmarkable = new Set(['thinking', 'redacted_thinking'])

/**
 * Marks the end of the request, so that the next one reads all of it, and the end of the one before it (in front of the newest
 * answer), in case what came since is long. Nothing is marked where the caller set a mark anywhere: theirs are right, and there are only four.
 */
export function withCacheMarks(
  format: FormatName,
  messages: readonly Json[],
  frame: Frame | undefined,
): readonly Json[] {
  if (format !== 'anthropic' || messages.length === 0) return messages
  if (hasMark(frame as Json | undefined) || messages.some((message) => hasMark(message)))
    return messages
  const answer = messages.findLastIndex(
    (message) => isObject(message) && message.role === 'assistant',
  )
  const ends = new Set([messages.length - 1, answer - 1])
  return messages.map((message, index) => (ends.has(index) ? marked(message) : message))
}

/** A message with a mark on its last block that takes one. */
function marked(message: Json): Json {
  if (!isObject(message)) return message
  const { content } = message as JsonObject
  const blocks: readonly Json[] =
    typeof content === 'string'
      ? [{ type: 'text', text: content }]
      : Array.isArray(content)
        ? content
        : []
  const at = blocks.findLastIndex((block) => isObject(block) && !unmarkable.has(String(block.type)))
  if (at === -1) return message
  const own = blocks.map((block, index) =>
    index === at ? { ...(block as JsonObject), cache_control: mark } : block,
  )
  return { ...(message as JsonObject), content: own }
}

/** Looks where marks may stand: on a tool, a block, or a block inside a result. */
function hasMark(value: Json | undefined, depth = 0): boolean {
  if (typeof value !== 'object' || value === null || depth > 6) return false
  if (Array.isArray(value)) return value.some((item) => hasMark(item, depth + 1))
  if (Object.hasOwn(value, 'cache_control')) return (value as JsonObject).cache_control !== null
  return ['system', 'tools', 'params', 'content'].some((key) =>
    hasMark((value as JsonObject)[key], depth + 1),
  )
}
