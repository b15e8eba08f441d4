// The format of OpenAI's Chat Completions, and of the many servers that speak it.

import type { MessageCodec } from '../format.ts'
import { chatFormat } from './build.ts'
import { decode } from './decode.ts'
import { encode, isLegacyDraft, isLegacyExchange } from './encode.ts'
import { maxCallIdLength } from './rules.ts'

/**
 * The format of `POST /v1/chat/completions`. Contracts, besides those of `Format`:
 * - One draft for each message. System and developer messages keep their place among the others.
 * - A message that the provider would refuse for its own shape (an empty `tool_calls`, arguments that are no text) is kept as it
 *   came in the log and sent in the nearest accepted shape.
 * - `reasoning_content` goes back only if it came from this format.
 */
export const openaiChatCodec: MessageCodec = {
  name: chatFormat,
  profile: {
    startsWithUser: false,
    endsWithUser: false,
    refusesBlankText: false,
    maxIdLength: maxCallIdLength,
    // Any text will do, except half a character, which the wire cannot carry.
    idPattern: /^\P{Cs}{1,40}$/u,
    ignoresIds: isLegacyExchange,
    mayIgnoreIds: isLegacyDraft,
    rules: {
      start: 'O7',
      end: 'O7',
      unanswered: 'O1',
      orphan: 'O2',
      duplicate: 'O6',
      order: 'O1',
      blank: 'O4',
      id: 'O3',
      reused: 'O6',
      reasoning: 'O5',
    },
  },
  readsAlone: true,
  writesAlone: true,
  decode,
  encode,
}
