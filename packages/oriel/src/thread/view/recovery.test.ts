import { describe, expect, it } from 'vitest'
import { recoveryBudget } from './recovery.ts'

/** Real wordings that name what was sent and what is allowed: 2000 and 1000, so that half of it may go, and a tenth less. */
const refusals: readonly (readonly [string, unknown])[] = [
  [
    'Anthropic',
    { error: { error: { message: 'prompt is too long: 2000 tokens > 1000 maximum' } } },
  ],
  [
    'OpenAI and vLLM',
    new Error(
      "This model's maximum context length is 1000 tokens. However, your messages resulted in 2000 tokens.",
    ),
  ],
  ['Google', 'The input token count (2000) exceeds the maximum number of tokens allowed (1000).'],
  ['xAI', "This model's maximum prompt length is 1000 but the request contains 2000 tokens."],
  ['llama.cpp', 'request (2000 tokens) exceeds the available context size (1000 tokens), try it'],
  [
    'Mistral',
    'Prompt contains 2000 tokens and 0 draft tokens, too large for model with 1000 maximum context length',
  ],
]

describe('how small the next request must be', () => {
  it.each(refusals)('[K5] %s: by the proportion that the error names', (_name, error) => {
    expect(recoveryBudget(error, 2000)).toBe(900)
    expect(recoveryBudget(error, 1000)).toBe(450)
    expect(recoveryBudget(error, 4000)).toBe(1800)
  })

  it('[K5] leaves the room that the answer asked for', () => {
    const error =
      "This endpoint's maximum context length is 1000 tokens. However, you requested about 2000 tokens (1900 of text input, 100 in the output)."
    expect(recoveryBudget(error, 1900)).toBe(810)
  })

  it('[K5] without numbers, by a fixed share; never as large as what was sent', () => {
    expect(recoveryBudget({ code: 'context_length_exceeded' }, 1000)).toBe(700)
    expect(recoveryBudget({ code: 'context_length_exceeded' }, 1000, 500)).toBe(450)
    expect(recoveryBudget({ code: 'context_length_exceeded' }, 1000, 2000)).toBe(700)
    const limitOnly = "This model's maximum context length is 8192 tokens."
    expect(recoveryBudget(limitOnly, 20_000)).toBe(7372)
    expect(recoveryBudget(limitOnly, 1000)).toBe(900)
  })
})
