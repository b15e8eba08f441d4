// OpenAI's Chat Completions, and the many servers that speak it: its messages, requests, streams, tools, usage and errors.

import { partMarks } from '../anthropic/cache-marks.ts'
import { neverThrowing } from '../foreign.ts'
import type { Provider } from '../provider.ts'
import { openaiChatCodec } from './codec.ts'
import { errors } from './errors.ts'
import { request } from './request.ts'
import { validateChatBody } from './rules.ts'
import { answers } from './stream.ts'
import { tools } from './tools.ts'
import { usage } from './usage.ts'
import { writeAnswer } from './write.ts'

export const openaiChat: Provider = {
  ...openaiChatCodec,
  name: 'openai-chat',
  vendor: 'openai',
  fields: { messages: 'messages', system: 'system' },
  validate: neverThrowing('O5', validateChatBody),
  request,
  ...answers,
  tools,
  usage,
  errors,
  cacheMarks: partMarks,
  writeAnswer,
}
