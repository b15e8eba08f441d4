// A streamed chat completion, put together again from its pieces.

import { isObject, type Json, type JsonObject } from '../core/json.ts'
import type { CallUsage } from './conversation.ts'
import { type Answered, type Listener, usageOf } from './managed-fetch.ts'

/** Fields of a message that stream in as pieces of text. */
const textFields = ['content', 'refusal', 'reasoning_content'] as const

export class ChatListener implements Listener {
  readonly #texts = new Map<string, string>()
  readonly #calls = new Map<number, JsonObject>()
  #usage: CallUsage | undefined
  #isFinished = false

  hear({ choices, usage }: JsonObject): void {
    this.#usage = usageOf(usage) ?? this.#usage
    const list: readonly unknown[] = Array.isArray(choices) ? choices : []
    for (const choice of list) {
      if (!isObject(choice)) continue
      if ((choice.finish_reason ?? null) !== null) this.#isFinished = true
      if (isObject(choice.delta)) this.#take(choice.delta as JsonObject)
    }
  }

  answered(): Answered | undefined {
    if (!this.#isFinished) return undefined
    const calls = [...this.#calls].sort(([a], [b]) => a - b).map(([, call]) => call)
    const message = {
      role: 'assistant',
      content: null,
      ...Object.fromEntries(this.#texts),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    }
    const isEmpty = this.#texts.size === 0 && calls.length === 0
    return { messages: isEmpty ? [] : [message], usage: this.#usage }
  }

  #take(delta: JsonObject): void {
    for (const key of textFields) {
      const piece = delta[key]
      if (typeof piece === 'string') this.#texts.set(key, (this.#texts.get(key) ?? '') + piece)
    }
    const calls: readonly unknown[] = Array.isArray(delta.tool_calls) ? delta.tool_calls : []
    for (const call of calls) if (isObject(call)) this.#takeCall(call as JsonObject)
  }

  #takeCall(piece: JsonObject): void {
    const index = typeof piece.index === 'number' ? piece.index : 0
    const before = this.#calls.get(index) ?? { id: '', type: 'function' }
    const { index: _, ...fields } = piece
    const kind = isObject(piece.custom) || isObject(before.custom) ? 'custom' : 'function'
    const inner = joined(before[kind], piece[kind])
    const id = typeof piece.id === 'string' && piece.id !== '' ? piece.id : (before.id as Json)
    this.#calls.set(index, { ...before, ...fields, id, [kind]: inner })
  }
}

/** Names come whole, arguments in pieces. */
function joined(before: Json | undefined, piece: Json | undefined): JsonObject {
  const result: Record<string, Json> = isObject(before) ? { ...(before as JsonObject) } : {}
  if (!isObject(piece)) return result
  for (const [key, value] of Object.entries(piece as JsonObject)) {
    const known = result[key]
    const isText = typeof value === 'string' && typeof known === 'string' && key !== 'name'
    if (value !== null) result[key] = isText ? known + value : value
  }
  return result
}
