// Streams of generateContent, several rounds as one: the answers of each follow those of the one before, numbers added up.

import { isJsonObject as isObject, type JsonObject } from '../../core/log/json.ts'
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
import { endOfStream, objectsIn } from '../stream.ts'
import { errorOf } from './errors.ts'
import { hasField, innerOf, type Part } from './parts.ts'

export function geminiSplicer({ names }: SpliceOptions): Splicer {
  return new GeminiSplicer(names)
}

/** Whether a part calls an injected tool. */
export function isOwnCall(part: JsonObject, names: readonly string[]): boolean {
  const call = innerOf(part, 'functionCall')
  return call !== undefined && names.includes(String(call.name))
}

/** The words of a part that the client sees as text. */
export function wordsOf({ text, thought }: Part): string {
  return typeof text === 'string' && thought !== true ? text : ''
}

class GeminiSplicer implements Splicer {
  readonly keepAlive = ': waiting\n\n'
  readonly #names: readonly string[]
  #isFirst = true
  #responseId: JsonObject = {}
  /** The counts of earlier rounds, and of this one so far. */
  #usage: JsonObject | undefined
  #roundUsage: JsonObject | undefined
  #owns = 0
  #others = 0
  #isCut = false
  /** The newest words, and whether they are of this round. */
  #said = ''
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

  take({ raw, value }: StreamEvent): readonly string[] {
    if (value === undefined || value === endOfStream) return [raw]
    const { responseId, usageMetadata } = value
    if (this.#isFirst && responseId !== undefined) this.#responseId = { responseId }
    if (isObject(usageMetadata)) this.#roundUsage = { ...this.#roundUsage, ...usageMetadata }
    const candidates = objectsIn(value.candidates)
    const shown = candidates.map((candidate) => this.#shown(candidate))
    const finish = candidates.find((one) => hasField(one, 'finishReason'))?.finishReason
    if (finish !== undefined) this.#isCut = finish !== 'STOP'
    const isChanged = shown.some((one, index) => one !== candidates[index])
    if (this.#isFirst && this.#owns === 0) return [raw]
    const isGone = isChanged && shown.every(isBare)
    if (isGone && finish === undefined) return []
    const text = this.#write(value, shown.map(isGone ? withoutNothing : (one) => one))
    if (this.#owns === 0 || finish === undefined) return [text]
    this.#held.push(text)
    return []
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
    this.#owns = 0
    this.#others = 0
    this.#isCut = false
    this.#hasText = false
    this.#held = []
  }

  failure({ body, message }: StreamFailure): string {
    const error = isObject(body?.error) ? body.error : errorOf({ status: 500, message })
    return writeEvent({ error })
  }

  /** The same object where it does not call the injected tool. */
  #shown(candidate: JsonObject): JsonObject {
    const content = isObject(candidate.content) ? candidate.content : {}
    const parts = objectsIn(content.parts)
    const kept = parts.filter((part) => !isOwnCall(part, this.#names))
    this.#owns += parts.length - kept.length
    this.#others += kept.filter((part) => hasField(part, 'functionCall')).length
    const spaced = kept.map((part) => this.#spaced(part))
    const isSame = kept.length === parts.length && spaced.every((part, at) => part === kept[at])
    return isSame ? candidate : { ...candidate, content: { ...content, parts: spaced } }
  }

  /** The first words of a round stand apart from those before it. */
  #spaced(part: JsonObject): JsonObject {
    const words = wordsOf(part)
    if (words === '') return part
    const gap = this.#isFirst || this.#hasText ? '' : gapBetween(this.#said, words)
    this.#hasText = true
    this.#said = words
    return gap === '' ? part : { ...part, text: gap + words }
  }

  #write(chunk: JsonObject, candidates: readonly JsonObject[]): string {
    const usage =
      this.#roundUsage === undefined || chunk.usageMetadata === undefined
        ? {}
        : { usageMetadata: sumUsage(this.#usage, this.#roundUsage) }
    const list = chunk.candidates === undefined ? {} : { candidates }
    return writeEvent({ ...chunk, ...this.#responseId, ...list, ...usage })
  }
}

function isBare({ content }: JsonObject): boolean {
  return isObject(content) && Array.isArray(content.parts) && content.parts.length === 0
}

/** The official client takes an answer without parts for none. */
function withoutNothing(candidate: JsonObject): JsonObject {
  const content = isObject(candidate.content) ? candidate.content : {}
  return { ...candidate, content: { ...content, parts: [{ text: '' }] } }
}
