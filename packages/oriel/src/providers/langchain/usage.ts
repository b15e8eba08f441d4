// Token counts of LangChain's messages: the input includes what was cached.

import { isObject, type JsonObject } from '../../core/log/json.ts'
import { inclusiveUsage, type Usage } from '../usage.ts'

export function readUsage(sample: JsonObject): Usage | undefined {
  const { input_tokens: input, output_tokens: output, input_token_details: details } = sample
  if (typeof input !== 'number' || !isObject(details)) return undefined
  const { cache_read: cacheRead, cache_creation: cacheWrite } = details
  return inclusiveUsage({ input, cacheRead, cacheWrite, output })
}
