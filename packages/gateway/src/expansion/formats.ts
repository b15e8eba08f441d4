// The formats in which expansion happens inside a request.

import type { WireFormat } from 'oriel'
import { anthropicExpansion } from './anthropic.ts'
import type { ExpansionFormat } from './format.ts'
import { chatExpansion } from './openai-chat.ts'
import { responsesExpansion } from './openai-responses.ts'

export const expansionFormats: Readonly<Record<WireFormat, ExpansionFormat>> = {
  'openai-chat': chatExpansion,
  'openai-responses': responsesExpansion,
  anthropic: anthropicExpansion,
}
