// The format of LangChain, with its rules.

import { neverThrowing } from '../foreign.ts'
import type { Format } from '../format.ts'
import { langchainCodec } from './codec.ts'
import { validateLangchainBody } from './rules.ts'

export const langchain: Format = {
  ...langchainCodec,
  fields: { messages: 'messages', system: 'system' },
  validate: neverThrowing('LC4', validateLangchainBody),
}
