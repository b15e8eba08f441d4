// How the streams of several rounds become one: between them, calls to an injected tool were answered that the client never sees.

import { isJsonObject, type Json, type JsonObject } from '../core/log/json.ts'
import type { parseEvent } from './stream.ts'

/** One server-sent event, with the text that it came as. */
export interface StreamEvent {
  readonly raw: string
  readonly data: string
  /** What the data says; undefined where it is no event of a provider. */
  readonly value: ReturnType<typeof parseEvent>
}

export interface SpliceOptions {
  /** The names of the injected tools. */
  readonly names: readonly string[]
  /** The client's own list of tools, where the request carries another: an answer that repeats the list shows it. @default the request's */
  readonly tools?: readonly Json[] | undefined
  /** Fields of an answer that repeat the request, as the client sent them. @default as they come */
  readonly echo?: JsonObject | undefined
  /** Fields that an answer has beside the upstream's. @default none */
  readonly added?: JsonObject | undefined
  /** Blocks (or items) with which the answer begins: the gateway made them. @default none */
  readonly begun?: readonly JsonObject[] | undefined
  /** Whether the model may call them; where not, a choice of tools that an answer repeats is not the client's. */
  readonly isOpen: boolean
  /** Whether the client gets no text of rounds that it does not see: its answer is one document. */
  readonly isQuiet: boolean
}

/** What a round called, known when it ends. */
export type RoundKind =
  /** No injected tool. */
  | 'plain'
  /** Injected tools and nothing else. */
  | 'own'
  /** Injected tools, and the client's. */
  | 'mixed'

/** By how many calls were of injected tools, and how many were of others. */
export function verdictOf(owns: number, others: number): RoundKind {
  if (owns === 0) return 'plain'
  return others === 0 ? 'own' : 'mixed'
}

/**
 * Puts rounds together, event by event. Contracts:
 * - Text and reasoning are passed on as they come, in the words they came in where nothing must change.
 * - A call to an injected tool, or anything that tells of it, is never passed on.
 * - What ends a round that calls an injected tool is held: `finish` gives it where the answer ends with that round.
 * - Must never throw on what an upstream may send.
 */
export interface Splicer {
  /** What the client gets for an event. */
  take(event: StreamEvent): readonly string[]
  /** What the round that is under way called so far. */
  readonly verdict: RoundKind
  /** Whether the round ended before the model was done, so that its calls may be broken. */
  readonly isCut: boolean
  /** The held end of a round, for a client that gets no further round. */
  finish(): readonly string[]
  /** The next event is of another round. */
  nextRound(): void
  /** An event that breaks the answer off, in the shape of the format. */
  failure(error: StreamFailure): string
  /** Keeps the connection open. */
  readonly keepAlive: string
}

export interface StreamFailure {
  /** The upstream's own words. */
  readonly body?: JsonObject | undefined
  readonly type: string
  readonly message: string
}

/** An event in the shape in which this format names them. */
export function writeEvent(data: JsonObject, name?: string): string {
  return `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`
}

/**
 * What stands between the texts of two rounds, which are one text for the client: nothing where one of them is empty or the first one ends
 * with a space of its own.
 */
export function gapBetween(before: string, after: string): string {
  return before === '' || after === '' || /\s$/.test(before) ? '' : '\n\n'
}

/** Numbers add up, at every depth; lists are joined; of anything else the newest is kept. */
export function sumUsage(before: JsonObject | undefined, after: JsonObject): JsonObject {
  if (before === undefined) return after
  const keys = new Set([...Object.keys(before), ...Object.keys(after)])
  return Object.fromEntries([...keys].map((key) => [key, sum(before[key], after[key])]))
}

function sum(before: Json | undefined, after: Json | undefined): Json {
  if (before === undefined || before === null) return after ?? null
  if (after === undefined || after === null) return before
  if (typeof before === 'number' && typeof after === 'number') return before + after
  if (Array.isArray(before) && Array.isArray(after)) return [...before, ...after]
  return isJsonObject(before) && isJsonObject(after) ? sumUsage(before, after) : after
}
