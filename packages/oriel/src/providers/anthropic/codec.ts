// Anthropic's Messages format: messages of users and assistants, results inside user messages, system text outside.

import type { MessageCodec } from '../format.ts'
import { decodeMessages } from './decode.ts'
import { encodeView } from './encode.ts'
import { idPattern, maxBytes, maxIdLength } from './rules.ts'

/**
 * The format of `POST /v1/messages`. Contracts, besides those of `Format`:
 * - A user message with results and other content becomes two messages, the results first: what follows them starts a turn.
 * - System messages are handed out as `system`, never among the messages.
 * - Thinking goes back only if it came from this format, whole and signed.
 */
export const anthropicCodec: MessageCodec = {
  name: 'anthropic',
  profile: {
    startsWithUser: true,
    endsWithUser: true,
    isCompaction: ({ role, blocks: [first] }) =>
      role === 'assistant' &&
      first?.type === 'opaque' &&
      first.format === 'anthropic' &&
      first.compaction !== undefined,
    refusesBlankText: true,
    bindsReasoning: true,
    maxBytes,
    maxIdLength,
    idPattern,
    rules: {
      start: 'A2',
      end: 'A6',
      size: 'A17',
      unanswered: 'A7',
      orphan: 'A8',
      duplicate: 'A9',
      order: 'A11',
      blank: 'A4',
      id: 'A10',
      reasoning: 'A14',
    },
  },
  readsAlone: true,
  decode: decodeMessages,
  encode: encodeView,
}
