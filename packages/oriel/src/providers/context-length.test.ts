import { describe, expect, it } from 'vitest'
import { isContextLengthError } from './context-length.ts'

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
  [
    'llama.cpp, by type',
    { error: { code: 400, type: 'exceed_context_size_error', message: 'request (5000 tokens)' } },
  ],
  [
    'OpenRouter',
    {
      status: 400,
      error: {
        message:
          'This endpoint\'s maximum context length is 131072 tokens. However, you requested about 150010 tokens (140010 of text input, 10000 in the output). Please reduce the length of either one, or use the "middle-out" transform',
        code: 400,
      },
    },
  ],
  [
    'OpenAI, responses',
    'Your input exceeds the context window of this model. Please adjust your input and try again.',
  ],
  [
    'Anthropic, with max_tokens',
    'input length and `max_tokens` exceed context limit: 198120 + 21333 > 204798, decrease input length or `max_tokens` and try again',
  ],
  [
    'Bedrock, Nova',
    'Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input to try again.',
  ],
  [
    'Mistral',
    'Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
  ],
  ['xAI', "This model's maximum prompt length is 131072 but the request contains 537812 tokens."],
  ['Groq', 'Please reduce the length of the messages or completion.'],
  ['Ollama', 'prompt too long; exceeded max context length by 4 tokens'],
  [
    'LM Studio',
    'The number of tokens to keep from the initial prompt is greater than the context length.',
  ],
  ['Bedrock, in short', { name: 'ValidationException', message: 'Input is too long.' }],
  ['Bedrock, as text', 'ValidationException: Input is too long'],
  [
    'AI SDK, after retries',
    Object.assign(new Error('Failed after 3 attempts.'), {
      name: 'AI_RetryError',
      reason: 'errorNotRetryable',
      errors: [{ statusCode: 503 }, { statusCode: 400, message: 'prompt is too long: 9 > 8' }],
      lastError: { statusCode: 400, message: 'prompt is too long: 9 > 8' },
    }),
  ],
  [
    'retries that are a cause',
    new Error('call failed', {
      cause: { name: 'AI_RetryError', errors: [new Error('prompt is too long: 9 > 8')] },
    }),
  ],
  ['several attempts', new AggregateError([new Error('503'), new Error('prompt is too long')])],
  [
    'LangChain, by name',
    Object.assign(new Error('Input is too big.'), { name: 'ContextOverflowError' }),
  ],
  [
    'LiteLLM, by name',
    { status: 400, error: { message: 'litellm.ContextWindowExceededError: too big', code: '400' } },
  ],
  ['nested cause', new Error('call failed', { cause: { message: 'prompt is too long: 9 > 8' } })],
]

const others: [string, unknown][] = [
  ['a rate limit', { status: 429, message: 'Request too large: tokens per minute limit 30000' }],
  [
    'a limit per minute that comes as 413',
    {
      status: 413,
      error: {
        message:
          'Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 7000',
        code: 'rate_limit_exceeded',
      },
    },
  ],
  [
    'a rate limit after retries',
    {
      name: 'AI_RetryError',
      errors: [{ statusCode: 429, message: 'Request too large' }],
      lastError: { statusCode: 429, message: 'Request too large, reduce the length of the prompt' },
    },
  ],
  [
    'an overflow that a rate limit followed',
    new AggregateError([
      new Error('prompt is too long'),
      Object.assign(new Error('maximum context length'), { status: 429 }),
    ]),
  ],
  ['another refusal by Bedrock', { name: 'ValidationException', message: 'Unknown model.' }],
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
