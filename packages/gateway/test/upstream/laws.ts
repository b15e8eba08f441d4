// Everything that a request is judged by before it is answered: the library's own rules, and ours beside them.

import { type JsonObject, validate, type WireFormat } from 'oriel'
import { anthropicBreaches } from './laws-anthropic.ts'
import { chatBreaches } from './laws-chat.ts'
import { geminiBreaches } from './laws-gemini.ts'
import { responsesBreaches } from './laws-responses.ts'

export interface Breach {
  readonly rule: string
  readonly message: string
  readonly param?: string
}

/** The rules as this upstream knows them by itself. */
export const ownLaws = {
  'openai-chat': chatBreaches,
  'openai-responses': responsesBreaches,
  anthropic: anthropicBreaches,
  gemini: geminiBreaches,
} as const

/** Every rule that a request breaks; ours first, since they have the provider's words. */
export function breachesOf(
  format: WireFormat,
  raw: Uint8Array,
  body: JsonObject,
  server: { readonly knows?: boolean } = {},
): readonly Breach[] {
  return [
    ...textBreaches(raw),
    ...ownLaws[format](body, server),
    ...validate(format, body).map(({ rule, path, message }) => ({ rule, message, param: path })),
  ]
}

/** Bytes that are no UTF-8, or strings with half a character. */
function textBreaches(raw: Uint8Array): readonly Breach[] {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(raw)
    let isWhole = true
    JSON.parse(text, (key: string, value: unknown) => {
      isWhole &&= key.isWellFormed() && (typeof value !== 'string' || value.isWellFormed())
      return value
    })
    const message = 'The request body is not valid JSON: no low surrogate in string'
    return isWhole ? [] : [{ rule: 'A18', message }]
  } catch {
    return [{ rule: 'A18', message: 'The request body is not valid JSON.' }]
  }
}
