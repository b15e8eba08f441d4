import { describe, expect, it } from 'vitest'
import { contextLengthNumbers, isContextLengthError } from './context-length.ts'

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

/** Bodies by provider, with the status they come with and the numbers they name: sent, and allowed. */
const bodies: readonly (readonly [string, number, unknown, (number | undefined)?, number?])[] = [
  [
    'Anthropic',
    400,
    anthropic('prompt is too long: 205547 tokens > 200000 maximum'),
    205_547,
    200_000,
  ],
  [
    'Anthropic, with the answer',
    400,
    anthropic(
      'input length and `max_tokens` exceed context limit: 198120 + 21333 > 204798, decrease input length or `max_tokens` and try again',
    ),
    198_120,
    183_465,
  ],
  [
    'OpenAI',
    400,
    openai(
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 8545 tokens. Please reduce the length of the messages.",
      'context_length_exceeded',
    ),
    8545,
    8192,
  ],
  [
    'OpenAI, with the answer',
    400,
    openai(
      "This model's maximum context length is 8191 tokens, however you requested 10346 tokens (10341 in your prompt; 5 for the completion). Please reduce your prompt; or completion length.",
    ),
    10_341,
    8186,
  ],
  [
    'OpenAI, configured limit',
    400,
    openai(
      'Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300123 tokens. Please reduce the length of the messages.',
      'context_length_exceeded',
    ),
    300_123,
    272_000,
  ],
  [
    'OpenAI, Responses',
    400,
    openai(
      'Your input exceeds the context window of this model. Please adjust your input and try again.',
    ),
  ],
  [
    'Azure and Databricks',
    400,
    openai("Input exceeds the model's maximum context length of 32,768 tokens."),
    undefined,
    32_768,
  ],
  [
    'Gemini',
    400,
    [
      google(
        'The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).',
      ),
    ],
    1_196_265,
    1_048_575,
  ],
  [
    'Gemini, without what was sent',
    400,
    google('The input token count exceeds the maximum number of tokens allowed 1048576.'),
    undefined,
    1_048_576,
  ],
  [
    'Vertex',
    400,
    google(
      'Unable to submit request because the input token count is 1251952 but model only supports up to 1048576. Reduce the input token count and try again.',
    ),
    1_251_952,
    1_048_576,
  ],
  [
    'vLLM, decoder prompt',
    400,
    plain(
      'The decoder prompt (length 17772) is longer than the maximum model length of 16384. Make sure that `max_model_len` is no smaller than the number of text tokens.',
    ),
    17_772,
    16_384,
  ],
  [
    'vLLM, as a server error',
    500,
    plain('The decoder prompt (length 17772) is longer than the maximum model length of 16384.'),
    17_772,
    16_384,
  ],
  [
    'vLLM, prompt length',
    400,
    plain('Prompt length of 5016 is longer than the maximum model length of 4096.'),
    5016,
    4096,
  ],
  [
    'vLLM, with pictures',
    500,
    plain(
      'The prompt (total length 25938) is too long to fit into the model (context length 4096). Make sure that `max_model_len` is no smaller than the number of text tokens plus multimodal tokens.',
    ),
    25_938,
    4096,
  ],
  [
    'vLLM, with the answer',
    400,
    plain(
      "'max_tokens' or 'max_completion_tokens' is too large: 2000. This model's maximum context length is 4096 tokens and your request has 2104 input tokens (2000 > 4096 - 2104).",
    ),
    2104,
    2096,
  ],
  [
    'SGLang and Together',
    400,
    openai("The input (265330 tokens) is longer than the model's context length (262144 tokens)."),
    265_330,
    262_144,
  ],
  [
    'TGI',
    422,
    {
      error:
        'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4031 `inputs` tokens and 200 `max_new_tokens`',
      error_type: 'validation',
    },
    4031,
    3896,
  ],
  [
    'llama.cpp',
    400,
    {
      error: {
        code: 400,
        message:
          'request (67311 tokens) exceeds the available context size (65536 tokens), try increasing it',
        type: 'exceed_context_size_error',
      },
    },
    67_311,
    65_536,
  ],
  [
    'LM Studio',
    400,
    {
      error:
        'Trying to keep the first 6269 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input',
    },
    6269,
    4096,
  ],
  ['Ollama', 400, { error: 'prompt too long; exceeded max context length by 4 tokens' }],
  [
    'Mistral',
    400,
    plain(
      'Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
    ),
    40_000,
    32_768,
  ],
  [
    'xAI',
    400,
    {
      code: 'Client specified an invalid argument',
      error: "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    },
    537_812,
    131_072,
  ],
  [
    'Cerebras',
    400,
    plain(
      'Please reduce the length of the messages or completion. Current length is 8203 while limit is 8192',
    ),
    8203,
    8192,
  ],
  [
    'Groq',
    400,
    openai('Please reduce the length of the messages or completion.', 'context_length_exceeded'),
  ],
  [
    'GitHub Copilot',
    400,
    openai(
      'prompt token count of 391491 exceeds the limit of 128000',
      'model_max_prompt_tokens_exceeded',
    ),
    391_491,
    128_000,
  ],
  [
    'Moonshot',
    400,
    openai('Invalid request: Your request exceeded model token limit: 8192 (requested: 9000)'),
    9000,
    8192,
  ],
  ['MiniMax', 400, anthropic('invalid params, context window exceeds limit (2013)')],
  [
    'DashScope',
    400,
    openai(
      '<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 983616]',
    ),
    undefined,
    983_616,
  ],
  ['Zhipu', 400, { error: { code: '1261', message: 'Prompt exceeds max length' } }],
  [
    'Volcengine',
    400,
    openai('Total tokens of image and text exceed max message tokens. Request id: 0217'),
  ],
  [
    'Cohere',
    400,
    plain(
      'too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292',
    ),
    4292,
    4081,
  ],
  [
    'Fireworks',
    400,
    openai('The prompt is too long: 8193, model maximum context length: 8191'),
    8193,
    8191,
  ],
  [
    'Poolside',
    400,
    openai('Input length 131393 exceeds the maximum allowed input length of 131040 tokens.'),
    131_393,
    131_040,
  ],
  [
    'DS4',
    400,
    openai('Prompt has 256468 tokens, but the configured context size is 131072 tokens'),
    256_468,
    131_072,
  ],
  [
    'Cloudflare',
    413,
    {
      errors: [
        {
          message:
            'AiError: The estimated number of input and maximum output tokens (35000) exceeded this model context window limit (24000)',
          code: 3010,
        },
      ],
      success: false,
    },
    35_000,
    24_000,
  ],
  ['Bedrock', 400, plain('Input is too long for requested model.')],
  [
    'OpenRouter, with tools',
    400,
    {
      error: {
        message:
          'This endpoint\'s maximum context length is 1048576 tokens. However, you requested about 1293741 tokens (1227853 of text input, 353 of tool input, 65535 in the output). Please reduce the length of either one, or use the "middle-out" transform to compress your prompt automatically.',
        code: 400,
      },
    },
    1_227_853,
    983_041,
  ],
]

function anthropic(message: string): object {
  return { type: 'error', error: { type: 'invalid_request_error', message } }
}

function openai(message: string, code: string | null = null): object {
  return { error: { message, type: 'invalid_request_error', param: null, code } }
}

function google(message: string): object {
  return { error: { code: 400, message, status: 'INVALID_ARGUMENT' } }
}

function plain(message: string): object {
  return { object: 'error', message, type: 'BadRequestError', param: null, code: 400 }
}

const others: [string, unknown][] = [
  ...(
    [
      [
        'a question about it',
        400,
        openai("Invalid value: 'what is the maximum context length of gpt-4?'."),
      ],
      [
        "a user's text that quotes an overflow",
        400,
        openai(
          `Invalid type for 'messages[0].content': expected a string, got "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens."`,
        ),
      ],
      [
        'a quoted overflow of another provider',
        400,
        openai("Unsupported value: 'prompt is too long: 9 tokens > 8 maximum'"),
      ],
      [
        'a question without quotation marks',
        400,
        openai('Cannot parse: what is the maximum context length of it'),
      ],
      [
        'tokens per minute',
        429,
        openai(
          'Request too large for gpt-4 in organization x on tokens per min (TPM): Limit 10000, Requested 12000.',
          'rate_limit_exceeded',
        ),
      ],
      [
        'tokens per minute with another status',
        400,
        openai('Too many tokens in the request: on tokens per min (TPM): Limit 10000'),
      ],
      [
        'throttling by Bedrock',
        400,
        plain(
          'ThrottlingException: Too many tokens in the request, please wait before trying again.',
        ),
      ],
      [
        'an answer that is too long for OpenAI',
        400,
        openai(
          'max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.',
        ),
      ],
      [
        'an answer that is too long for Anthropic',
        400,
        anthropic(
          'max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens for claude-3-5-sonnet',
        ),
      ],
      [
        'an answer that is too long for TGI',
        422,
        { error: 'Input validation error: `max_new_tokens` must be <= 4096. Given: 5000' },
      ],
      [
        'an answer that is too long for DashScope',
        400,
        openai('Range of max_tokens should be [1, 8192]'),
      ],
      [
        'a list that is too long',
        400,
        openai(
          "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 140 instead.",
        ),
      ],
      ['too many pictures', 400, openai('Request exceeded the allowed number of images')],
      ['an outage that speaks of a length', 500, openai('maximum context length is 4096 tokens')],
      ['a balance', 402, openai('Insufficient balance')],
    ] as const
  ).map(([name, status, body]): [string, unknown] => [
    name,
    { status, body: JSON.stringify(body) },
  ]),
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

  it.each(bodies)('[RC4] recognises the body of %s (%i)', (_name, status, body, sent, limit) => {
    const named = {
      ...(limit === undefined ? {} : { limit }),
      ...(sent === undefined ? {} : { sent }),
    }
    for (const error of [
      { status, body: JSON.stringify(body) },
      { statusCode: status, responseBody: JSON.stringify(body, null, 2), message: 'Bad Request' },
      Object.assign(new Error(`${status} ${JSON.stringify(body)}`), { status, error: body }),
      Object.assign(new Error(`${status} ${JSON.stringify(body)}`), { status }),
    ]) {
      expect(isContextLengthError(error)).toBe(true)
      expect(contextLengthNumbers(error)).toEqual(named)
    }
  })

  it.each(others)('[E1] does not take %s for an overflow', (_name, error) => {
    expect(isContextLengthError(error)).toBe(false)
  })
})
