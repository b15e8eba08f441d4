// A view as items of the Responses: each step as it came where it is whole, else built anew; then what depends on neighbours is settled.

import type { Block } from '../../core/log/block.ts'
import { isObject, type Json, type JsonObject } from '../../core/log/json.ts'
import type { ViewMessage } from '../../core/view/view.ts'
import {
  type BuiltMessages,
  extraOf,
  isRebuilt,
  isUnchanged,
  materialOfView,
  nativeOf,
  originOf,
  wellFormed,
} from '../foreign.ts'
import type { Encoded, Origin } from '../format.ts'
import { createLosses, type Losses, type LossNote, tellIllFormed } from '../losses.ts'
import { buildItems, isItem } from './build.ts'
import {
  answeredText,
  answerWith,
  clientCallOf,
  isClientAnswer,
  isSendable,
  pairIdOf,
} from './client-calls.ts'
import { callsBeforeReasoning, kindOf, leadsToItem, responsesFormat } from './items.ts'
import { itemViolations } from './rules.ts'

export function encode(view: readonly ViewMessage[]): Encoded {
  const losses = createLosses()
  const steps = view.map((message, index) => encodeMessage(message, losses.noteFor(message, index)))
  const runs = steps.map(({ built }) => built.map(wellFormed))
  // Every item was built as an object, or is the original of one that breaks no rule.
  const notices = runs.filter((_, index) => view[index]?.answers !== undefined).flat()
  const shown = { notices: new Set(notices), callIds: new Set(view.flatMap(callIdsOf)) }
  const changes: ItemChanges = new Map()
  const messages = settle(runs.flat() as readonly JsonObject[], shown, changes)
  const origins = originsOf(view, { steps, runs, changes, messages })
  noteUnsettled(view, { runs, kept: new Set(messages), losses })
  tellIllFormed(view, losses, 'R6')
  return { messages, origins, ...losses.found() }
}

/** Items that were changed on their way, by what they became. */
type ItemChanges = Map<Json, Json>

function originsOf(
  view: readonly ViewMessage[],
  sent: {
    readonly steps: readonly BuiltMessages[]
    readonly runs: readonly (readonly Json[])[]
    readonly changes: ItemChanges
    readonly messages: readonly Json[]
  },
): readonly Origin[] {
  const { steps, runs, changes } = sent
  const origins = new Map<Json, Origin>()
  view.forEach((message, index) => {
    const { built, isWhole } = steps[index] as BuiltMessages
    runs[index]?.forEach((item, part) => {
      const isSame = isWhole && item === built[part]
      origins.set(item, originOf(message, index, { part, isWhole: isSame }))
    })
  })
  return sent.messages.map((item) => {
    const known = origins.get(item)
    if (known !== undefined) return known
    let before = changes.get(item)
    while (before !== undefined && !origins.has(before)) before = changes.get(before)
    return { entries: [], shown: [], ...(before && origins.get(before)), isWhole: false }
  })
}

function callIdsOf({ blocks, wireIds }: ViewMessage): readonly string[] {
  return blocks.flatMap((block, index) =>
    block.type === 'tool-call' ? [wireIds?.get(index) ?? block.callId] : [],
  )
}

function encodeMessage(message: ViewMessage, note: LossNote): BuiltMessages {
  const native = nativeOf(message, responsesFormat)
  const [fault] = native?.flatMap((item) => itemViolations(wellFormed(item), '')) ?? []
  if (native !== undefined && fault === undefined) return { built: native, isWhole: true }
  // An output stays what it is under another call id; what the model made does not.
  const isRenamed = message.role !== 'tool' && (message.wireIds?.size ?? 0) > 0
  const isWhole = isUnchanged(message) && !isRenamed
  const built = buildItems(materialOfView(message, responsesFormat), { isWhole, note })
  if (fault !== undefined) note(undefined, 'full', `${fault.rule}: sent in an accepted shape`)
  return { built, isWhole: isRebuilt(message, responsesFormat) }
}

