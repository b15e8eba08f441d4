// Anthropic's Messages format: messages of users and assistants, results inside user messages, system text outside.

import type { Provider } from '../provider.ts'
import { cacheMarks } from './cache-marks.ts'
import { compaction } from './compaction.ts'
import { contextEdits } from './context-edits.ts'
import { decodeMessages } from './decode.ts'
import { encodeView } from './encode.ts'
import { errors } from './errors.ts'
import { request } from './request.ts'
import { resend } from './resend.ts'
import { idPattern, maxBytes, maxIdLength, validateBody } from './rules.ts'
import { answers } from './stream.ts'
import { tools } from './tools.ts'
import { usage } from './usage.ts'
import { writeAnswer } from './write.ts'

/**
 * The format of `POST /v1/messages`. Contracts, besides those of `Provider`:
 * - A user message with results and other content becomes two messages, the results first: what follows them starts a turn.
 * - System messages are handed out as `system`, never among the messages.
 * - Thinking goes back only if it came from this format, whole and signed.
 */
export const anthropic: Provider = {
  name: 'anthropic',
  vendor: 'anthropic',
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
  fields: { messages: 'messages', system: 'system' },
  readsAlone: true,
  decode: decodeMessages,
  encode: encodeView,
  validate: validateBody,
  request,
  resend,
  ...answers,
  tools,
  usage,
  contextEdits,
  compaction,
  errors,
  cacheMarks,
  writeAnswer,
}
