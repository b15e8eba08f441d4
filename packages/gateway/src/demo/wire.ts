// The three wire formats: which path speaks which, and how each says an answer.

import type { JsonObject, WireFormat } from 'oriel'
import type { Reply, WireAnswer, WireOptions } from './reply.ts'
import { anthropicAnswer } from './wire-anthropic.ts'
import { chatAnswer } from './wire-chat.ts'
import { responsesAnswer } from './wire-responses.ts'

const answers: Readonly<Record<WireFormat, (reply: Reply, options: WireOptions) => WireAnswer>> = {
  'openai-chat': chatAnswer,
  'openai-responses': responsesAnswer,
  anthropic: anthropicAnswer,
}

/** The format that a path speaks. */
export const formatOfPath: ReadonlyMap<string, WireFormat> = new Map([
  ['/v1/chat/completions', 'openai-chat'],
  ['/v1/responses', 'openai-responses'],
  ['/v1/messages', 'anthropic'],
])

export function wireAnswer(format: WireFormat, reply: Reply, options: WireOptions): WireAnswer {
  return answers[format](reply, options)
}

/** The bytes of a stream, event by event; chat streams end with `[DONE]`. */
export function streamTexts(format: WireFormat, { events }: WireAnswer): readonly string[] {
  const texts = events.map(({ event, data }) => {
    const name = event === undefined ? '' : `event: ${event}\n`
    return `${name}data: ${JSON.stringify(data)}\n\n`
  })
  return format === 'openai-chat' ? [...texts, 'data: [DONE]\n\n'] : texts
}

/** The list of messages or items of a request in any format; a text as input is one user message. */
export function messagesOf(format: WireFormat, body: JsonObject): readonly unknown[] {
  const list = format === 'openai-responses' ? body.input : body.messages
  if (typeof list === 'string') return [{ type: 'message', role: 'user', content: list }]
  return Array.isArray(list) ? list : []
}
