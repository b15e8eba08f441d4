// A streamed message of Anthropic, put together again from its pieces.

import { isObject, type Json, type JsonObject } from '../core/json.ts'
import type { Answered } from './conversation.ts'
import { type Listener, usageOf } from './managed-fetch.ts'

type Fields = Record<string, Json>

export class MessageListener implements Listener {
  readonly #blocks = new Map<number, Fields>()
  /** Arguments stream in as pieces of JSON text. */
  readonly #inputs = new Map<number, string>()
  #usage: Fields = {}
  /** Why the model stopped is told when its content is whole, right before the end. */
  #reason: string | undefined
  #isOver = false

  get isOver(): boolean {
    return this.#isOver
  }

  hear(event: JsonObject): void {
    const { type, index = 0 } = event
    const at = Number(index)
    if (type === 'message_start' && isObject(event.message)) this.#count(event.message.usage)
    else if (type === 'content_block_start' && isObject(event.content_block)) {
      this.#blocks.set(at, { ...(event.content_block as JsonObject) })
    } else if (type === 'content_block_delta' && isObject(event.delta)) {
      this.#grow(at, event.delta as JsonObject)
    } else if (type === 'message_delta') {
      this.#count(event.usage)
      const reason = isObject(event.delta) ? event.delta.stop_reason : undefined
      if (typeof reason === 'string') this.#reason = reason
    } else if (type === 'message_stop') this.#isOver = true
  }

  answered(): Answered | undefined {
    if (this.#reason === undefined && !this.#isOver) return undefined
    const content = [...this.#blocks]
      .sort(([a], [b]) => a - b)
      .map(([at, block]) => {
        const text = this.#inputs.get(at)
        return text === undefined ? block : { ...block, input: parsed(text) }
      })
    const usage = usageOf(this.#usage)
    const messages = content.length === 0 ? [] : [{ role: 'assistant', content }]
    return { messages, usage, isPaused: this.#reason === 'pause_turn' }
  }

  #grow(at: number, delta: JsonObject): void {
    const block = this.#blocks.get(at)
    if (block === undefined) return
    const { type, text, thinking, signature, citation, partial_json: json } = delta
    if (type === 'text_delta') block.text = `${String(block.text ?? '')}${String(text)}`
    else if (type === 'thinking_delta') {
      block.thinking = `${String(block.thinking ?? '')}${String(thinking)}`
    } else if (type === 'signature_delta') block.signature = signature as Json
    else if (type === 'citations_delta' && citation !== undefined) {
      block.citations = [...(Array.isArray(block.citations) ? block.citations : []), citation]
    } else if (type === 'input_json_delta') {
      this.#inputs.set(at, `${this.#inputs.get(at) ?? ''}${String(json)}`)
    }
  }

  /** Later numbers stand in the place of earlier ones. */
  #count(usage: unknown): void {
    if (!isObject(usage)) return
    for (const [key, value] of Object.entries(usage as JsonObject)) {
      if (value !== null) this.#usage[key] = value
    }
  }
}

/** No piece at all is an empty object. */
function parsed(text: string): Json {
  if (text === '') return {}
  try {
    return JSON.parse(text) as Json
  } catch {
    // The answer was cut: arguments are an object, so what there is of them stands in one.
    return { partial_json: text }
  }
}
