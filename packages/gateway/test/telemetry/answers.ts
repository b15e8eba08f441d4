// What a provider answers, whole and streamed, in the three formats: with every number that telemetry reads.

export type Format = 'openai-chat' | 'openai-responses' | 'anthropic'

export const paths: Readonly<Record<Format, string>> = {
  'openai-chat': '/v1/chat/completions',
  'openai-responses': '/v1/responses',
  anthropic: '/v1/messages',
}

export function bodyOf(format: Format, text: string, rest: object = {}): string {
  const messages = [{ role: 'user', content: text }]
  if (format === 'openai-responses') {
    return JSON.stringify({ model: 'gpt-5', max_output_tokens: 500, input: messages, ...rest })
  }
  const model = format === 'anthropic' ? 'claude-sonnet-4-5' : 'gpt-5'
  return JSON.stringify({ model, max_tokens: 500, messages, ...rest })
}

const chatUsage = {
  prompt_tokens: 120,
  completion_tokens: 30,
  prompt_tokens_details: { cached_tokens: 80 },
  completion_tokens_details: { reasoning_tokens: 12 },
}
const responsesUsage = {
  input_tokens: 120,
  output_tokens: 30,
  input_tokens_details: { cached_tokens: 80 },
  output_tokens_details: { reasoning_tokens: 12 },
}
const anthropicUsage = {
  input_tokens: 30,
  cache_read_input_tokens: 80,
  cache_creation_input_tokens: 10,
  output_tokens: 30,
}

/** A whole answer that says `text`. */
export function wholeAnswer(format: Format, text: string): string {
  if (format === 'openai-chat') {
    return JSON.stringify({
      id: 'chatcmpl-1',
      model: 'gpt-5-2026',
      choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: text } }],
      usage: chatUsage,
    })
  }
  if (format === 'openai-responses') {
    return JSON.stringify({
      id: 'resp_1',
      model: 'gpt-5-2026',
      status: 'completed',
      output: [
        {
          type: 'message',
          id: 'msg_1',
          status: 'completed',
          role: 'assistant',
          content: [{ type: 'output_text', text, annotations: [] }],
        },
      ],
      usage: responsesUsage,
    })
  }
  return JSON.stringify({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-4-5-20260101',
    content: [{ type: 'text', text }],
    stop_reason: 'end_turn',
    usage: anthropicUsage,
  })
}

/** The same as a stream of events, one chunk each. */
export function streamedAnswer(format: Format, text: string): readonly string[] {
  if (format === 'openai-chat') {
    const chunk = (choice: object, rest: object = {}): string =>
      `data: ${JSON.stringify({ id: 'chatcmpl-1', model: 'gpt-5-2026', object: 'chat.completion.chunk', choices: [{ index: 0, ...choice }], ...rest })}\n\n`
    return [
      chunk({ delta: { role: 'assistant', content: text } }),
      chunk({ delta: {}, finish_reason: 'stop' }),
      `data: ${JSON.stringify({ id: 'chatcmpl-1', model: 'gpt-5-2026', choices: [], usage: chatUsage })}\n\n`,
      'data: [DONE]\n\n',
    ]
  }
  const event = (data: { type: string; [field: string]: unknown }): string =>
    `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`
  if (format === 'openai-responses') {
    const response: unknown = JSON.parse(wholeAnswer(format, text))
    return [
      event({ type: 'response.output_text.delta', delta: text }),
      event({ type: 'response.completed', response }),
    ]
  }
  const { content: _content, ...message } = JSON.parse(wholeAnswer(format, text)) as Record<
    string,
    unknown
  >
  return [
    event({ type: 'message_start', message: { ...message, content: [], stop_reason: null } }),
    event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
    event({ type: 'content_block_stop', index: 0 }),
    event({
      type: 'message_delta',
      delta: { stop_reason: 'end_turn' },
      usage: { output_tokens: 30 },
    }),
    event({ type: 'message_stop' }),
  ]
}
