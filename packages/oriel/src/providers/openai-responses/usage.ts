// Token counts of the Responses: the input includes what was cached.

import { isObject } from '../../core/log/json.ts'
import type { UsageFormat } from '../provider.ts'
import { inclusiveUsage, tokensIn } from '../usage.ts'

export const usage: UsageFormat = {
  read({ input_tokens: input, output_tokens: output, input_tokens_details: details }) {
    if (typeof input !== 'number' || !isObject(details)) return undefined
    const { cached_tokens: cacheRead, cache_write_tokens: cacheWrite } = details
    return inclusiveUsage({ input, cacheRead, cacheWrite, output })
  },
  reasoning: (sample) => tokensIn(sample.output_tokens_details, 'reasoning_tokens'),
}
