// Upstreams that open a stream with 200 and then refuse the request in it: recovered while no content was relayed.

import { afterEach, describe, expect, it } from 'vitest'
import { key } from './faults/raw-client.ts'
import { openGateway, type Target } from './target.ts'
import type { Action } from './upstream/action.ts'

let target: Target | undefined
afterEach(() => target?.close())

const headers = { authorization: `Bearer ${key}`, 'x-api-key': key, 'x-goog-api-key': key }

type Event = object | string

interface Case {
  readonly path: string
  readonly request: (turns: readonly string[]) => object
  /** What comes before any content. */
  readonly opening: readonly Event[]
  readonly refusal: readonly Event[]
  readonly otherError: readonly Event[]
  readonly content: readonly Event[]
}

const roles = (turns: readonly string[]): object[] =>
  turns.map((content, at) => ({ role: at % 2 === 0 ? 'user' : 'assistant', content }))
const response = { id: 'resp_1', object: 'response', status: 'in_progress', output: [] }
const failed = (code: string, message: string): object => ({
  type: 'response.failed',
  response: { ...response, status: 'failed', error: { code, message } },
})
const tooLong = 'Your input exceeds the context window of this model. Please adjust your input.'

const cases: Readonly<Record<string, Case>> = {
  'Chat Completions': {
    path: '/v1/chat/completions',
    request: (turns) => ({ model: 'm', stream: true, messages: roles(turns) }),
    opening: [{ choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] }],
    refusal: [
      {
        error: {
          message:
            "This model's maximum context length is 4096 tokens. However, you requested 9000 tokens.",
          code: 400,
        },
      },
      '[DONE]',
    ],
    otherError: [{ error: { message: 'The server is overloaded.', code: 503 } }],
    content: [
      { choices: [{ index: 0, delta: { content: 'Here it is.' } }] },
      { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
      '[DONE]',
    ],
  },
  Responses: {
    path: '/v1/responses',
    request: (turns) => ({ model: 'm', stream: true, input: roles(turns) }),
    opening: [
      { type: 'response.created', response },
      { type: 'response.in_progress', response },
    ],
    refusal: [failed('context_length_exceeded', tooLong)],
    otherError: [failed('server_error', 'The model failed.')],
    content: [
      { type: 'response.output_text.delta', item_id: 'i', output_index: 0, delta: 'Here it is.' },
      {
        type: 'response.completed',
        response: {
          ...response,
          status: 'completed',
          output: [
            {
              ...{ type: 'message', id: 'i', role: 'assistant', status: 'completed' },
              content: [{ type: 'output_text', text: 'Here it is.', annotations: [] }],
            },
          ],
        },
      },
    ],
  },
  Messages: {
    path: '/v1/messages',
    request: (turns) => ({ model: 'm', stream: true, max_tokens: 100, messages: roles(turns) }),
    opening: [
      {
        type: 'message_start',
        message: { id: 'm1', type: 'message', role: 'assistant', content: [], usage: {} },
      },
      { type: 'ping' },
    ],
    refusal: [
      {
        type: 'error',
        error: {
          type: 'invalid_request_error',
          message: 'prompt is too long: 9000 tokens > 4096 maximum',
        },
      },
    ],
    otherError: [{ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }],
    content: [
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Here it is.' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 3 } },
      { type: 'message_stop' },
    ],
  },
  Gemini: {
    path: '/v1beta/models/gemini-test:streamGenerateContent?alt=sse',
    request: (turns) => ({
      contents: turns.map((text, at) => ({
        role: at % 2 === 0 ? 'user' : 'model',
        parts: [{ text }],
      })),
    }),
    opening: [],
    refusal: [
      {
        error: {
          code: 400,
          message:
            'The input token count (9000) exceeds the maximum number of tokens allowed (4096).',
          status: 'INVALID_ARGUMENT',
        },
      },
    ],
    otherError: [{ error: { code: 503, message: 'Overloaded', status: 'UNAVAILABLE' } }],
    content: [
      {
        candidates: [
          { content: { role: 'model', parts: [{ text: 'Here it is.' }] }, finishReason: 'STOP' },
        ],
      },
    ],
  },
}

function stream(events: readonly Event[]): Action {
  const lines = events.map((event) => {
    const name = typeof event === 'object' && 'type' in event ? `event: ${event.type}\n` : ''
    return `${name}data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`
  })
  const headers = { 'content-type': 'text/event-stream' }
  return { type: 'raw', status: 200, headers, body: lines.join('') }
}

/** Asks once; the first requests are answered as `answers` says, and all others well. */
async function ask(
  { path, request, opening, content }: Case,
  answers: readonly (readonly Event[])[],
): Promise<{ readonly text: string; readonly sent: readonly number[] }> {
  target = await openGateway({
    answer: ({ index }) => stream(answers[index] ?? [...opening, ...content]),
  })
  const body = JSON.stringify(request(turns))
  const response = await fetch(`${target.url}${path}`, { method: 'POST', body, headers })
  expect(response.status).toBe(200)
  const text = await response.text()
  const sent = target.upstream.requests.map((one) => JSON.stringify(one.body).length)
  return { text, sent }
}

const turns = Array.from({ length: 9 }, (_, n) => `Part ${n}. ${'Some words of it. '.repeat(200)}`)
turns.push('Noted.', 'And now?')

describe.each(Object.entries(cases))('a stream of %s', (_name, one) => {
  const { opening, refusal, otherError, content } = one

  it('[RC6] that begins and then refuses the request as too long is asked for again, smaller', async () => {
    const { text, sent } = await ask(one, [[...opening, ...refusal]])
    expect(sent).toHaveLength(2)
    expect(sent[1]).toBeLessThan(sent[0] as number)
    expect(text).toContain('Here it is.')
    expect(text).not.toMatch(/error|response\.failed/)
    // The opening of the refused stream was never relayed.
    const [first] = opening
    if (first !== undefined) expect(text.split(JSON.stringify(first))).toHaveLength(2)
  })

  it('[RC6] that refuses twice is relayed as it first came', async () => {
    const refused = [...opening, ...refusal]
    const { text, sent } = await ask(one, [refused, refused])
    expect(sent).toHaveLength(2)
    expect(text).toBe(bodyOf(refused))
  })

  it('[RC6] that fails for another reason, or after content, is relayed and not asked for again', async () => {
    const failed = [...opening, ...otherError]
    expect(await ask(one, [failed])).toMatchObject({
      text: bodyOf(failed),
      sent: [expect.any(Number)],
    })
    await target?.close()
    const [first] = content
    const late = [...opening, first as Event, ...refusal]
    expect(await ask(one, [late])).toMatchObject({ text: bodyOf(late), sent: [expect.any(Number)] })
  })
})

function bodyOf(events: readonly Event[]): string {
  const action = stream(events)
  return 'body' in action ? String(action.body) : ''
}
