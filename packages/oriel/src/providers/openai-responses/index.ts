// OpenAI's Responses API: its messages, requests, streams, tools, usage and errors.

import { partMarks } from '../anthropic/cache-marks.ts'
import { neverThrowing } from '../foreign.ts'
import type { Provider } from '../provider.ts'
import { openaiResponsesCodec } from './codec.ts'
import { compaction, contextEdits } from './compaction.ts'
import { errors } from './errors.ts'
import { request } from './request.ts'
import { resend } from './resend.ts'
import { validateResponsesBody } from './rules.ts'
import { answers } from './stream.ts'
import { tools } from './tools.ts'
import { usage } from './usage.ts'
import { writeAnswer } from './write.ts'

export const openaiResponses: Provider = {
  ...openaiResponsesCodec,
  name: 'openai-responses',
  vendor: 'openai',
  fields: { messages: 'input', system: 'instructions' },
  validate: neverThrowing('R6', validateResponsesBody),
  request,
  resend,
  ...answers,
  tools,
  usage,
  contextEdits,
  compaction,
  errors,
  cacheMarks: partMarks,
  writeAnswer,
}
