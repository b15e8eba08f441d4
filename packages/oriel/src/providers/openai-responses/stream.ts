// Answers of OpenAI's Responses: items that are added, grow and are done. The last event holds all of them; the events before it count
// where a stream breaks off, and for servers that leave the output out of the last one.

import { isObject, type Json, type JsonObject } from '../../core/log/json.ts'
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
  usageOf,
  usageOnly,
} from '../stream.ts'

type Fields = Record<string, Json>

export const answers: AnswerFormat = {
  stream: () => new ResponsesStream(),
  answer(body) {
    const { output, usage, status } = body
    const response = factsOf({ ...body, finish: finishOf(body) })
    const isWhole = Array.isArray(output) && output.length > 0 && !unfinished.has(String(status))
    return isWhole ? { messages: output, ...usageOf(usage), response } : usageOnly(usage, response)
  },
}

/** A response in one of these says nothing that can be sent back. */
const unfinished: ReadonlySet<string> = new Set(['failed', 'cancelled', 'queued', 'in_progress'])

/** `completed`, or why not. */
function finishOf({ status, incomplete_details: details }: JsonObject): Json | undefined {
  return isObject(details) && isText(details.reason) ? details.reason : status
}

class ResponsesStream implements AnswerStream {
  readonly #places = new OutputPlaces()
  readonly #items = new Map<number, Item>()
  readonly #facts: Facts = {}
  #usage: JsonObject | undefined
  #error: JsonObject | undefined
  #whole: readonly Json[] | undefined

