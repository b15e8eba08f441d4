// What a language model of the AI SDK answered, as the message that the SDK itself makes of it.

import { cloneJson, isObject, type JsonObject } from '../core/json.ts'
import { classText } from '../formats/ai-sdk-decode.ts'

/** A part of an answer, whole or streamed. */
export type Content = Readonly<Record<string, unknown>> & { readonly type: string }

/** The assistant message of an answer; none for an answer that says nothing. */
export function answerOf(content: readonly Content[]): readonly JsonObject[] {
  const parts = content.flatMap(partOf)
  return parts.length === 0 ? [] : [{ role: 'assistant', content: parts }]
}

/** Collects an answer as it streams in. */
export class StreamedAnswer {
  readonly #parts: Content[] = []
  readonly #open = new Map<string, number>()

  add(part: Content): void {
    const { type, id } = part
    const [kind, phase] = splitType(type)
    if (phase === 'start') {
      this.#open.set(`${kind} ${String(id)}`, this.#parts.length)
      this.#parts.push({ type: kind, text: '', ...metadataOf(part) })
    } else if (phase !== undefined) this.#change(`${kind} ${String(id)}`, part)
    else if (wholeTypes.includes(type)) this.#parts.push(part)
  }

  messages(): readonly JsonObject[] {
    return answerOf(this.#parts)
  }

  #change(key: string, part: Content): void {
    const index = this.#open.get(key)
    const before = index === undefined ? undefined : this.#parts[index]
    if (index === undefined || before === undefined) return
    const text = `${String(before.text)}${typeof part.delta === 'string' ? part.delta : ''}`
    this.#parts[index] = { ...before, text, ...metadataOf(part) }
  }
}

const wholeTypes = [
  ...['tool-call', 'tool-result', 'tool-approval-request'],
  ...['file', 'reasoning-file', 'custom'],
]

/** `text-delta` is the phase `delta` of a text; other types have none. */
function splitType(type: string): readonly [kind: string, phase?: string] {
  const match = /^(text|reasoning)-(start|delta|end)$/.exec(type)
  return match === null ? [type] : [match[1] as string, match[2] as string]
}

function metadataOf({ providerMetadata }: Content): JsonObject {
  return isObject(providerMetadata) ? { providerMetadata: providerMetadata as JsonObject } : {}
}

/** What a part of an answer is in a message: metadata that came out goes back in as options. */
function partOf(part: Content): readonly JsonObject[] {
  const { type, providerMetadata, ...fields } = part
  const options = isObject(providerMetadata) ? { providerOptions: providerMetadata } : {}
  switch (type) {
    case 'text':
      return fields.text === '' ? [] : [plain({ type, text: fields.text, ...options })]
    case 'reasoning':
      return [plain({ type, text: fields.text, ...options })]
    case 'tool-call': {
      const { toolCallId, toolName, providerExecuted } = fields
      const own = providerExecuted === true ? { providerExecuted } : {}
      const input = inputOf(fields.input)
      return [plain({ type, toolCallId, toolName, input, ...own, ...options })]
    }
    case 'tool-result': {
      if (fields.preliminary === true) return []
      const { toolCallId, toolName, result, isError } = fields
      const output = { type: isError === true ? 'error-json' : 'json', value: result ?? null }
      return [plain({ type, toolCallId, toolName, output, ...options })]
    }
    case 'file':
    case 'reasoning-file':
    case 'custom':
    case 'tool-approval-request':
      return [plain({ type, ...fields, ...options })]
    default:
      // Sources are for the user's page.
      return []
  }
}

/** Bytes become text; what is not JSON cannot be sent back by anyone. */
function plain(part: Readonly<Record<string, unknown>>): JsonObject {
  const read = (value: object): string | undefined => classText(value)
  return cloneJson(part, 'answer', read) as JsonObject
}

/** Calls carry their arguments as text. */
function inputOf(input: unknown): unknown {
  if (typeof input !== 'string') return input
  try {
    return JSON.parse(input === '' ? '{}' : input)
  } catch {
    return input
  }
}
