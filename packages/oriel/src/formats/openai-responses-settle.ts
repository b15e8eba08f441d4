// The last look at a list of items, for what no single message can know.

import { isObject, type Json, type JsonObject } from '../core/json.ts'
import { extraOf } from './foreign.ts'
import {
  answeredText,
  answerWith,
  clientCallOf,
  isClientAnswer,
  isSendable,
  pairIdOf,
} from './openai-responses-client-calls.ts'
import { callsBeforeReasoning, kindOf, leadsToItem } from './openai-responses-items.ts'

/** What the view says of the items that were made from it. */
export interface Shown {
  /** Items that say of a call that it has no result. */
  readonly notices: ReadonlySet<Json>
  /** The ids of all calls, also of those that were left out. */
  readonly callIds: ReadonlySet<unknown>
}

/**
 * The same items, except that
 * - an item id that was there before is taken off, or the item left out where it is nothing without its id (R5),
 * - reasoning that leads to nothing is left out (R2),
 * - a call that stands before the reasoning of its run has no item id (R3),
 * - an output has the type that belongs to its call, or both are left out.
 */
export function settle(items: readonly JsonObject[], shown: Shown): readonly JsonObject[] {
  const matched = withMatchingOutputs(withoutRepeats(items), shown)
  const led = matched.filter(
    (item, index) => kindOf(item) !== 'reasoning' || leadsToItem(matched, index),
  )
  return withoutEarlyIds(led)
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

/**
 * Outputs in the shape that their calls demand. Where only the original would do and it is not shown, the call is left out, and what
 * is said of it, its pictures included, goes on as the user's, behind the other outputs.
 */
function withMatchingOutputs(
  items: readonly JsonObject[],
  { notices, callIds }: Shown,
): readonly JsonObject[] {
  const calls = new Map<unknown, JsonObject>()
  for (const item of items) if (kindOf(item) === 'call') calls.set(pairIdOf(item), item)
  const lost = new Set<JsonObject>()
  const matched: JsonObject[] = []
  let said: JsonObject[] = []
  for (const item of items) {
    if (kindOf(item) !== 'output') {
      matched.push(...said, item)
      said = []
      continue
    }
    const id = pairIdOf(item)
    const call = calls.get(id)
    const isLeftOut = call === undefined && callIds.has(id)
    const answer = isLeftOut ? undefined : answerTo(call, item)
    if (answer !== undefined) matched.push(answer)
    else if (call !== undefined) lost.add(call)
    const text = answer !== undefined || notices.has(item) ? '' : answeredText(item)
    const media = answer !== undefined && mediaIn(answer).length > 0 ? [] : mediaIn(item)
    if (media.length > 0) {
      const words = text === '' ? [] : [{ type: 'input_text', text }]
      said.push({ role: 'user', content: [...words, ...media] })
    } else if (text !== '') said.push({ role: 'user', content: text })
  }
  return [...matched, ...said].filter((item) => !lost.has(item))
}

/** The output as it may be sent behind `call`; undefined where it may not. */
function answerTo(call: JsonObject | undefined, item: JsonObject): JsonObject | undefined {
  // The call of a function that is not here may be with the provider.
  if (call === undefined) return isClientAnswer(item.type) ? undefined : item
  const type = clientCallOf(call.type)?.answer ?? `${String(call.type)}_output`
  if (item.type === type) return isSendable(item) ? item : undefined
  if (!isClientAnswer(type) && !isClientAnswer(item.type)) return { ...item, type }
  // A yes or a no is nobody's to make up.
  if (type === 'mcp_approval_response') return undefined
  const answer = answerWith(answeredText(item), { type, id: String(pairIdOf(call)) })
  const media = isClientAnswer(type) ? [] : mediaIn(item)
  const shown = media.length === 0 ? answer : { ...answer, output: media }
  return isSendable(shown) ? shown : undefined
}

/** Pictures and files of an output, as a function's output and a user's message may have them. */
export function mediaIn({ output }: JsonObject): readonly JsonObject[] {
  if (Array.isArray(output)) {
    return output.filter(
      (part): part is JsonObject =>
        isObject(part) && (part.type === 'input_image' || part.type === 'input_file'),
    )
  }
  if (!isObject(output) || output.type !== 'computer_screenshot') return []
  const { image_url, file_id } = output as JsonObject
  if (typeof image_url === 'string') return [{ type: 'input_image', image_url }]
  return typeof file_id === 'string' ? [{ type: 'input_image', file_id }] : []
}

function withoutId(item: JsonObject): JsonObject {
  return extraOf(item, ['id']).extra ?? {}
}
