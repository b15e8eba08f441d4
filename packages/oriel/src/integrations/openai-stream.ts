// A streamed chat completion, put together again from its pieces.

import { isObject, type Json, type JsonObject } from '../core/json.ts'
import type { Answered, CallUsage } from './conversation.ts'
import { type Listener, usageOf } from './managed-fetch.ts'

export class ChatListener implements Listener {
  /** Every field that came, also those that only some servers send, such as reasoning. */
  readonly #fields = new Map<string, Json>()
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
      ...Object.fromEntries(this.#fields),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    }
    const isEmpty = this.#fields.size === 0 && calls.length === 0
    return { messages: isEmpty ? [] : [message], usage: this.#usage }
  }

  #take(delta: JsonObject): void {
    for (const [key, piece] of Object.entries(delta)) {
      if (key === 'role' || key === 'tool_calls' || piece === null) continue
      this.#fields.set(key, grown(this.#fields.get(key), piece))
    }
    const calls: readonly unknown[] = Array.isArray(delta.tool_calls) ? delta.tool_calls : []
    for (const call of calls) if (isObject(call)) this.#takeCall(call as JsonObject)
  }

  /** Servers that send each call whole may leave its index out: another id is another call. */
  #indexOf({ index, id }: JsonObject): number {
    if (typeof index === 'number') return index
    const last = Math.max(0, this.#calls.size - 1)
    const isAnother = typeof id === 'string' && id !== '' && id !== this.#calls.get(last)?.id
    return isAnother ? this.#calls.size : last
  }

  #takeCall(piece: JsonObject): void {
    const index = this.#indexOf(piece)
    const before = this.#calls.get(index) ?? { id: '', type: 'function' }
    const { index: _, ...fields } = piece
    const kind = isObject(piece.custom) || isObject(before.custom) ? 'custom' : 'function'
    const inner = joined(before[kind], piece[kind])
    const id = typeof piece.id === 'string' && piece.id !== '' ? piece.id : (before.id as Json)
    this.#calls.set(index, { ...before, ...fields, id, [kind]: inner })
  }
}

/** Texts and lists come in pieces, and so do the parts of an object; anything else stands in the place of what was there. */
function grown(before: Json | undefined, piece: Json): Json {
  if (typeof piece === 'string' && typeof before === 'string') return before + piece
  if (Array.isArray(piece) && Array.isArray(before)) return [...before, ...piece]
  return isObject(piece) && !Array.isArray(piece) ? joined(before, piece as JsonObject) : piece
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
