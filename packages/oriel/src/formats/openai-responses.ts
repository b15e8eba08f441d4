// The format of OpenAI's Responses: a flat list of items.

import type { Json, JsonObject } from '../core/json.ts'
import type { ViewMessage } from '../core/view.ts'
import {
  isUnchanged,
  materialOfDraft,
  materialOfView,
  nativeIfNeeded,
  nativeOf,
  neverThrowing,
  readList,
  wellFormed,
} from './foreign.ts'
import type { Decoded, Encoded, Format } from './format.ts'
import { buildItems } from './openai-responses-build.ts'
import { decodeGroup, groupItems } from './openai-responses-decode.ts'
import { responsesFormat } from './openai-responses-items.ts'
import { itemViolations, maxCallIdLength, validateResponsesBody } from './openai-responses-rules.ts'
import { settle } from './openai-responses-settle.ts'

/**
 * The format of the `input` of `POST /v1/responses`. Contracts, besides those of `Format`:
 * - All items that the model made between two inputs are one draft, so one model step; everything else is one draft an item.
 * - A step goes back whole, byte for byte, with its reasoning, or without reasoning and without item ids (R2, R3).
 * - An item that the provider would refuse for its own shape is kept as it came in the log and sent in the nearest accepted shape.
 */
export const openaiResponses: Format = {
  name: responsesFormat,
  profile: {
    startsWithUser: false,
    endsWithUser: false,
    refusesBlankText: false,
    maxIdLength: maxCallIdLength,
    // Any text will do, except half a character, which the wire cannot carry.
    idPattern: /^\P{Cs}{1,64}$/u,
    rules: {
      // Never asked for: this provider has no rule on who begins, who ends, or blank text.
      start: 'R6',
      end: 'R6',
      blank: 'R6',
      unanswered: 'R1',
      orphan: 'R4',
      duplicate: 'R5',
      order: 'R7',
      id: 'R5',
      reasoning: 'R2',
    },
  },
  decode,
  encode,
  validate: neverThrowing('R6', validateResponsesBody),
}

function decode(items: readonly unknown[], path: string): readonly Decoded[] {
  let from = 0
  return groupItems(readList(items, path)).map((group) => {
    const draft = decodeGroup(group)
    const original = group.map(({ value }) => value)
    const rebuilt = buildItems(materialOfDraft(draft))
    const native = nativeIfNeeded({ format: responsesFormat, original, rebuilt })
    const decoded = { draft: { ...draft, ...native }, from, to: from + group.length }
    from = decoded.to
    return decoded
  })
}

function encode(view: readonly ViewMessage[]): Encoded {
  const items = view.flatMap((message) => encodeMessage(message)).map(wellFormed)
  // Every item was built as an object, or is the original of one that breaks no rule.
  return { messages: settle(items as readonly JsonObject[]) }
}

function encodeMessage(message: ViewMessage): readonly Json[] {
  const native = nativeOf(message, responsesFormat)?.map(wellFormed)
  if (native?.every((item) => itemViolations(item, '').length === 0)) return native
  const isWhole = isUnchanged(message) && (message.wireIds?.size ?? 0) === 0
  return buildItems(materialOfView(message, responsesFormat), { isWhole })
}
