// The last look at a list of items, for what no single message can know.

import type { JsonObject } from '../core/json.ts'
import { extraOf } from './foreign.ts'
import { callsBeforeReasoning, kindOf, leadsToItem } from './openai-responses-items.ts'

/**
 * The same items, except that
 * - an item id that was there before is taken off, or the item left out where it is nothing without its id (R5),
 * - reasoning that leads to nothing is left out (R2),
 * - a call that stands before the reasoning of its run has no item id (R3),
 * - an output has the type that belongs to its call.
 */
export function settle(items: readonly JsonObject[]): readonly JsonObject[] {
  const unique = withoutRepeats(items)
  const led = unique.filter(
    (item, index) => kindOf(item) !== 'reasoning' || leadsToItem(unique, index),
  )
  return withMatchingOutputs(withoutEarlyIds(led))
}

function withoutRepeats(items: readonly JsonObject[]): readonly JsonObject[] {
  const seen = new Set<string>()
  return items.flatMap((item) => {
    const { id } = item
    if (typeof id !== 'string') return [item]
    if (!seen.has(id)) {
      seen.add(id)
      return [item]
    }
    const kind = kindOf(item)
    return kind === 'reasoning' || kind === 'other' ? [] : [withoutId(item)]
  })
}

function withoutEarlyIds(items: readonly JsonObject[]): readonly JsonObject[] {
  const early = new Set(callsBeforeReasoning(items))
  return items.map((item, index) => (early.has(index) ? withoutId(item) : item))
}

function withMatchingOutputs(items: readonly JsonObject[]): readonly JsonObject[] {
  const types = new Map<unknown, string>()
  return items.map((item) => {
    const kind = kindOf(item)
    if (kind === 'call') types.set(item.call_id, `${String(item.type)}_output`)
    const type = types.get(item.call_id)
    return kind !== 'output' || type === undefined || type === item.type ? item : { ...item, type }
  })
}

function withoutId(item: JsonObject): JsonObject {
  return extraOf(item, ['id']).extra ?? {}
}
