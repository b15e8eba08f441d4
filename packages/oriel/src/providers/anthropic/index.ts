// Anthropic's Messages API: its messages, requests, streams, tools, usage and errors.

import type { Provider } from '../provider.ts'
import { cacheMarks } from './cache-marks.ts'
import { anthropicCodec } from './codec.ts'
import { compaction } from './compaction.ts'
import { contextEdits } from './context-edits.ts'
import { errors } from './errors.ts'
import { request } from './request.ts'
import { resend } from './resend.ts'
import { validateBody } from './rules.ts'
import { answers } from './stream.ts'
import { tools } from './tools.ts'
import { usage } from './usage.ts'
import { writeAnswer } from './write.ts'

export const anthropic: Provider = {
  ...anthropicCodec,
  name: 'anthropic',
  vendor: 'anthropic',
  fields: { messages: 'messages', system: 'system' },
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
