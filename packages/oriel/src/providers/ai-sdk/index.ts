// The format of the AI SDK, with its rules.

import { neverThrowing } from '../foreign.ts'
import type { Format } from '../format.ts'
import { aiSdkCodec } from './codec.ts'
import { validateAiSdkBody } from './rules.ts'

export const aiSdk: Format = {
  ...aiSdkCodec,
  fields: { messages: 'messages', system: 'system' },
  validate: neverThrowing('AI4', validateAiSdkBody),
}
