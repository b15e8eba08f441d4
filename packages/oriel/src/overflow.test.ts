import { describe, expect, it } from 'vitest'
import { isContextLengthError } from './overflow.ts'

/** Bodies and messages as providers, servers and SDKs really word them. */
const overflows: [string, unknown][] = [
  [
    'Anthropic',
    {
      status: 400,
      error: {
        type: 'error',
        error: {
          type: 'invalid_request_error',
          message: 'prompt is too long: 205547 tokens > 200000 maximum',
        },
      },
    },
  ],
  ['Anthropic, bytes', { status: 413, error: { error: { type: 'request_too_large' } } }],
  ['OpenAI', { status: 400, code: 'context_length_exceeded', message: '400 Your input exceeds' }],
  [
    'vLLM',
    new Error(
      "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.",
    ),
  ],
  [
    'Gemini',
    'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
  ],
  ['Bedrock', { message: 'Input is too long for requested model.' }],
  ['AI SDK', { statusCode: 400, responseBody: '{"error":{"code":"context_length_exceeded"}}' }],
  [
    'llama.cpp',
    { error: { message: 'the request exceeds the available context size, try increasing it' } },
  ],
  ['nested cause', new Error('call failed', { cause: { message: 'prompt is too long: 9 > 8' } })],
]

const others: [string, unknown][] = [
  ['a rate limit', { status: 429, message: 'Request too large: tokens per minute limit 30000' }],
  ['a quota', { status: 400, message: 'You exceeded your current quota' }],
  [
    'a call id that is too long',
    {
      status: 400,
      message:
        "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40",
    },
  ],
  ['a server error', { status: 500, message: 'maximum context length' }],
  ['an unknown wording', { status: 400, message: 'Bad request' }],
  ['nothing', undefined],
  ['null', null],
  ['a number', 400],
]

describe('isContextLengthError', () => {
  it.each(overflows)('[E1] recognises %s', (_name, error) => {
    expect(isContextLengthError(error)).toBe(true)
  })

  it.each(others)('[E1] does not take %s for an overflow', (_name, error) => {
    expect(isContextLengthError(error)).toBe(false)
  })
})
