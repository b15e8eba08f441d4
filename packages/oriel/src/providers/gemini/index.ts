// Gemini's API: its messages, requests, streams, tools, usage and errors.

import type { Provider } from '../provider.ts'
import { geminiCodec } from './codec.ts'
import { errors } from './errors.ts'
import { request } from './request.ts'
import { validateBody } from './rules.ts'
import { answers } from './stream.ts'
import { tools } from './tools.ts'
import { usage } from './usage.ts'
import { writeAnswer } from './write.ts'

export const gemini: Provider = {
  ...geminiCodec,
  name: 'gemini',
  vendor: 'gcp.gemini',
  fields: { messages: 'contents', system: 'systemInstruction' },
  validate: validateBody,
  request,
  ...answers,
  tools,
  usage,
  errors,
  writeAnswer,
}