/** Tells what the last look at the list left out or changed. */
function noteUnsettled(
  view: readonly ViewMessage[],
  sent: {
    readonly runs: readonly (readonly Json[])[]
    readonly kept: ReadonlySet<Json>
    readonly losses: Losses
  },
): void {
  const answered = new Set([...sent.kept].filter(isOutput).map(pairIdOf))
  view.forEach((message, index) => {
    const note = sent.losses.noteFor(message, index)
    const items = sent.runs[index] ?? []
    const bound = items.filter(isBound)
    const blocks = boundBlocks(message, bound.length)
    bound.forEach((item, position) => {
      if (sent.kept.has(item)) return
      note(blocks[position], 'dropped', 'R2: leads to nothing in view, or is there twice')
    })
    const results = message.blocks.filter(({ type }) => type === 'tool-result')
    const isNotice = message.answers !== undefined
    items.filter(isOutput).forEach((item, position) => {
      if (sent.kept.has(item)) return
      const isAnswered = answered.has(pairIdOf(item))
      const isSaid = (!isNotice && answeredText(item) !== '') || mediaIn(item).length > 0
      if (isAnswered || isSaid) note(results[position], 'full', shaped)
      else note(results[position], 'dropped', 'R6: its call is left out')
    })
    const isChanged = (item: Json): boolean =>
      !isBound(item) && !isOutput(item) && !sent.kept.has(item)
    if (items.some(isChanged)) {
      note(undefined, 'full', 'R5: its item id would be refused, taken off')
    }
  })
}

const shaped = 'R6: sent in the shape that its call demands'

function isOutput(item: Json): item is JsonObject {
  return isObject(item) && kindOf(item) === 'output'
}

/** The blocks of a message that became bound items: all that can, or compactions alone where the step was no longer whole. */
function boundBlocks({ blocks }: ViewMessage, count: number): readonly Block[] {
  const bound = blocks.filter((block) => isItem(block) && !isFunction(block))
  if (bound.length === count) return bound
  return bound.filter(
    (block) =>
      block.type === 'opaque' && isObject(block.value) && block.value.type === 'compaction',
  )
}

function isFunction(block: Block): boolean {
  return block.type === 'tool-call' && clientCallOf(block.extra?.type) === undefined
}

/** Whether an item is tied to others by its id or by the shape of what answers it: reasoning and all calls but those of functions. */
function isBound(item: Json): boolean {
  const kind = isObject(item) ? kindOf(item) : undefined
  if (kind === 'call') return clientCallOf((item as JsonObject).type) !== undefined
  return kind === 'reasoning' || kind === 'other'
}

/** What the view says of the items that were made from it. */
interface Shown {
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
function settle(
  items: readonly JsonObject[],
  shown: Shown,
  changes: ItemChanges = new Map(),
): readonly JsonObject[] {
  const matched = withMatchingOutputs(withoutRepeats(items, changes), shown, changes)
  const led = matched.filter(
    (item, index) => kindOf(item) !== 'reasoning' || leadsToItem(matched, index),
  )
  return withoutEarlyIds(led, changes)
}

function withoutRepeats(items: readonly JsonObject[], changes: ItemChanges): readonly JsonObject[] {
  const seen = new Set<string>()
  return items.flatMap((item) => {
    const { id } = item
    if (typeof id !== 'string') return [item]
    if (!seen.has(id)) {
      seen.add(id)
      return [item]
    }
    const kind = kindOf(item)
    return kind === 'reasoning' || kind === 'other' ? [] : [changed(item, withoutId(item), changes)]
  })
}

function withoutEarlyIds(
  items: readonly JsonObject[],
  changes: ItemChanges,
): readonly JsonObject[] {
  const early = new Set(callsBeforeReasoning(items))
  return items.map((item, index) =>
    early.has(index) ? changed(item, withoutId(item), changes) : item,
  )
}

/**
 * Outputs in the shape that their calls demand. Where only the original would do and it is not shown, the call is left out, and what
 * is said of it, its pictures included, is sent as the user's, behind the other outputs.
 */
function withMatchingOutputs(
  items: readonly JsonObject[],
  { notices, callIds }: Shown,
  changes: ItemChanges,
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
    if (answer !== undefined) matched.push(changed(item, answer, changes))
    else if (call !== undefined) lost.add(call)
    const text = answer !== undefined || notices.has(item) ? '' : answeredText(item)
    const media = answer !== undefined && mediaIn(answer).length > 0 ? [] : mediaIn(item)
    if (media.length > 0) {
      const words = text === '' ? [] : [{ type: 'input_text', text }]
      said.push(changed(item, { role: 'user', content: [...words, ...media] }, changes))
    } else if (text !== '') said.push(changed(item, { role: 'user', content: text }, changes))
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
function mediaIn({ output }: JsonObject): readonly JsonObject[] {
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

/** Takes note of what an item became. */
function changed(before: JsonObject, after: JsonObject, changes: ItemChanges): JsonObject {
  if (after !== before) changes.set(after, before)
  return after
}

function withoutId(item: JsonObject): JsonObject {
  return extraOf(item, ['id']).extra ?? {}
}
