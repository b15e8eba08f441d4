// How a model's answer is read, whole or as a stream, whatever the provider. The same function serves the gateway, the SDK integrations and
// the studio, so that what is logged is what the client sends back.

import { isObject, type Json, type JsonObject, parseJson } from '../core/log/json.ts'

/** An answer, or as much of it as has come. */
export interface Answer {
  /** Messages (or items) as a client sends them back. */
  readonly messages: readonly Json[]
  /** The provider's token counts, as it wrote them. */
  readonly usage?: JsonObject
  readonly response?: ResponseFacts
}

/** What an answer says of itself, besides its content. */
export interface ResponseFacts {
  readonly id?: string
  readonly model?: string
  /** Why the model stopped, in the provider's own word. */
  readonly finish?: string
  /** Whether the provider paused: the next request continues with this answer. @default false */
  readonly isPaused?: boolean
  /** Edits of the context that the provider made for this answer, in its words. @default none */
  readonly edits?: readonly JsonObject[]
}

/**
 * Assembles one streamed answer. Contracts:
 * - Must never throw: an event that it does not understand is ignored.
 * - Must not change the events, nor an answer that it gave earlier.
 * - A whole answer, cut into pieces and assembled, is the whole answer.
 */
export interface AnswerStream {
  /** Takes a parsed event; for providers that end a stream with a mark, also that mark (`endOfStream`). */
  take(event: unknown): void
  /** Whether the content is whole. False after an error: no client takes such an answer. */
  readonly isComplete: boolean
  /** Whether nothing more comes that belongs to the answer, usage included. */
  readonly isOver: boolean
  /** The error that the stream carried. */
  readonly error: JsonObject | undefined
  /** What has come so far; undefined where that is nothing. */
  answer(): Answer | undefined
}

/** How a provider answers. */
export interface AnswerFormat {
  /** Assembles a streamed answer. */
  stream(): AnswerStream
  /** Reads the body of a whole answer; undefined where it holds nothing that a client would send back, and no usage. */
  answer(body: JsonObject): Answer | undefined
  /** The body of the whole answer that a stream holds which came as one list of JSON. @default streams are events only */
  fromList?(events: readonly unknown[]): JsonObject
}

/** The body of a whole answer, by its text; undefined where it is none. */
export function parseAnswer(provider: AnswerFormat, text: string): JsonObject | undefined {
  const value = parseJson(text)
  if (Array.isArray(value)) return provider.fromList?.(value)
  return isObject(value) ? (value as JsonObject) : undefined
}

/** The last event of OpenAI's streams, which is no JSON. */
export const endOfStream = '[DONE]'

/** The event in the data of a server-sent event; undefined where there is none. */
export function parseEvent(data: string): JsonObject | typeof endOfStream | undefined {
  return data === endOfStream ? endOfStream : parseObject(data)
}

/** The object that a JSON text says; undefined for any other text. */
export function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? (value as JsonObject) : undefined
  } catch {
    return undefined
  }
}

/** Facts that are known so far. */
export type Facts = { -readonly [Key in keyof ResponseFacts]: ResponseFacts[Key] }

/** The facts that providers tell in words. */
type Told = { readonly [Key in 'id' | 'model' | 'finish']?: unknown }

/** Adds the facts that are texts. */
export function noteFacts(facts: Facts, { id, model, finish }: Told): void {
  if (isText(id)) facts.id = id
  if (isText(model)) facts.model = model
  if (isText(finish)) facts.finish = finish
}

export function factsOf(said: Told): ResponseFacts {
  const facts: Facts = {}
  noteFacts(facts, said)
  return facts
}

/** An answer without content, for its usage; undefined where there is none. */
export function usageOnly(usage: unknown, response: ResponseFacts): Answer | undefined {
  return isObject(usage) ? { messages: [], usage: usage as JsonObject, response } : undefined
}

export function usageOf(usage: unknown): { readonly usage?: JsonObject } {
  return isObject(usage) ? { usage: usage as JsonObject } : {}
}

/** An error that a stream carried, as an object. Some servers send only a text. */
export function errorOf(error: unknown): JsonObject | undefined {
  if (isObject(error)) return error as JsonObject
  return isText(error) ? { message: error } : undefined
}

/** A text that says something. */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

/** The position of something in an answer. */
export function isIndex(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

export function objectsIn(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? (value.filter(isObject) as JsonObject[]) : []
}
