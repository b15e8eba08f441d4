// What a scripted model says, before a provider's `writeAnswer` puts it into words: for the demo upstream, tests and recordings.

import type { JsonObject } from '../core/log/json.ts'

/** One part of an answer, in the order in which the model made them. */
export type Part =
  | { readonly type: 'reasoning'; readonly text: string }
  /** Reasoning that only its provider can read. */
  | { readonly type: 'redacted'; readonly data: string }
  | { readonly type: 'text'; readonly text: string }
  /** `arguments` is JSON text, sent as it stands: its spacing, key order and escapes reach the client. */
  | { readonly type: 'call'; readonly name: string; readonly arguments: string }

export type Reply = readonly Part[]

/** What a provider reports; `input` includes what was cached and what was written to the cache. */
export interface Measured {
  readonly input: number
  readonly cached: number
  /** Tokens written to the cache, where the provider counts them apart. */
  readonly written: number
  readonly output: number
  readonly reasoning: number
}

export type MakeId = (prefix: string) => string

export interface WriteOptions {
  /** The request that is answered: some of its fields are repeated in the answer. */
  readonly request: JsonObject
  readonly measured: Measured
  readonly makeId: MakeId
  /** The signature of reasoning, or its encrypted form. */
  readonly seal: (reasoning: string) => string
}

/** One server-sent event; `event` is absent where the provider does not name them. */
export interface WrittenEvent {
  readonly event?: string
  readonly data: JsonObject
}

export interface WrittenAnswer {
  /** The whole answer, as it is sent without streaming. */
  readonly body: JsonObject
  /** The same answer as a stream. */
  readonly events: readonly WrittenEvent[]
  /** The data of an event that ends the stream and is no JSON. @default there is none */
  readonly end?: string
}

/** The text of a stream, event by event. */
export function streamTexts({ events, end }: WrittenAnswer): readonly string[] {
  const texts = events.map(({ event, data }) => {
    const name = event === undefined ? '' : `event: ${event}\n`
    return `${name}data: ${JSON.stringify(data)}\n\n`
  })
  return end === undefined ? texts : [...texts, `data: ${end}\n\n`]
}

/** A text in pieces of a few words, cut inside words as providers do, never inside a surrogate pair. */
export function pieces(text: string, size = 24): readonly string[] {
  const characters = [...text]
  const result: string[] = []
  for (let start = 0; start < characters.length; start += size) {
    result.push(characters.slice(start, start + size).join(''))
  }
  return result
}

/** A fixed time for answers: the content of a scripted answer never depends on a clock. */
export const fixedSeconds = 1_790_000_000
