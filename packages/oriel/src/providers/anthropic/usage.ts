// Token counts of Anthropic's Messages: what was read from the cache and written to it is not part of the input.

import type { UsageFormat } from '../provider.ts'
import { count, tokensIn } from '../usage.ts'

export const usage: UsageFormat = {
  read(sample) {
    const {
      input_tokens: input,
      cache_read_input_tokens: cacheRead,
      cache_creation_input_tokens: cacheWrite,
    } = sample
    if (typeof input !== 'number' && cacheRead === undefined && cacheWrite === undefined) {
      return undefined
    }
    return {
      uncached: count(input),
      cacheRead: count(cacheRead),
      cacheWrite: count(cacheWrite),
      output: count(sample.output_tokens),
    }
  },
  reasoning: (sample) => tokensIn(sample.output_tokens_details, 'thinking_tokens'),
}
