import { describe, expect, it } from 'vitest'
import { readUsage } from './read-usage.ts'

describe('a usage sample', () => {
  const parts = { uncached: 100, cacheRead: 800, cacheWrite: 50, output: 20 }
  const samples: [string, object, object][] = [
    ['Oriel', parts, parts],
    [
      'Anthropic',
      {
        input_tokens: 100,
        cache_read_input_tokens: 800,
        cache_creation_input_tokens: 50,
        output_tokens: 20,
      },
      parts,
    ],
    [
      'OpenAI chat',
      {
        prompt_tokens: 900,
        completion_tokens: 20,
        prompt_tokens_details: { cached_tokens: 800 },
      },
      { ...parts, cacheWrite: 0 },
    ],
    [
      'Gemini',
      {
        ...{ promptTokenCount: 850, cachedContentTokenCount: 800, toolUsePromptTokenCount: 50 },
        ...{ candidatesTokenCount: 15, thoughtsTokenCount: 5, totalTokenCount: 920 },
      },
      { ...parts, cacheWrite: 0 },
    ],
    [
      "an AI SDK's result",
      {
        inputTokens: 950,
        outputTokens: 20,
        inputTokenDetails: { noCacheTokens: 100, cacheReadTokens: 800, cacheWriteTokens: 50 },
      },
      parts,
    ],
    [
      "an older AI SDK's result",
      { inputTokens: 900, outputTokens: 20, cachedInputTokens: 800 },
      { ...parts, cacheWrite: 0 },
    ],
    [
      "an AI SDK's model",
      {
        inputTokens: { total: 950, noCache: 100, cacheRead: 800, cacheWrite: 50 },
        outputTokens: { total: 20, text: 15, reasoning: 5 },
      },
      parts,
    ],
    [
      "an AI SDK's model that tells only totals",
      {
        inputTokens: { total: 950, noCache: undefined, cacheRead: 800, cacheWrite: undefined },
        outputTokens: { total: undefined },
      },
      { uncached: 150, cacheRead: 800, cacheWrite: 0, output: 0 },
    ],
    [
      'LangChain',
      {
        input_tokens: 950,
        output_tokens: 20,
        total_tokens: 970,
        input_token_details: { cache_read: 800, cache_creation: 50 },
      },
      parts,
    ],
  ]

  it.each(samples)('[U1] of %s is read into disjoint numbers', (_name, sample, usage) => {
    expect(readUsage(sample)).toEqual(usage)
  })

  it.each([
    [undefined],
    [{}],
    [{ inputTokens: {}, outputTokens: { total: 5 } }],
    [{ output_tokens: 5 }],
  ])('[U1] without input tokens is refused: %j', (sample) => {
    expect(() => readUsage(sample)).toThrow(/needs the input tokens/)
  })
})
