// A scripted answer in the format of generateContent.

import type { JsonObject } from '../../core/log/json.ts'
import { parseArguments } from '../arguments.ts'
import type { Measured, Part, Reply, WriteOptions, WrittenAnswer, WrittenEvent } from '../write.ts'
import { pieces } from '../write.ts'
import { geminiFormat } from './parts.ts'

export function writeAnswer(reply: Reply, options: WriteOptions): WrittenAnswer {
  const { request, measured, makeId } = options
  const head = { modelVersion: request.model ?? 'demo', responseId: makeId('resp') }
  const said = reply.filter((part) => part.type !== 'text' || part.text !== '')
  const parts = said.map((part) => partOf(part, options))
  const usageMetadata = usageOf(measured)
  const candidate = (shown: readonly JsonObject[], isEnd: boolean): JsonObject => ({
    content: { role: 'model', parts: shown },
    ...(isEnd ? { finishReason: 'STOP' } : {}),
    index: 0,
  })
  const chunk = (shown: readonly JsonObject[], isEnd = false): WrittenEvent => ({
    data: { candidates: [candidate(shown, isEnd)], usageMetadata, ...head },
  })
  const events = parts.flatMap((part) => cut(part).map((piece) => chunk([piece])))
  return {
    body: { candidates: [candidate(parts, true)], usageMetadata, ...head },
    events: [...events, chunk([{ text: '' }], true)],
  }
}

function partOf(part: Part, { makeId, seal }: WriteOptions): JsonObject {
  switch (part.type) {
    case 'reasoning':
      return { text: part.text, thought: true, thoughtSignature: seal(part.text) }
    case 'redacted':
      return { thought: true, thoughtSignature: part.data }
    case 'text':
      return { text: part.text }
    default: {
      const args = parseArguments(part.arguments, geminiFormat)
      return { functionCall: { id: makeId('call'), name: part.name, args } }
    }
  }
}

/** Words come in pieces, everything else whole. */
function cut(part: JsonObject): readonly JsonObject[] {
  if (typeof part.text !== 'string' || part.thoughtSignature !== undefined) return [part]
  return pieces(part.text).map((text) => ({ ...part, text }))
}

function usageOf({ input, cached, output, reasoning }: Measured): JsonObject {
  return {
    promptTokenCount: input,
    ...(cached === 0 ? {} : { cachedContentTokenCount: cached }),
    candidatesTokenCount: output - reasoning,
    ...(reasoning === 0 ? {} : { thoughtsTokenCount: reasoning }),
    totalTokenCount: input + output,
  }
}
