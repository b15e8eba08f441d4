// Streams of Chat Completions, several rounds as one: one id, one role, one text, one end.

import { isJsonObject as isObject, type Json, type JsonObject } from '../../core/log/json.ts'
import {
  gapBetween,
  type RoundKind,
  type SpliceOptions,
  type Splicer,
  type StreamEvent,
  type StreamFailure,
  sumUsage,
  verdictOf,
  writeEvent,
} from '../splice.ts'
import { endOfStream } from '../stream.ts'
import { type ToolCall, ToolCalls } from './stream.ts'

export const cutReasons: ReadonlySet<Json | undefined> = new Set(['length', 'content_filter'])

export function chatSplicer({ names }: SpliceOptions): Splicer {
  return new ChatSplicer(names)
}

/** What a call of a round is: of the injected tool, or one that the client sees at a position. */
type Slot = 'own' | number

class ChatSplicer implements Splicer {
  readonly keepAlive = ': waiting\n\n'
  readonly #names: readonly string[]
  #isFirst = true
  #head: JsonObject = {}
  /** The last text that was passed on. */
  #said = ''
  #usage: JsonObject | undefined
  #roundUsage: JsonObject | undefined
  #calls = new ToolCalls()
  #places = new Map<ToolCall, Slot>()
  /** Pieces of calls whose name has not come yet. */
  #nameless = new Map<ToolCall, JsonObject[]>()
  #owns = 0
  #others = 0
  #ended = false
  #isCut = false
  #hasText = false
  #held: string[] = []

  constructor(names: readonly string[]) {
    this.#names = names
  }

