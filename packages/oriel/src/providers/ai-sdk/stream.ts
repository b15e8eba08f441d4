// Answers of a language model of the AI SDK, as the message that the SDK itself makes of them.

import { cloneJson, isObject, type Json, type JsonObject } from '../../core/log/json.ts'
import { bytesToBase64 } from '../../core/text/bytes.ts'
import {
  type Answer,
  type AnswerFormat,
  type AnswerStream,
  errorOf,
  type Facts,
  factsOf,
  isText,
  noteFacts,
  objectsIn,
  usageOf,
} from '../stream.ts'

/** A part of an answer, whole or streamed. Its values may be instances of classes. */
type Part = Readonly<Record<string, unknown>>

export const answers: AnswerFormat = {
  stream: () => new PartStream(),
  answer(result) {
    const { content, usage, response, finishReason } = result
    const { id, modelId: model } = isObject(response) ? response : {}
    const facts = factsOf({ id, model, finish: reasonOf(finishReason) })
    return answerOf(objectsIn(content), usage, facts)
  },
}

class PartStream implements AnswerStream {
  readonly #parts: Part[] = []
  /** Where the texts stand that still grow, by kind and id. */
  readonly #open = new Map<string, number>()
  readonly #facts: Facts = {}
  #usage: unknown
  #error: JsonObject | undefined
  #isOver = false

  take(part: unknown): void {
    if (!isObject(part) || !isText(part.type) || this.#isOver) return
    const { type, id } = part
    const [, kind = '', phase = ''] = /^(text|reasoning)-(start|delta|end)$/.exec(type) ?? []
    const key = `${kind} ${isText(id) ? id : ''}`
    if (phase === 'start') {
      this.#open.set(key, this.#parts.length)
      this.#parts.push({ type: kind, text: '', ...metadataOf(part) })
    } else if (phase !== '') this.#grow(key, part)
    else if (wholeTypes.has(type)) this.#parts.push(part)
    else if (type === 'response-metadata') {
      noteFacts(this.#facts, { id, model: part.modelId, finish: undefined })
    } else if (type === 'error') this.#error ??= errorOf(errorText(part.error)) ?? {}
    else if (type === 'finish') {
      this.#isOver = true
      this.#usage = part.usage
      noteFacts(this.#facts, {
        id: undefined,
        model: undefined,
        finish: reasonOf(part.finishReason),
      })
    }
  }

  /** An error does not end a stream here: the SDK continues until the model finishes. */
  get isComplete(): boolean {
    return this.#isOver
  }

  get isOver(): boolean {
    return this.#isOver
  }

  get error(): JsonObject | undefined {
    return this.#error
  }

  answer(): Answer | undefined {
    return answerOf(this.#parts, this.#usage, { ...this.#facts })
  }

  #grow(key: string, part: Part): void {
    const index = this.#open.get(key)
    const before = index === undefined ? undefined : this.#parts[index]
    if (index === undefined || before === undefined) return
    const text = `${String(before.text)}${typeof part.delta === 'string' ? part.delta : ''}`
    this.#parts[index] = { ...before, text, ...metadataOf(part) }
  }
}

const wholeTypes: ReadonlySet<string> = new Set([
  ...['tool-call', 'tool-result', 'tool-approval-request'],
  ...['file', 'reasoning-file', 'custom'],
])

function answerOf(parts: readonly Part[], usage: unknown, response: Facts): Answer | undefined {
  const content = parts.flatMap(messageParts)
  const counts = usageOf(plain(usage))
  if (content.length === 0 && counts.usage === undefined) return undefined
  const messages = content.length === 0 ? [] : [{ role: 'assistant', content }]
  return { messages, ...counts, response }
}

function metadataOf({ providerMetadata }: Part): Part {
  return isObject(providerMetadata) ? { providerMetadata } : {}
}

/** What a part of an answer is in a message: metadata that came out goes back in as options. */
function messageParts(part: Part): readonly Json[] {
  const { type, providerMetadata, ...fields } = part
  const options = isObject(providerMetadata) ? { providerOptions: providerMetadata } : {}
  const kept = (value: Part): readonly Json[] => {
    const copy = plain({ type, ...value, ...options })
    return copy === undefined ? [] : [copy]
  }
  switch (type) {
    case 'text':
      return fields.text === '' ? [] : kept({ text: fields.text })
    case 'reasoning':
      return kept({ text: fields.text })
    case 'tool-call': {
      const { toolCallId, toolName, providerExecuted } = fields
      const own = providerExecuted === true ? { providerExecuted } : {}
      return kept({ toolCallId, toolName, input: inputOf(fields.input), ...own })
    }
    case 'tool-result': {
      if (fields.preliminary === true) return []
      const { toolCallId, toolName, result, isError } = fields
      const output = { type: isError === true ? 'error-json' : 'json', value: result ?? null }
      return kept({ toolCallId, toolName, output })
    }
    case 'file':
    case 'reasoning-file':
    case 'custom':
    case 'tool-approval-request':
      return kept(fields)
    default:
      // Sources are for the user's page.
      return []
  }
}

/** Bytes become text. What is not JSON cannot be sent back by anyone: undefined. */
function plain(value: unknown): Json | undefined {
  try {
    return cloneJson(value, 'answer', (one) => (one instanceof URL ? one.href : bytesToBase64(one)))
  } catch {
    return undefined
  }
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

/** A word, or from version 3 of the specification on an object with the SDK's and the provider's word. */
function reasonOf(reason: unknown): unknown {
  return isObject(reason) ? (reason.raw ?? reason.unified) : reason
}

function errorText(error: unknown): unknown {
  return error instanceof Error ? error.message : error
}
