// Answers of Anthropic's Messages: content blocks that start, grow and stop.

import { isObject, type Json, type JsonObject, setField } from '../../core/log/json.ts'
import {
  type Answer,
  type AnswerFormat,
  type AnswerStream,
  errorOf,
  type Facts,
  factsOf,
  isIndex,
  isText,
  noteFacts,
  objectsIn,
  usageOf,
  usageOnly,
} from '../stream.ts'
import { parsePartialJson } from './partial-json.ts'
import { withDiagnostics } from './usage.ts'

type Fields = Record<string, Json>

export const answers: AnswerFormat = {
  stream: () => new MessageStream(),
  answer({ content, role, usage: counts, diagnostics, id, model, stop_reason: finish, ...rest }) {
    const usage = withDiagnostics(counts, diagnostics)
    const edits = editsIn(rest.context_management)
    const response = { ...factsOf({ id, model, finish }), ...pausedBy(finish), ...edits }
    if (!Array.isArray(content) || content.length === 0 || role !== 'assistant') {
      return usageOnly(usage, response)
    }
    return { messages: [{ role, content }], ...usageOf(usage), response }
  },
}

/** Edits of the context that the provider made. */
function editsIn(told: unknown): { readonly edits?: readonly JsonObject[] } {
  const edits = isObject(told) ? objectsIn(told.applied_edits) : []
  return edits.length === 0 ? {} : { edits }
}

/** A tool of the provider took too long: the next request continues with this answer. */
function pausedBy(finish: unknown): { readonly isPaused?: boolean } {
  return finish === 'pause_turn' ? { isPaused: true } : {}
}

class MessageStream implements AnswerStream {
  readonly #blocks = new Map<number, Block>()
  readonly #places = new BlockPlaces()
  readonly #facts: Facts = {}
  #usage: Fields | undefined
  #error: JsonObject | undefined
  #isOver = false

  take(event: unknown): void {
    if (!isObject(event) || this.#isOver) return
    const { type, message, delta } = event
    if (type === 'message_start' && isObject(message)) this.#start(message as JsonObject)
    else if (type === 'content_block_start' && isObject(event.content_block)) {
      const place = this.#places.of(event as JsonObject)
      this.#blocks.set(place, new Block(event.content_block as JsonObject))
    } else if (type === 'content_block_delta' && isObject(delta)) {
      this.#blocks.get(this.#places.of(event as JsonObject))?.grow(delta as JsonObject)
    } else if (type === 'message_delta') {
      this.#count(event.usage)
      this.#diagnose(event.diagnostics)
      Object.assign(this.#facts, editsIn(event.context_management))
      const finish = isObject(delta) ? delta.stop_reason : undefined
      noteFacts(this.#facts, { id: undefined, model: undefined, finish })
    } else if (type === 'message_stop') this.#isOver = true
    else if (type === 'error') this.#error ??= errorOf(event.error) ?? {}
  }

  /** The reason to stop comes when the content is whole. */
  get isComplete(): boolean {
    return this.#error === undefined && (this.#isOver || this.#facts.finish !== undefined)
  }

  get isOver(): boolean {
    return this.#isOver && this.isComplete
  }

  get error(): JsonObject | undefined {
    return this.#error
  }

  answer(): Answer | undefined {
    const blocks = [...this.#blocks].sort(([a], [b]) => a - b)
    const content = blocks.map(([, block]) => block.value())
    if (content.length === 0 && this.#usage === undefined) return undefined
    return {
      messages: content.length === 0 ? [] : [{ role: 'assistant', content }],
      ...usageOf(this.#usage && { ...this.#usage }),
      response: { ...this.#facts, ...pausedBy(this.#facts.finish) },
    }
  }

  #start(message: JsonObject): void {
    this.#count(message.usage)
    this.#diagnose(message.diagnostics)
    noteFacts(this.#facts, { id: message.id, model: message.model, finish: message.stop_reason })
    for (const [index, block] of objectsIn(message.content).entries()) {
      this.#blocks.set(this.#places.of({ type: 'content_block_start', index }), new Block(block))
    }
  }

  /** Why the cache missed; it may be known only at the end. */
  #diagnose(diagnostics: unknown): void {
    if (isObject(diagnostics)) this.#count({ diagnostics })
  }

  /** Counts are totals: later ones replace earlier ones. */
  #count(usage: unknown): void {
    if (!isObject(usage)) return
    const known = Object.entries(usage as JsonObject).filter(([, value]) => value !== null)
    this.#usage = { ...this.#usage, ...Object.fromEntries(known) }
  }
}

/** The positions of blocks. An event without one is of the last block, or starts the next. */
export class BlockPlaces {
  #last = -1
  #next = 0

  of({ type, index }: JsonObject): number {
    const place = isIndex(index) ? index : type === 'content_block_start' ? this.#next : this.#last
    this.#last = place
    this.#next = Math.max(this.#next, place + 1)
    return place
  }
}

class Block {
  readonly #fields: Fields
  /** The input of a call, as text. */
  #json = ''

  constructor(block: JsonObject) {
    this.#fields = { ...block }
  }

  /** As in the SDK, a delta counts only for a block of its kind. */
  grow(delta: JsonObject): void {
    const { type: kind, citations } = this.#fields
    const { type, text, thinking, signature, citation, partial_json: json } = delta
    if (kind === 'text' && type === 'text_delta') this.#append('text', text)
    else if (kind === 'text' && type === 'citations_delta' && citation !== undefined) {
      this.#fields.citations = [...(Array.isArray(citations) ? citations : []), citation]
    } else if (kind === 'thinking' && type === 'thinking_delta') this.#append('thinking', thinking)
    else if (kind === 'thinking' && type === 'signature_delta') {
      // It comes whole: the last one counts.
      if (isText(signature)) this.#fields.signature = signature
    } else if (type === 'input_json_delta') {
      if (String(kind).endsWith('tool_use') && typeof json === 'string') this.#json += json
    } else if (kind === 'compaction' && type === 'compaction_delta') {
      // It says the final values of the block.
      for (const [key, value] of Object.entries(delta)) {
        if (key !== 'type') setField(this.#fields, key, value)
      }
    }
  }

  /** The block as the provider gives it whole. Input that was cut off is what can be read of it, as in the SDK. */
  value(): JsonObject {
    if (this.#json === '') return { ...this.#fields }
    const { input = {} } = this.#fields
    return { ...this.#fields, input: parsePartialJson(this.#json) ?? input }
  }

  #append(key: string, piece: Json | undefined): void {
    const known = this.#fields[key]
    if (typeof piece === 'string') this.#fields[key] = isText(known) ? known + piece : piece
  }
}
