// Token counts of Chat Completions: the prompt includes what was cached.

import { isObject } from '../../core/log/json.ts'
import type { UsageFormat } from '../provider.ts'
import { inclusiveUsage, tokensIn } from '../usage.ts'

export const usage: UsageFormat = {
  read(sample) {
    const {
      prompt_tokens: input,
      completion_tokens: output,
      prompt_tokens_details: details,
    } = sample
    if (typeof input !== 'number') return undefined
    const { cached_tokens: cacheRead, cache_write_tokens: cacheWrite } = isObject(details)
      ? details
      : {}
    return inclusiveUsage({ input, cacheRead, cacheWrite, output })
  },
  reasoning: (sample) => tokensIn(sample.completion_tokens_details, 'reasoning_tokens'),
}
