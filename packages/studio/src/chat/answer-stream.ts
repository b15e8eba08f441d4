// One streamed answer of a chat completion, as the chat shows it while it arrives.

import { EventSourceParserStream } from 'eventsource-parser/stream'
import { endOfStream, openaiChatAnswers, parseEvent } from 'oriel/providers'
import { ApiError } from '../api.ts'
import type { Json, JsonObject } from '../contract.ts'
import { type Call, textIn } from './messages.ts'

export interface Answer {
  readonly text: string
  readonly calls: readonly Call[]
}

/** Reads the answer to its end and reports each state on the way. Throws ApiError where the stream carries an error. */
export async function readAnswer(
  body: ReadableStream<Uint8Array>,
  onProgress: (answer: Answer) => void,
): Promise<Answer> {
  let answer: Answer = { text: '', calls: [] }
  const stream = openaiChatAnswers.stream()
  const events = (body as ReadableStream<BufferSource>)
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream())
  for await (const { data } of events) {
    stream.take(parseEvent(data))
    if (stream.error !== undefined) {
      throw new ApiError(502, 'upstream', String(stream.error.message ?? 'The answer broke off.'))
    }
    if (data === endOfStream) break
    const message = stream.answer()?.messages[0]
    if (message === undefined) continue
    answer = shown(message as JsonObject)
    onProgress(answer)
  }
  return answer
}

function shown(message: JsonObject): Answer {
  const calls = Array.isArray(message.tool_calls) ? (message.tool_calls as JsonObject[]) : []
  return { text: textIn(message), calls: calls.map(callOf) }
}

function callOf({ id, function: called, custom }: JsonObject): Call {
  const payload = (custom ?? called ?? {}) as JsonObject
  return {
    id: textOr(id),
    name: textOr(payload.name),
    arguments: textOr(payload.arguments ?? payload.input),
    ...(custom === undefined ? {} : { isCustom: true }),
  }
}

function textOr(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}
