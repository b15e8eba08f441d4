// What expansion inside a request must know of a wire format.

import type { Json, JsonObject, WireFormat } from 'oriel'
import { anthropicExpansion } from './anthropic.ts'
import { chatExpansion } from './openai-chat.ts'
import { responsesExpansion } from './openai-responses.ts'
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

/** What a request is to the tool; see docs/decisions/0008-expansion-inside-a-request.md. */
export type ToolEligibility =
  /** Nothing speaks against it. */
  | 'open'
  /** The model must call some tool. */
  | 'forced'
  /** The answer must be one document in a given shape. */
  | 'structured'
  /** Several rounds cannot be made one answer. */
  | 'single'
  /** The request would be refused with another tool, or is refused in any case. */
  | 'closed'

export interface ExpansionFormat {
  /** The tool in the words of the format. */
  define(tool: ToolDefinition): JsonObject
  /** The names of the client's functions. */
  toolNames(tools: readonly Json[]): readonly string[]
  /** What speaks against the tool in this request. */
  stance(body: JsonObject): ToolEligibility
  /** Sorts the calls of an answer's messages. */
  sort(messages: readonly Json[], name: string): Sorted
  /** Whether a whole answer ended before the model was done, so that its calls may be broken. */
  isCut(answer: JsonObject): boolean
  /** The messages that carry the results. */
  results(results: readonly CallResult[]): readonly Json[]
  /** A round's messages without what the provider would not take back. @default all of them */
  replayed?(messages: readonly Json[], body: JsonObject): readonly Json[]
  /** What of a round's messages a client resends as it is, where it does not resend one message for all of them. */
  resent?(messages: readonly Json[], name: string): readonly Json[]
  /** Whole answers of several rounds as one, without the gateway's calls. */
  join(answers: readonly JsonObject[], options: SpliceOptions): JsonObject
  /** The text of a whole answer of a single round, without a trace of the tool; most formats have none. */
  clean?(text: string, options: SpliceOptions): string
  splicer(options: SpliceOptions): Splicer
  /** The value of `tool_choice` with which the tools are listed and none is called. */
  readonly noChoice: Json
  /** Whether reasoning may be bound to the list of tools, so that it stays the same in every request. */
  readonly bindsTools: boolean
  /** Whether a request carries such reasoning. @default none does */
  isBound?(body: JsonObject): boolean
  /** How a client's request that carries such reasoning makes the model call one of its tools, beside ours. */
  forcing?(body: JsonObject): Forcing | undefined
}

/** The tool that is left, by name; or the list without ours, and no reasoning that is bound to it. */
export type Forcing = { readonly choice: Json } | 'without-reasoning'

export const expansionFormats: Readonly<Record<WireFormat, ExpansionFormat>> = {
  'openai-chat': chatExpansion,
  'openai-responses': responsesExpansion,
  anthropic: anthropicExpansion,
}
