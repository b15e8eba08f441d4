// Answers of generateContent: a stream is a row of answers, each with the next parts of the content.

import { isJsonObject as isObject, type JsonObject } from '../../core/log/json.ts'
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
  usageOnly,
} from '../stream.ts'
import { joinParts } from './parts.ts'

export const answers: AnswerFormat = {
  stream: () => new ContentStream(),
  answer({ candidates, usageMetadata: usage, responseId: id, modelVersion: model }) {
    const [candidate, ...others] = objectsIn(candidates)
    const response = factsOf({ id, model, finish: candidate?.finishReason })
    // Of several candidates nobody knows which one the client continues with.
    const parts = objectsIn(contentOf(candidate).parts)
    if (parts.length === 0 || others.length > 0) return usageOnly(usage, response)
    const content = contentOf(candidate)
    return { messages: [{ role: 'model', ...content }], ...usageOf(usage), response }
  },
  fromList(chunks) {
    const events = chunks.filter(isObject)
    const candidates = events.flatMap((event) => objectsIn(event.candidates))
    const own = candidates.filter(isFirst)
    const others = candidates.filter((candidate) => !isFirst(candidate))
    const parts = joinParts(own.map((candidate) => objectsIn(contentOf(candidate).parts)))
    const content = { role: 'model', ...contentOf(own[0]), parts }
    const whole = Object.assign({}, ...events) as JsonObject
    if (own.length === 0) return whole
    const candidate = { ...(Object.assign({}, ...own) as JsonObject), content }
    return { ...whole, candidates: [candidate, ...others] }
  },
}

class ContentStream implements AnswerStream {
  readonly #lists: (readonly JsonObject[])[] = []
  readonly #facts: Facts = {}
  /** Fields of the content beside its parts. */
  #content: JsonObject = { role: 'model' }
  #usage: JsonObject | undefined
  #error: JsonObject | undefined
  #isPlural = false
  #isBlocked = false

  take(event: unknown): void {
    if (Array.isArray(event)) for (const one of event) this.take(one)
    if (!isObject(event)) return
    this.#error ??= errorOf(event.error)
    // Counts are totals: later ones replace earlier ones.
    if (isObject(event.usageMetadata)) this.#usage = { ...this.#usage, ...event.usageMetadata }
    const { promptFeedback: feedback, responseId: id, modelVersion: model } = event
    noteFacts(this.#facts, { id, model })
    if (isObject(feedback) && isText(feedback.blockReason)) this.#isBlocked = true
    for (const candidate of objectsIn(event.candidates)) this.#takeCandidate(candidate)
  }

  /** The reason to stop comes when the content is whole. A prompt that was blocked has no content. */
  get isComplete(): boolean {
    return this.#error === undefined && (this.#isBlocked || this.#facts.finish !== undefined)
  }

  get isOver(): boolean {
    return this.isComplete && this.#usage !== undefined
  }

  get error(): JsonObject | undefined {
    return this.#error
  }

  answer(): Answer | undefined {
    const parts = joinParts(this.#lists)
    const isSaid = parts.length > 0 && !this.#isPlural
    if (!isSaid && this.#usage === undefined) return undefined
    return {
      messages: isSaid ? [{ ...this.#content, parts }] : [],
      ...usageOf(this.#usage && { ...this.#usage }),
      response: { ...this.#facts },
    }
  }

  #takeCandidate(candidate: JsonObject): void {
    if (!isFirst(candidate)) {
      this.#isPlural = true
      return
    }
    noteFacts(this.#facts, { finish: candidate.finishReason })
    const { parts, ...fields } = contentOf(candidate)
    this.#content = { ...this.#content, ...fields }
    this.#lists.push(objectsIn(parts))
  }
}

function isFirst({ index = 0 }: JsonObject): boolean {
  return index === 0
}

function contentOf(candidate: JsonObject | undefined): JsonObject {
  return isObject(candidate?.content) ? candidate.content : {}
}
