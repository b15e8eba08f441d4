// Responses of the mock upstream in the three formats, encoded in advance.

/** The formats, by the end of the path. */
export type Format = 'chat' | 'responses' | 'messages'

export const paths: Readonly<Record<Format, string>> = {
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
  messages: '/v1/messages',
}

/** The model that every request names. */
export const model = 'gpt-4.1'

/** The model's only answer: the mean length of recorded agents. */
export const answerText =
  'I looked at the file and the failing check: the total is wrong because two lines are counted twice. '.repeat(
    4,
  )

/** Precedes the write time in each chunk, in microseconds of the monotonic clock. */
export const timeMark = '"at":"'
/** Digits of that time. */
export const timeDigits = 16

/** A whole answer as JSON. */
export function wholeAnswer(format: Format): Buffer {
  return Buffer.from(JSON.stringify(wholes[format]))
}

/** The events of a streamed answer in so many pieces: opening, one buffer per piece, ending. */
export function streamedAnswer(
  format: Format,
  pieces: number,
): {
  readonly opening: Buffer
  readonly pieces: readonly Buffer[]
  readonly ending: Buffer
} {
  const size = Math.ceil(answerText.length / pieces)
  const texts = Array.from({ length: pieces }, (_, index) =>
    answerText.slice(index * size, (index + 1) * size),
  )
  const { opening, piece, ending } = events[format]
  return {
    opening: Buffer.from(opening.map(eventText).join('')),
    pieces: texts.map((text) => Buffer.from(eventText(piece(text)))),
    ending: Buffer.from(ending.map(eventText).join('') + (format === 'chat' ? done : '')),
  }
}

/** Last text of a complete answer. */
export const lastWords: Readonly<Record<Format, string>> = {
  chat: '[DONE]',
  responses: 'response.completed',
  messages: 'message_stop',
}

type Fields = Readonly<Record<string, unknown>>

const done = 'data: [DONE]\n\n'
const created = 1_790_000_000
const at = '0'.repeat(timeDigits)
/**
 * Placeholder for the request's tokens, which the mock fills in: managers that use provider counts
 * need plausible ones.
 */
const inputMark = 987_654_321
const usage = {
  prompt_tokens: inputMark,
  completion_tokens: 100,
  total_tokens: inputMark,
}
const counts = { input_tokens: inputMark, output_tokens: 100 }

/** The answer to a request of so many bytes. */
export function withInput(answer: Buffer, bytes: number): Buffer {
  const tokens = String(Math.ceil(bytes / bytesPerToken))
  return Buffer.from(answer.toString('latin1').replaceAll(String(inputMark), tokens), 'latin1')
}

const bytesPerToken = 4
const item = {
  id: 'msg_mock',
  type: 'message',
  status: 'completed',
  role: 'assistant',
  content: [{ type: 'output_text', text: answerText, annotations: [] }],
}
const response = {
  id: 'resp_mock',
  object: 'response',
  created_at: created,
  model,
  status: 'completed',
  error: null,
  incomplete_details: null,
  output: [item],
  usage: { ...counts, total_tokens: inputMark },
}
const message = {
  id: 'msg_mock',
  type: 'message',
  role: 'assistant',
  model,
  content: [{ type: 'text', text: answerText }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: counts,
}

const wholes: Readonly<Record<Format, Fields>> = {
  chat: {
    id: 'chatcmpl-mock',
    object: 'chat.completion',
    created,
    model,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: answerText, refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage,
  },
  responses: response,
  messages: message,
}

interface Events {
  readonly opening: readonly Fields[]
  piece(text: string): Fields
  readonly ending: readonly Fields[]
}

function chatChunk(delta: Fields, finish: string | null = null): Fields {
  return {
    id: 'chatcmpl-mock',
    object: 'chat.completion.chunk',
    created,
    model,
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
  }
}

const place = { item_id: item.id, output_index: 0, content_index: 0 }
const part = { type: 'output_text', text: '', annotations: [] }

const events: Readonly<Record<Format, Events>> = {
  chat: {
    opening: [chatChunk({ role: 'assistant', content: '' })],
    piece: (text) => ({ ...chatChunk({ content: text }), at }),
    ending: [chatChunk({}, 'stop'), { ...chatChunk({}), choices: [], usage }],
  },
  responses: {
    opening: [
      { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { ...item, status: 'in_progress', content: [] },
      },
      { type: 'response.content_part.added', ...place, part },
    ],
    piece: (delta) => ({ type: 'response.output_text.delta', ...place, delta, at }),
    ending: [
      { type: 'response.output_text.done', ...place, text: answerText },
      { type: 'response.content_part.done', ...place, part: item.content[0] },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response },
    ],
  },
  messages: {
    opening: [
      { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ],
    piece: (text) => ({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'text_delta', text },
      at,
    }),
    ending: [
      { type: 'content_block_stop', index: 0 },
      {
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: counts,
      },
      { type: 'message_stop' },
    ],
  },
}

function eventText(data: Fields): string {
  const name = typeof data.type === 'string' ? `event: ${data.type}\n` : ''
  return `${name}data: ${JSON.stringify(data)}\n\n`
}
