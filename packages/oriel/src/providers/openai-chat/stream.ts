// Answers of Chat Completions: of OpenAI, and of the many servers that speak the same with small differences.

import { isObject, type Json, type JsonObject, parseJson, setField } from '../../core/log/json.ts'
import {
  type Answer,
  type AnswerFormat,
  type AnswerStream,
  endOfStream,
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

type Fields = Record<string, Json>

export const answers: AnswerFormat = {
  stream: () => new ChatStream(),
  answer({ choices, usage, id, model }) {
    const [choice, ...others] = objectsIn(choices)
    const response = factsOf({ id, model, finish: choice?.finish_reason })
    // Of several choices nobody knows which one the client continues with.
    if (!isObject(choice?.message) || others.length > 0) return usageOnly(usage, response)
    return { messages: [choice.message as JsonObject], ...usageOf(usage), response }
  },
}

class ChatStream implements AnswerStream {
  readonly #fields: Fields = {}
  readonly #calls = new ToolCalls()
  readonly #facts: Facts = {}
  /** The choices that have begun, and whether each is whole. */
  readonly #choices = new Map<number, boolean>()
  #usage: JsonObject | undefined
  #error: JsonObject | undefined
  #isDone = false

  take(event: unknown): void {
    if (this.#isDone) return
    if (event === endOfStream) this.#isDone = true
    if (!isObject(event)) return
    this.#error ??= errorOf(event.error)
    if (isObject(event.usage)) this.#usage = event.usage as JsonObject
    noteFacts(this.#facts, { id: event.id, model: event.model, finish: undefined })
    for (const choice of objectsIn(event.choices)) this.#takeChoice(choice)
  }

  get isComplete(): boolean {
    if (this.#error !== undefined || this.#choices.size === 0) return false
    return [...this.#choices.values()].every(Boolean)
  }

  get isOver(): boolean {
    return this.#isDone && this.isComplete
  }

  get error(): JsonObject | undefined {
    return this.#error
  }

  answer(): Answer | undefined {
    const facts = { ...usageOf(this.#usage), response: { ...this.#facts } }
    const calls = this.#calls.values()
    const isSaid =
      calls.length > 0 ||
      Object.values(this.#fields).some((value) => value !== null && value !== '')
    const isPlural = [...this.#choices.keys()].some((index) => index !== 0)
    // A whole answer may say nothing, and is sent back like any other.
    if (isPlural || (!this.isComplete && !isSaid)) {
      return this.#usage === undefined ? undefined : { messages: [], ...facts }
    }
    const message = {
      role: 'assistant',
      content: null,
      ...this.#fields,
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    }
    return { messages: [message], ...facts }
  }

  #takeChoice({ index, delta, finish_reason: reason }: JsonObject): void {
    const place = isIndex(index) ? index : 0
    const isEnd = isText(reason) || isAudioEnd(delta, this.#fields.audio)
    this.#choices.set(place, isEnd || this.#choices.get(place) === true)
    if (place !== 0) return
    noteFacts(this.#facts, { id: undefined, model: undefined, finish: reason })
    if (!isObject(delta)) return
    for (const [key, piece] of Object.entries(delta as JsonObject)) {
      if (key === 'tool_calls') for (const call of objectsIn(piece)) this.#calls.take(call)
      else if (key !== 'role')
        setField(this.#fields, key, grown(key, ownOf(this.#fields, key), piece))
    }
  }
}

/** A call of an answer, as far as it has come. */
export interface ToolCall {
  /** Empty until it comes. */
  readonly name: string
}

/**
 * The tool calls of a streamed answer, each assembled from its pieces. Which call a piece belongs to:
 * - An index names the call. Another id and name under the index of a call that is whole begin another call: some servers give every
 *   call the index 0.
 * - Without an index, a known id names the call. Another id begins one, unless the last call still waits for its id.
 * - Without an index and an id, a name begins a call, unless the last call still waits for its name. Anything else belongs to the last.
 */
export class ToolCalls {
  readonly #calls: Call[] = []
  readonly #byIndex = new Map<number, Call>()
  readonly #byId = new Map<string, Call>()
  #last: Call | undefined
  #next = 0

  /** Adds a piece to its call, which is always the same object. */
  take(piece: JsonObject): ToolCall {
    const call = this.#find(piece) ?? this.#begin(piece)
    this.#last = call
    call.add(piece)
    if (isIndex(piece.index)) this.#byIndex.set(piece.index, call)
    if (isText(piece.id)) this.#byId.set(piece.id, call)
    return call
  }

  /** The calls in their order. */
  values(): readonly JsonObject[] {
    return [...this.#calls].sort((a, b) => a.place - b.place).map((call) => call.value())
  }

  #find(piece: JsonObject): Call | undefined {
    const { index, id } = piece
    const name = nameOf(piece)
    const last = this.#last
    if (isIndex(index)) {
      const known = this.#byIndex.get(index)
      const isOther = isText(id) && name !== '' && known?.isWhole === true && known.id !== id
      return isOther ? undefined : known
    }
    if (isText(id)) {
      const isLate = last?.id === '' && (name === '' || last.name === '')
      return this.#byId.get(id) ?? (isLate ? last : undefined)
    }
    return name === '' || last?.name === '' ? last : undefined
  }

  #begin({ index }: JsonObject): Call {
    const place = isIndex(index) ? index : this.#next
    this.#next = Math.max(this.#next, place + 1)
    const call = new Call(place)
    this.#calls.push(call)
    return call
  }
}

class Call implements ToolCall {
  readonly place: number
  readonly #fields: Fields = {}

  constructor(place: number) {
    this.place = place
  }

  get id(): string {
    return isText(this.#fields.id) ? this.#fields.id : ''
  }

  get name(): string {
    return nameOf(this.#fields)
  }

  /** Whether it has an id, a name and all of its arguments, as far as one can see. */
  get isWhole(): boolean {
    const { function: called, custom } = this.#fields
    if (this.id === '' || this.name === '') return false
    if (isObject(custom)) return true
    const text = isObject(called) ? called.arguments : undefined
    return typeof text === 'string' && parseJson(text) !== undefined
  }

  add(piece: JsonObject): void {
    for (const [key, value] of Object.entries(piece)) {
      const known = ownOf(this.#fields, key)
      if (key === 'index' || value === null) continue
      if (key === 'id' || key === 'type') {
        if (isText(value)) this.#fields[key] = value
      } else if (key === 'function' || key === 'custom') {
        if (isObject(value))
          this.#fields[key] = joined(known, value as JsonObject, payloads.get(key))
      } else
        setField(this.#fields, key, isObject(value) ? joined(known, value as JsonObject) : value)
    }
  }

  value(): JsonObject {
    const { function: called, custom } = this.#fields
    const kind = isObject(custom) ? 'custom' : 'function'
    const payload = isObject(custom)
      ? { input: '', ...custom }
      : called && { arguments: '', ...(called as JsonObject) }
    return {
      ...(payload === undefined ? {} : { type: kind }),
      ...this.#fields,
      ...(payload === undefined ? {} : { [kind]: payload as JsonObject }),
    }
  }
}

/** The name in a call, or in a piece of one. */
function nameOf({ function: called, custom }: JsonObject): string {
  const payload = isObject(called) ? called : isObject(custom) ? custom : {}
  return isText(payload.name) ? payload.name : ''
}

/** The texts that come in pieces, in the objects that have any. Other values come whole. */
const payloads: ReadonlyMap<string, readonly string[]> = new Map([
  ['function', ['arguments']],
  ['custom', ['input']],
  ['function_call', ['arguments']],
  ['audio', ['data', 'transcript']],
])

/** A field of a message with one more piece. Texts grow, also those that only some servers send, such as reasoning; so do lists. */
function grown(key: string, before: Json | undefined, piece: Json): Json {
  if (piece === null) return before ?? null
  if (key === 'content') return grownContent(before, piece)
  if (typeof piece === 'string') return typeof before === 'string' ? before + piece : piece
  if (Array.isArray(piece)) {
    const known = Array.isArray(before) ? (before as readonly Json[]) : []
    return key === 'reasoning_details' ? piece.reduce(grownDetails, known) : [...known, ...piece]
  }
  return isObject(piece) ? joined(before, piece as JsonObject, payloads.get(key)) : piece
}

/** Content is a text; some servers send lists of parts, or both by turns. */
function grownContent(before: Json | undefined, piece: Json): Json {
  if (before === undefined || before === null || before === '') return piece
  if (typeof piece === 'string') {
    if (typeof before === 'string') return before + piece
    if (!Array.isArray(before) || piece === '') return before
    const last = before.at(-1) as Json | undefined
    const isGrowing = isObject(last) && last.type === 'text' && typeof last.text === 'string'
    if (!isGrowing) return [...before, { type: 'text', text: piece }]
    return [...before.slice(0, -1), { ...(last as JsonObject), text: `${last.text}${piece}` }]
  }
  if (!Array.isArray(piece)) return piece
  return [...(Array.isArray(before) ? before : [{ type: 'text', text: before }]), ...piece]
}

/** Details of reasoning that have an index come in pieces. */
function grownDetails(details: readonly Json[], piece: Json): readonly Json[] {
  if (!isObject(piece) || !isIndex(piece.index)) return [...details, piece]
  const at = details.findIndex(
    (one) => isObject(one) && one.index === piece.index && one.type === piece.type,
  )
  if (at === -1) return [...details, piece as JsonObject]
  const texts = ['text', 'summary', 'data']
  return details.with(at, joined(details[at], piece as JsonObject, texts))
}

/** An object with another piece of it. Empty and absent values do not replace what is known. */
function joined(
  before: Json | undefined,
  piece: JsonObject,
  growing: readonly string[] = [],
): JsonObject {
  const result: Fields = isObject(before) ? { ...(before as JsonObject) } : {}
  for (const [key, value] of Object.entries(piece)) {
    const known = ownOf(result, key)
    if (value === null || (value === '' && known !== undefined)) continue
    const isGrown = growing.includes(key) && typeof value === 'string' && typeof known === 'string'
    setField(result, key, isGrown ? known + value : value)
  }
  return result
}

/** Spoken answers may end with the time until which the audio is kept, and no reason (the openai package does the same). */
function isAudioEnd(delta: unknown, audio: Json | undefined): boolean {
  if (!isObject(delta) || !isObject(audio) || !isObject(delta.audio)) return false
  const isSaid = [audio.id, audio.data, audio.transcript].every(isText)
  const { expires_at: until, ...others } = delta.audio
  const isAlone = Object.values({ ...delta, audio: null, ...others }).every((one) => one === null)
  return isSaid && typeof until === 'number' && isAlone
}

/** A field of its own: `__proto__` and the like are names as any other. */
function ownOf(fields: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(fields, key) ? fields[key] : undefined
}
