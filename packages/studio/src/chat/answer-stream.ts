// One streamed answer of a chat completion, put together as it arrives.

import { EventSourceParserStream } from 'eventsource-parser/stream'
import { ApiError } from '../api.ts'
import type { Call } from './messages.ts'

export interface Answer {
  readonly text: string
  readonly calls: readonly Call[]
}

interface Delta {
  readonly content?: string | null
  readonly tool_calls?: readonly {
    readonly index: number
    readonly id?: string
    readonly function?: { readonly name?: string; readonly arguments?: string }
  }[]
}

interface Chunk {
  readonly choices?: readonly { readonly delta?: Delta }[]
  readonly error?: { readonly message?: unknown }
}

/** Reads the answer to its end and reports each state on the way. Throws ApiError where the stream carries an error. */
export async function readAnswer(
  body: ReadableStream<Uint8Array>,
  onProgress: (answer: Answer) => void,
): Promise<Answer> {
  let answer: Answer = { text: '', calls: [] }
  const events = (body as ReadableStream<BufferSource>)
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream())
  for await (const { data } of events) {
    if (data === '[DONE]') break
    const chunk = JSON.parse(data) as Chunk
    if (chunk.error !== undefined) {
      throw new ApiError(502, 'upstream', String(chunk.error.message ?? 'The answer broke off.'))
    }
    const delta = chunk.choices?.[0]?.delta
    if (delta === undefined) continue
    answer = extend(answer, delta)
    onProgress(answer)
  }
  return answer
}

/** An answer with one more piece. */
function extend({ text, calls }: Answer, delta: Delta): Answer {
  const grown = [...calls]
  for (const piece of delta.tool_calls ?? []) {
    const before = grown[piece.index] ?? { id: '', name: '', arguments: '' }
    grown[piece.index] = {
      id: before.id || (piece.id ?? ''),
      name: before.name + (piece.function?.name ?? ''),
      arguments: before.arguments + (piece.function?.arguments ?? ''),
    }
  }
  return { text: text + (delta.content ?? ''), calls: grown }
}
