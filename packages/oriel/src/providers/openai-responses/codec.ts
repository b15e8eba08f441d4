// The format of OpenAI's Responses: a flat list of items.

import type { MessageCodec } from '../format.ts'
import { decode } from './decode.ts'
import { encode } from './encode.ts'
import { responsesFormat } from './items.ts'
import { maxCallIdLength } from './rules.ts'

/**
 * The format of the `input` of `POST /v1/responses`. Contracts, besides those of `Format`:
 * - All items that the model made between two inputs are one draft, so one model step; everything else is one draft an item.
 * - A step goes back whole, byte for byte, with its reasoning, or without reasoning and without item ids (R2, R3).
 * - An item that the provider would refuse for its own shape is kept as it came in the log and sent in the nearest accepted shape.
 */
export const openaiResponsesCodec: MessageCodec = {
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
  hasMessageIds: true,
  decode,
  encode,
}
