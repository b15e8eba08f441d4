// What expansion inside a request must know of a wire format.

import type { Json, JsonObject } from 'oriel'
import type { SpliceOptions, Splicer } from './splicer.ts'

/** A tool, before a format wraps it. */
export interface ToolDefinition {
  readonly name: string
  readonly description: string
  readonly parameters: JsonObject
}

/** One call that a model made to the gateway's own tool. */
export interface OwnCall {
  readonly id: string
  /** As the model wrote them: JSON text, or an object. */
  readonly input: Json
}

export interface CallResult {
  readonly id: string
  readonly text: string
}

/** An answer apart: what is for the gateway, and what is for the client. */
export interface Sorted {
  readonly own: readonly OwnCall[]
  /** Whether the client's own tools are called too. */
  readonly hasOthers: boolean
}

export interface ExpansionFormat {
  /** The tool in the words of the format. */
  define(tool: ToolDefinition): JsonObject
  /** The names of the client's functions. */
  toolNames(tools: readonly Json[]): readonly string[]
  /** Whether the tool may be offered to this request; see docs/decisions/0008-expansion-inside-a-request.md. */
  canOffer(body: JsonObject): boolean
  /** Sorts the calls of an answer's messages. */
  sort(messages: readonly Json[], name: string): Sorted
  /** Whether a whole answer ended before the model was done, so that its calls may be broken. */
  isCut(answer: JsonObject): boolean
  /** The messages that carry the results. */
  results(results: readonly CallResult[]): readonly Json[]
  /** What of a round's messages a client resends as it is, where it does not resend one message for all of them. */
  resent?(messages: readonly Json[], name: string): readonly Json[]
  /** Whole answers of several rounds as one, without the gateway's calls. */
  join(answers: readonly JsonObject[], name: string): JsonObject
  /** The text of a whole answer of a single round, without a trace of the tool; most formats have none. */
  clean?(text: string, name: string): string
  splicer(options: SpliceOptions): Splicer
  /** Value of `tool_choice` with which a request that calls nothing keeps its list of tools; absent where lists may be left out. */
  readonly noChoice?: Json
}