  get verdict(): RoundKind {
    return verdictOf(this.#owns, this.#others)
  }

  get isCut(): boolean {
    return this.#isCut
  }

  take({ raw, data, value }: StreamEvent): readonly string[] {
    const chunk = value === endOfStream ? undefined : value
    const isHolding = this.#ended && this.#owns > 0
    if (chunk === undefined) return data === '' ? [raw] : this.#pass(raw, isHolding)
    if (this.#isFirst && this.#head.id === undefined) {
      const { id, created } = chunk
      this.#head = {
        ...(id === undefined ? {} : { id }),
        ...(created === undefined ? {} : { created }),
      }
    }
    const texts = this.#rewrite(chunk).map((one) => (one === chunk ? raw : writeEvent(one)))
    const isHeld = isHolding || (this.#ended && this.#owns > 0)
    return texts.flatMap((text) => this.#pass(text, isHeld))
  }

  finish(): readonly string[] {
    const held = this.#held
    this.#held = []
    return held
  }

  nextRound(): void {
    if (this.#roundUsage !== undefined) this.#usage = sumUsage(this.#usage, this.#roundUsage)
    this.#isFirst = false
    this.#roundUsage = undefined
    this.#calls = new ToolCalls()
    this.#places = new Map()
    this.#nameless = new Map()
    this.#owns = 0
    this.#others = 0
    this.#ended = false
    this.#isCut = false
    this.#hasText = false
    this.#held = []
  }

  failure({ body, type, message }: StreamFailure): string {
    if (isObject(body?.error)) return writeEvent({ error: body.error })
    return writeEvent({ error: { message, type, param: null, code: null } })
  }

  #pass(text: string, isHeld: boolean): readonly string[] {
    if (!isHeld) return [text]
    this.#held.push(text)
    return []
  }

  /** The chunk as the client gets it: itself where nothing must change, none where nothing is left of it. */
  #rewrite(chunk: JsonObject): readonly JsonObject[] {
    const choice = choiceOf(chunk)
    const usage = isObject(chunk.usage) ? chunk.usage : undefined
    if (usage !== undefined) this.#roundUsage = usage
    const sum =
      usage === undefined || this.#usage === undefined
        ? undefined
        : { usage: sumUsage(this.#usage, usage) }
    const head = this.#isFirst ? undefined : this.#head
    if (choice === undefined) return head || sum ? [{ ...chunk, ...head, ...sum }] : [chunk]
    const { finish_reason: reason } = choice
    const delta = isObject(choice.delta) ? choice.delta : {}
    const said = this.#shown(delta)
    const late = typeof reason === 'string' ? this.#latecomers() : []
    // Nothing is left of the answer: without a text it could not be sent back.
    const isBare = typeof reason === 'string' && this.#isRounded && this.#isBare(said)
    const shown = isBare ? { ...said, content: '' } : said
    if (typeof reason === 'string') {
      this.#ended = true
      this.#isCut = cutReasons.has(reason)
    }
    const isStripped = reason === 'tool_calls' && this.#owns > 0 && this.#others === 0
    if (shown === delta && head === undefined && sum === undefined && !isStripped) {
      return [...late.map((calls) => withDelta(chunk, { tool_calls: calls })), chunk]
    }
    const isEmpty = !isSaying(shown) && typeof reason !== 'string' && usage === undefined
    const own = { ...choice, delta: shown, ...(isStripped ? { finish_reason: 'stop' } : {}) }
    const whole = { ...chunk, ...head, ...sum, choices: [own] }
    return [
      ...late.map((calls) => withDelta({ ...chunk, ...head }, { tool_calls: calls })),
      ...(isEmpty && shown !== delta ? [] : [whole]),
    ]
  }

  /** Whether the answer is not the model's own alone. */
  get #isRounded(): boolean {
    return !this.#isFirst || this.#owns > 0
  }

  #isBare({ content }: JsonObject): boolean {
    return this.#said === '' && this.#others === 0 && typeof content !== 'string'
  }

  /** The delta without calls to the injected tool, and in later rounds without what comes once in an answer. */
  #shown(delta: JsonObject): JsonObject {
    const { tool_calls: calls, role, ...rest } = delta
    const listed = Array.isArray(calls) ? calls.filter(isObject) : undefined
    const kept = listed?.flatMap((call) => this.#callOf(call))
    const isSame = kept === undefined || isEqual(kept, listed)
    const content = typeof rest.content === 'string' ? rest.content : ''
    const before = this.#hasText || this.#isFirst ? '' : gapBetween(this.#said, content)
    if (content !== '') {
      this.#hasText = true
      this.#said = content
    }
    if (isSame && before === '' && (this.#isFirst || role === undefined)) return delta
    return {
      ...(this.#isFirst && role !== undefined ? { role } : {}),
      ...rest,
      ...(before === '' ? {} : { content: before + content }),
      ...(kept === undefined || kept.length === 0 ? {} : { tool_calls: kept }),
    }
  }

  /** The pieces of a call that the client gets now. */
  #callOf(piece: JsonObject): readonly JsonObject[] {
    const call = this.#calls.take(piece)
    const place = this.#places.get(call)
    if (place === 'own') return []
    if (place !== undefined) return [numbered(piece, place)]
    const waiting = [...(this.#nameless.get(call) ?? []), piece]
    if (call.name === '') {
      this.#nameless.set(call, waiting)
      return []
    }
    this.#nameless.delete(call)
    if (call.name !== undefined && this.#names.includes(call.name)) {
      this.#places.set(call, 'own')
      this.#owns += 1
      return []
    }
    return this.#show(call, waiting)
  }

  #show(call: ToolCall, pieces: readonly JsonObject[]): readonly JsonObject[] {
    const place = this.#others
    this.#others += 1
    this.#places.set(call, place)
    return pieces.map((piece) => numbered(piece, place))
  }

  /** Calls that never got a name are the client's business. */
  #latecomers(): readonly (readonly JsonObject[])[] {
    const late = [...this.#nameless].map(([call, pieces]) => this.#show(call, pieces))
    this.#nameless.clear()
    return late
  }
}

function choiceOf({ choices }: JsonObject): JsonObject | undefined {
  const list = Array.isArray(choices) ? choices.filter(isObject) : []
  return list.find(({ index }) => index === 0 || index === undefined)
}

function withDelta(chunk: JsonObject, delta: JsonObject): JsonObject {
  const choice = choiceOf(chunk) ?? {}
  const { usage: _usage, ...rest } = chunk
  return { ...rest, choices: [{ ...choice, delta, finish_reason: null }] }
}

/** A piece with the index that the client knows its call by. Servers that number nothing do not begin to. */
function numbered(piece: JsonObject, place: number): JsonObject {
  return piece.index === undefined || piece.index === place ? piece : { ...piece, index: place }
}

function isSaying(delta: JsonObject): boolean {
  return Object.values(delta).some((value: Json) => value !== null && value !== '')
}

function isEqual(a: readonly unknown[], b: readonly unknown[] | undefined): boolean {
  return a.length === b?.length && a.every((one, at) => one === b[at])
}