  take(event: unknown): void {
    if (!isObject(event) || !isText(event.type) || this.#whole !== undefined) return
    const { type, response } = event
    if (type === 'error') this.#error ??= errorOf(event.error) ?? (event as JsonObject)
    else if (isObject(response)) this.#takeResponse(type, response as JsonObject)
    else if (type.startsWith('response.')) this.#takeItem(type, event as JsonObject)
  }

  get isComplete(): boolean {
    return this.#whole !== undefined && this.#error === undefined
  }

  get isOver(): boolean {
    return this.isComplete
  }

  get error(): JsonObject | undefined {
    return this.#error
  }

  answer(): Answer | undefined {
    const messages = this.#whole ?? this.#output()
    if (messages.length === 0 && this.#usage === undefined) return undefined
    return { messages, ...usageOf(this.#usage), response: { ...this.#facts } }
  }

  #output(): readonly JsonObject[] {
    return [...this.#items].sort(([a], [b]) => a - b).map(([, item]) => item.value())
  }

  #takeResponse(type: string, response: JsonObject): void {
    const isWhole = type === 'response.completed' || type === 'response.incomplete'
    if (isObject(response.usage)) this.#usage = response.usage as JsonObject
    const finish = isWhole ? finishOf(response) : undefined
    noteFacts(this.#facts, { id: response.id, model: response.model, finish })
    if (type === 'response.failed') this.#error ??= errorOf(response.error) ?? {}
    if (!isWhole) return
    // Some servers leave the output out of the last event.
    const { output } = response
    this.#whole = Array.isArray(output) && output.length > 0 ? output : this.#output()
  }

  #takeItem(type: string, event: JsonObject): void {
    const [, name = '', phase = ''] = /^response\.(.+)\.(added|delta|done)$/.exec(type) ?? []
    const isItem = name === 'output_item'
    if (phase === '' || (isItem && !isObject(event.item))) return
    if (!isItem && !Object.hasOwn(growths, name)) return
    const place = this.#places.of(event)
    if (isItem) {
      this.#items.set(place, new Item(event.item as JsonObject))
      return
    }
    const growth = growths[name] as Growth
    const id = isText(event.item_id) ? { id: event.item_id } : {}
    // Some servers do not announce items.
    const item = this.#items.get(place) ?? new Item({ ...beginnings[growth.item], ...id })
    this.#items.set(place, item)
    item.grow(growth, event, phase)
  }
}

/**
 * The positions of items in an output. An event names its item by position, or else by id. One that does neither belongs to the last
 * item; only an item that is added, or done without having been added, is a new one.
 */
export class OutputPlaces {
  readonly #byId = new Map<string, number>()
  #last = -1
  #next = 0
  /** Whether the last item was added and is not done yet. */
  #isOpen = false

  of({ type, output_index: index, item_id: itemId, item }: JsonObject): number {
    const id = isObject(item) ? item.id : itemId
    const known = isText(id) ? this.#byId.get(id) : undefined
    const isDone = type === 'response.output_item.done'
    const isNew = this.#last === -1 || (isObject(item) && !(isDone && this.#isOpen))
    const place = isIndex(index) ? index : (known ?? (isNew ? this.#next : this.#last))
    if (isText(id)) this.#byId.set(id, place)
    if (isObject(item)) this.#isOpen = !isDone
    this.#last = place
    this.#next = Math.max(this.#next, place + 1)
    return place
  }
}

/** How an event changes an item: one of its texts, a text in one of its lists, or a whole part of a list. */
interface Growth {
  /** The kind of item. */
  readonly item: string
  /** The list that has the part, and the field of the event that says which one. */
  readonly list?: 'content' | 'summary'
  /** The part, before anything of it came. */
  readonly part?: JsonObject
  /** The text that grows; the end of it comes in a field of the same name. Absent for whole parts. */
  readonly text?: string
}

const growths: Readonly<Record<string, Growth>> = {
  function_call_arguments: { item: 'function_call', text: 'arguments' },
  custom_tool_call_input: { item: 'custom_tool_call', text: 'input' },
  mcp_call_arguments: { item: 'mcp_call', text: 'arguments' },
  code_interpreter_call_code: { item: 'code_interpreter_call', text: 'code' },
  output_text: {
    item: 'message',
    list: 'content',
    part: { type: 'output_text', text: '', annotations: [] },
    text: 'text',
  },
  refusal: {
    item: 'message',
    list: 'content',
    part: { type: 'refusal', refusal: '' },
    text: 'refusal',
  },
  reasoning_text: {
    item: 'reasoning',
    list: 'content',
    part: { type: 'reasoning_text', text: '' },
    text: 'text',
  },
  reasoning_summary_text: {
    item: 'reasoning',
    list: 'summary',
    part: { type: 'summary_text', text: '' },
    text: 'text',
  },
  content_part: { item: 'message', list: 'content' },
  reasoning_summary_part: { item: 'reasoning', list: 'summary' },
  'output_text.annotation': { item: 'message', list: 'content' },
}

/** Items that nobody announced, before anything of them came. */
const beginnings: Readonly<Record<string, JsonObject>> = {
  message: { type: 'message', role: 'assistant', content: [] },
  reasoning: { type: 'reasoning', summary: [] },
  function_call: { type: 'function_call', arguments: '' },
  custom_tool_call: { type: 'custom_tool_call', input: '' },
  mcp_call: { type: 'mcp_call', arguments: '' },
  code_interpreter_call: { type: 'code_interpreter_call', code: '' },
}

class Item {
  readonly #fields: Fields
  /** The parts of its lists, by position. */
  readonly #lists: Partial<Record<string, Map<number, Fields>>> = {}

  constructor(item: JsonObject) {
    this.#fields = { ...item }
  }

  grow({ list, part, text }: Growth, event: JsonObject, phase: string): void {
    if (list === undefined) {
      if (text !== undefined) change(this.#fields, text, event, phase)
      return
    }
    const { content_index: inContent, summary_index: inSummary } = event
    const index = list === 'content' ? inContent : inSummary
    const place = isIndex(index) ? index : 0
    const parts = this.#partsOf(list)
    if (text !== undefined) {
      const known = parts.get(place) ?? { ...part }
      parts.set(place, known)
      change(known, text, event, phase)
    } else if (isObject(event.part)) parts.set(place, { ...(event.part as JsonObject) })
    else if (isObject(event.annotation)) annotate(parts.get(place), event)
  }

  value(): JsonObject {
    const lists = Object.entries(this.#lists).map(([key, parts]) => [
      key,
      [...(parts ?? [])].sort(([a], [b]) => a - b).map(([, part]) => ({ ...part })),
    ])
    return { ...this.#fields, ...Object.fromEntries(lists) }
  }

  #partsOf(key: string): Map<number, Fields> {
    const known = this.#lists[key]
    if (known !== undefined) return known
    const list = this.#fields[key]
    const parts = new Map<number, Fields>()
    const given: readonly Json[] = Array.isArray(list) ? list : []
    for (const [index, part] of given.entries()) {
      if (isObject(part)) parts.set(index, { ...(part as JsonObject) })
    }
    this.#lists[key] = parts
    return parts
  }
}

/** A text grows by the delta; its end says all of it. */
function change(fields: Fields, key: string, event: JsonObject, phase: string): void {
  const known = fields[key]
  const { delta } = event
  const whole = event[key]
  if (phase === 'done') {
    if (typeof whole === 'string') fields[key] = whole
  } else if (typeof delta === 'string') {
    fields[key] = typeof known === 'string' ? known + delta : delta
  }
}

function annotate(
  part: Fields | undefined,
  { annotation, annotation_index: index }: JsonObject,
): void {
  if (part === undefined || annotation === undefined) return
  const known: readonly Json[] = Array.isArray(part.annotations) ? part.annotations : []
  const isKnown = isIndex(index) && index < known.length
  part.annotations = isKnown ? known.with(index, annotation) : [...known, annotation]
}
