// Token counts of generateContent: the prompt includes what was cached; results of the provider's own tools and thoughts stand apart.

import type { UsageFormat } from '../provider.ts'
import { count, inclusiveUsage, tokensIn } from '../usage.ts'

export const usage: UsageFormat = {
  read(sample) {
    const { promptTokenCount: prompt, toolUsePromptTokenCount: tools } = sample
    if (typeof prompt !== 'number') return undefined
    return inclusiveUsage({
      input: count(prompt) + count(tools),
      cacheRead: sample.cachedContentTokenCount,
      output: count(sample.candidatesTokenCount) + count(sample.thoughtsTokenCount),
    })
  },
  reasoning: (sample) => tokensIn(sample, 'thoughtsTokenCount'),
}
