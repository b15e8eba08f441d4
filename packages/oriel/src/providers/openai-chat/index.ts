// The format of OpenAI's Chat Completions, and of the many servers that speak it.

import { partMarks } from '../anthropic/cache-marks.ts'
import { neverThrowing } from '../foreign.ts'
import type { Provider } from '../provider.ts'
import { chatFormat } from './build.ts'
import { decode } from './decode.ts'
import { encode, isLegacyDraft, isLegacyExchange } from './encode.ts'
import { errors } from './errors.ts'
import { request } from './request.ts'
import { maxCallIdLength, validateChatBody } from './rules.ts'
import { answers } from './stream.ts'
import { tools } from './tools.ts'
import { usage } from './usage.ts'
import { writeAnswer } from './write.ts'

/**
 * The format of `POST /v1/chat/completions`. Contracts, besides those of `Provider`:
 * - One draft for each message. System and developer messages keep their place among the others.
 * - A message that the provider would refuse for its own shape (an empty `tool_calls`, arguments that are no text) is kept as it
 *   came in the log and sent in the nearest accepted shape.
 * - `reasoning_content` goes back only if it came from this format.
 */
export const openaiChat: Provider = {
  name: chatFormat,
  vendor: 'openai',
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
  fields: { messages: 'messages', system: 'system' },
  readsAlone: true,
  writesAlone: true,
  decode,
  encode,
  validate: neverThrowing('O5', validateChatBody),
  request,
  ...answers,
  tools,
  usage,
  errors,
  cacheMarks: partMarks,
  writeAnswer,
}
