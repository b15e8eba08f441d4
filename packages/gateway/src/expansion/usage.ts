// The provider's numbers of several rounds as one.

import type { Json, JsonObject } from 'oriel'
import { isObject } from '../rewrite.ts'

/** Numbers add up, at every depth; lists are joined; of anything else the newest is kept. */
export function sumUsage(before: JsonObject | undefined, after: JsonObject): JsonObject {
  if (before === undefined) return after
  const keys = new Set([...Object.keys(before), ...Object.keys(after)])
  return Object.fromEntries([...keys].map((key) => [key, sum(before[key], after[key])]))
}

function sum(before: Json | undefined, after: Json | undefined): Json {
  if (before === undefined || before === null) return after ?? null
  if (after === undefined || after === null) return before
  if (typeof before === 'number' && typeof after === 'number') return before + after
  if (Array.isArray(before) && Array.isArray(after)) return [...before, ...after]
  return isObject(before) && isObject(after) ? sumUsage(before, after) : after
}
