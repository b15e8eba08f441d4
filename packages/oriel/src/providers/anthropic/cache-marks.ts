// Marks that tell Anthropic to cache a prefix. Compatible servers of other APIs take the same marks; they cache without them too.

import { isJsonObject, isObject, type Json, type JsonObject } from '../../core/log/json.ts'
import type { Frame } from '../../core/view/view.ts'
import type { CacheMarks } from '../format.ts'
import { objectsIn } from '../stream.ts'

const mark = { type: 'ephemeral' } as const

/** Blocks that take no mark of their own. */
const unmarkable = new Set(['thinking', 'redacted_thinking'])

/**
 * Marks the end of the request, so that the next one reads all of it, and the end of the one before it (in front of the newest
 * answer), in case what came since is long. Nothing is marked where the caller set a mark anywhere: theirs are right, and there are only four.
 */
export function withCacheMarks(
  messages: readonly Json[],
  frame: Frame | undefined,
): readonly Json[] {
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

/** The marks of a caller, in messages whose content is a list of parts. */
export const partMarks: CacheMarks = {
  key: 'cache_control',
  isMarked: (message) => {
    const content = isJsonObject(message) ? message.content : undefined
    return Array.isArray(content) && content.some(isMarkedPart)
  },
  withoutMarks(message) {
    if (!isJsonObject(message) || !partMarks.isMarked(message)) return message
    return { ...message, content: (message.content as readonly Json[]).map(withoutMark) }
  },
  withMarkOf(message, original) {
    const parts = isJsonObject(original) ? objectsIn(original.content) : []
    const own = parts.findLast((part) => 'cache_control' in part)?.cache_control
    if (own === undefined || !isJsonObject(message)) return message
    const blocks = Array.isArray(message.content)
      ? (message.content as readonly Json[])
      : [{ type: 'text', text: String(message.content) }]
    const last = blocks.at(-1)
    if (!isJsonObject(last)) return message
    return { ...message, content: [...blocks.slice(0, -1), { ...last, cache_control: own }] }
  },
}

export const cacheMarks: CacheMarks = { ...partMarks, add: withCacheMarks }

function withoutMark(part: Json): Json {
  if (!isJsonObject(part) || !isMarkedPart(part)) return part
  const { cache_control: _mark, ...rest } = part
  return Array.isArray(rest.content) ? { ...rest, content: rest.content.map(withoutMark) } : rest
}

function isMarkedPart(part: Json): boolean {
  if (!isJsonObject(part)) return false
  return 'cache_control' in part || (Array.isArray(part.content) && part.content.some(isMarkedPart))
}
