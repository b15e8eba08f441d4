// What a provider's HTTP API is: its message format, where a request holds what, how it answers, its tools, usage, errors and cache marks.
// One folder implements it for each API, with the same file names in each. Everything outside of these folders works on this interface.

import type { Json, JsonObject } from '../core/log/json.ts'
import type { Frame } from '../core/view/view.ts'
import type { Format } from './format.ts'
import type { WireFormat } from './registry.ts'
import type { SpliceOptions, Splicer } from './splice.ts'
import type { AnswerFormat } from './stream.ts'
import type { Usage } from './usage.ts'
import type { MakeId, Reply, WriteOptions, WrittenAnswer } from './write.ts'

/** An HTTP API for model calls. Contracts: those of `Format` and `AnswerFormat`; nothing throws on a body that a client may send. */
export interface Provider extends Format, AnswerFormat {
  readonly name: WireFormat
  /** The company, as OpenTelemetry's `gen_ai.provider.name` spells it. */
  readonly vendor: string
  readonly request: RequestFormat
  /** @default what clients resend needs no care */
  readonly resend?: ResendFormat
  readonly tools: ToolFormat
  /** Edits of its context that the provider makes on request. @default it makes none, or none that can be made elsewhere */
  readonly contextEdits?: ContextEdits
  /** Compaction that it makes on request. @default it makes none */
  readonly compaction?: CompactionFormat
  readonly usage: UsageFormat
  readonly errors: ErrorFormat
  /** A scripted answer, whole and as a stream. */
  writeAnswer(reply: Reply, options: WriteOptions): WrittenAnswer
}

/** Where a request's body holds what. */
export interface RequestFormat {
  /**
   * The paths that it answers, as patterns: `{model}` stands for one part of the path or a piece of it, for example
   * `/v1beta/models/{model}:generateContent`. The first is the one to send to.
   */
  readonly paths: readonly string[]
  /** Whether servers have the API under other roots than that of the paths. @default false */
  readonly hasFreeRoot?: boolean
  /** The header that carries the caller's key. */
  readonly keyHeader: string
  /** The messages as a list, whatever form they have in the body; empty where there are none. */
  list(body: JsonObject): readonly Json[]
  /** The conversation that a body carries, which may be empty; undefined where it does not carry all of it, so that nothing of it may be changed. */
  history(body: JsonObject): readonly Json[] | undefined
  /** What stands around the history: system text, tools and parameters, without what only names the caller or the call. */
  frame(body: JsonObject): Frame
  /** A body with the messages of a view in place of its own, and the view's system text where it has none. */
  write(body: JsonObject, view: WrittenView): JsonObject
  /** Whether a body shows that it is of this API, where its path does not tell. Asked after the later ones of the registry. */
  recognizes(body: JsonObject): boolean
  /** Whether the answer is to be a stream, by the body or by the path. */
  isStreaming(body: JsonObject, path: string): boolean
  /** The most tokens that the answer may have, where the body says so. */
  maxTokens(body: JsonObject): Json | undefined
  /** Whether the model's reasoning is asked for. */
  wantsReasoning(body: JsonObject): boolean
  /** Whether several answers are asked for, of which none continues with the conversation. */
  isAmbiguous?(body: JsonObject): boolean
  /** The field with a key for the provider's cache. @default it takes none */
  readonly cacheKey?: string
  /** Whether messages with the role `system` may stand among the others, beside the system text of the body. @default false */
  readonly hasSystemNotes?: boolean
  /** Whether the answer is to continue with the last message. @default it never does */
  isBegun?(history: readonly Json[]): boolean
  /** System text of the log behind that of the body. @default it stands among the messages */
  joinSystem?(own: Json | undefined, added: Json): Json
  /**
   * An answer and the beginning that the client wrote for it, as the one message that clients make of both.
   * @default the provider does not continue with an answer that was begun
   */
  joinBegun?(parts: readonly Json[]): Json
  /** Conversations that the provider keeps. @default it keeps none */
  readonly stored?: StoredHistory
}

export interface WrittenView {
  readonly messages: readonly Json[]
  readonly system?: Json
}

/** How a request continues from an answer that the provider keeps. */
export interface StoredHistory {
  /** The field that names the answer. */
  readonly key: string
  /** Whether the answer to this request is kept. */
  isKept(body: JsonObject): boolean
}

/** Edits of the messages that a request asks its provider for, as they can be made for a server that does not know them. */
export interface ContextEdits {
  /** The field of a request that asks for them. */
  readonly key: string
  /** Hosts of servers that know the field. */
  readonly hosts: readonly string[]
  /** A header and the words in it that turn the field on. @default nothing turns it on */
  readonly flags?: { readonly header: string; readonly values: readonly string[] }
  /** Whether everything that the field asks for can be done here. */
  supports(asked: Json): boolean
  /** The messages of a request with the edits. As many as before, and those that stay the same objects. Pure. */
  apply(
    messages: readonly Json[],
    asked: Json,
    around: {
      /** Tokens of the whole request. */
      readonly inputTokens: number
      count(text: string): number
    },
  ): EditedMessages
  /** Fields by which an answer tells of them. */
  answer(applied: readonly JsonObject[]): JsonObject
}

/** Compaction that a request asks its provider for, as it can be made for a server that does not know it. */
export interface CompactionFormat {
  /** Fields of a request that ask for a compaction, beside the one that asks for edits. @default there are none */
  readonly keys?: readonly string[]
  /** The path that answers with a compaction and nothing else. @default there is none */
  readonly path?: string
  /** What a request asks for; undefined where it asks for none. */
  asked(body: JsonObject): AskedCompaction | undefined
  /** The block (or item) that stands for a conversation. */
  block(made: MadeCompaction): JsonObject
  /** An answer of nothing but a compaction, whole and as a stream. */
  answer(block: JsonObject, around: CompactionAnswer): WrittenAnswer
  /** A message that begins with a compaction, as one of the user with its summary; undefined where there is none that can be read. */
  asText(message: Json): readonly Json[] | undefined
}

export interface AskedCompaction {
  /** Tokens that a request has when it is compacted; 0 for one that is compacted in any case. */
  readonly fromTokens: number
  /** What the summary should keep. */
  readonly instructions?: string
  /** Whether the answer is the compaction alone. */
  readonly isAlone: boolean
  /** Whether it was asked for now, and not only from some length on. */
  readonly isDemanded: boolean
}

export interface MadeCompaction {
  /** Tells it from any other. */
  readonly id: string
  readonly summary: string
  /** Whether it stands in the place of what it summarizes. */
  readonly isSigned: boolean
}

export interface CompactionAnswer {
  readonly request: JsonObject
  readonly makeId: MakeId
  /** Milliseconds since the epoch. */
  readonly now: number
  /** Messages of the user, in the order in which they were said. */
  readonly users: readonly Json[]
}

export interface EditedMessages {
  readonly messages: readonly Json[]
  /** What was done, in the provider's words. */
  readonly applied: readonly JsonObject[]
}

/** Reasoning in messages that clients resend, beside those of a view: see docs/decisions/0002-what-clients-resend.md. */
export interface ResendFormat {
  /** The parts of a request without reasoning that does not fit to what the client resends of its own. @default all of them */
  fitReasoning?<P extends PlacedMessage>(parts: readonly P[], sent: readonly Json[]): readonly P[]
  /** The parts without any reasoning. @default all of them */
  withoutReasoning?<P extends PlacedMessage>(parts: readonly P[]): readonly P[]
}

/** A message to send, and the client's that it stands for. */
export interface PlacedMessage {
  readonly value: Json
  /** Position of the client's message. */
  readonly from?: number
  /** Whether it says the same as the client's, cache marks aside. */
  readonly isSame: boolean
}

/** A tool, before a provider's words for it. */
export interface ToolDefinition {
  readonly name: string
  readonly description: string
  readonly parameters: JsonObject
}

/** A tool of a request's list, alone. */
export interface ListedTool {
  /** Absent for a tool that the provider runs itself or that has another kind of name: it must stay in the list. */
  readonly name?: string
  readonly description: string
  readonly parameters: Json
  /** A list with only this element defines the tool. */
  readonly element: Json
}

/** One call to an injected tool. */
export interface OwnCall {
  readonly id: string
  /** The tool's name. */
  readonly name: string
  /** As the model wrote them: JSON text, or an object. */
  readonly input: Json
}

export interface CallResult {
  readonly id: string
  /** The tool's name. */
  readonly name: string
  readonly text: string
}

/** The calls of an answer: to injected tools, and to others. */
export interface SortedCalls {
  readonly own: readonly OwnCall[]
  /** Whether the client's own tools are called too. */
  readonly hasOthers: boolean
}

/** What a request is to an injected tool; see docs/decisions/0008-expansion-inside-a-request.md. */
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

/** Tools in requests and answers: how one more is injected, and how its calls and results are taken out again. */
export interface ToolFormat {
  /** The field with the list of tools, and the one that says which may be called. */
  readonly listKey: string
  readonly choiceKey: string
  /** An element of the list that defines the tool. */
  define(tool: ToolDefinition): JsonObject
  /** The names of the tools in a list. */
  names(tools: readonly Json[]): readonly string[]
  /** The tools of a list one by one, in its order. */
  definitions(tools: readonly Json[]): readonly ListedTool[]
  /** The names of tools that the request's choice asks for or allows; empty where it names none. */
  chosen(body: JsonObject): readonly string[]
  eligibility(body: JsonObject): ToolEligibility
  /** Sorts the calls of an answer's messages, by the names of the injected tools. */
  sort(messages: readonly Json[], names: readonly string[]): SortedCalls
  /** Whether a whole answer ended before the model was done, so that its calls may be broken. */
  isCut(answer: JsonObject): boolean
  /** The messages that carry the results. */
  results(results: readonly CallResult[]): readonly Json[]
  /** A round's messages without what the provider would not take back. @default all of them */
  replayed?(messages: readonly Json[], body: JsonObject): readonly Json[]
  /** What of a round's messages a client resends as it is, where it does not resend one message for all of them. */
  resent?(messages: readonly Json[], names: readonly string[]): readonly Json[]
  /** Whole answers of several rounds as one, without the calls to injected tools. */
  join(answers: readonly JsonObject[], options: SpliceOptions): JsonObject
  /** Where a whole answer repeats the tools of the request: what must not be seen of them. @default it repeats nothing */
  echoes?(options: SpliceOptions): ToolEchoes
  splicer(options: SpliceOptions): Splicer
  /** The choice with which the tools are listed and none is called. */
  readonly noChoice: Json
  /** Whether reasoning may be bound to the list of tools, so that it stays the same in every request. */
  readonly bindsReasoning: boolean
  /** Whether a request carries such reasoning. @default none does */
  isBound?(body: JsonObject): boolean
  /** How a client's request that carries such reasoning makes the model call one of its tools, beside the injected ones. */
  forcing?(body: JsonObject): Forcing | undefined
}

/** The choice of the one tool that is left; or the list without the injected ones, and no reasoning that is bound to it. */
export type Forcing = { readonly choice: Json } | 'without-reasoning'

/** Fields of an answer that tell of injected tools. */
export interface ToolEchoes {
  /** Elements of lists that are left out, by the name of the list. */
  readonly lists: Readonly<Record<string, (element: JsonObject) => boolean>>
  /** Fields that are replaced, where the answer has them. */
  readonly values: JsonObject
}

export interface UsageFormat {
  /** The provider's token counts in one shape; undefined where they are not in this provider's. */
  read(sample: JsonObject): Usage | undefined
  /** Tokens of reasoning, where the provider distinguishes them. */
  reasoning(sample: JsonObject): number | undefined
}

/** A refusal of the gateway, or of a server that speaks for the provider. */
export interface ProviderError {
  readonly status: number
  readonly message: string
  /** The kind of error, in the provider's word. @default follows from the status */
  readonly type?: string
  /** A stable word. */
  readonly code?: string
  /** The field of the request that is wrong. */
  readonly path?: string
}

/** An event at the beginning of a stream; an error with what the provider says of it. */
export type StreamOpening = 'opening' | 'content' | { readonly error: Json }

export interface ErrorFormat {
  /** The body of an error. */
  body(error: ProviderError): JsonObject
  /** The error for a request that is longer than the model's window, in the provider's words. */
  tooLong(counted: { readonly tokens: number; readonly window: number }): ProviderError
  /**
   * The words, lower-cased, by which the provider says that a request is too long; of several that fit, the first. Groups name its
   * numbers: `sent`, `limit`, and `output` where the answer counts too. Each has a fixture in the test.
   */
  readonly contextLength: readonly RegExp[]
  /** What an event at the beginning of a stream is: before any content, the first of it, or an error. */
  opening(event: Json | undefined): StreamOpening
}

/** The values of a path's `{name}` parts; undefined where the path is another one. */
export function matchPath(
  pattern: string,
  path: string,
): Readonly<Record<string, string>> | undefined {
  const found = patternOf(pattern).exec(path)
  return found === null ? undefined : { ...found.groups }
}

/** A path with its parts put in. */
export function fillPath(pattern: string, parts: Readonly<Record<string, string>>): string {
  return pattern.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(parts[name] ?? ''))
}

const patterns = new Map<string, RegExp>()

function patternOf(pattern: string): RegExp {
  const known = patterns.get(pattern)
  if (known !== undefined) return known
  const source = pattern
    .split(/(\{\w+\})/)
    .map((part) =>
      part.startsWith('{')
        ? `(?<${part.slice(1, -1)}>[^/]+)`
        : part.replace(/[.+?^$()|[\]\\*]/g, '\\$&'),
    )
    .join('')
  const made = new RegExp(`^${source}$`)
  patterns.set(pattern, made)
  return made
}

/** The model that a request asks for: in the path, or in the body. */
export function modelOf(provider: Provider, body: JsonObject, path: string): string | undefined {
  for (const pattern of provider.request.paths) {
    const model = pattern.includes('{model}') ? matchPath(pattern, path)?.model : undefined
    if (model !== undefined) return decodePart(model)
  }
  return typeof body.model === 'string' ? body.model : undefined
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Fields that name a call or a caller, not what the model is asked: they would make every frame a new one. */
const callerFields: readonly string[] = [
  'model',
  'metadata',
  'diagnostics',
  'client_metadata',
  'user',
  'safety_identifier',
  'session_id',
  'prompt_cache_key',
  'stream',
  'stream_options',
  'store',
  'oriel',
]

/** The frame of a body: its system text, its tools, and every other field that says what the model is asked. */
export function frameOf(
  body: JsonObject,
  fields: { readonly messages: string; readonly system?: string; readonly tools: string },
): Frame {
  const known = new Set([...callerFields, ...Object.values(fields)])
  const names = Object.keys(body).filter((key) => !known.has(key))
  const system = fields.system === undefined ? undefined : body[fields.system]
  const tools = body[fields.tools]
  return {
    ...(isGiven(system) ? { system } : {}),
    ...(isGiven(tools) ? { tools } : {}),
    ...(names.length === 0
      ? {}
      : { params: Object.fromEntries(names.map((name) => [name, body[name] as Json])) }),
  }
}

/** The list in a field; undefined where it is none. */
export function listAt(body: JsonObject, key: string): readonly Json[] | undefined {
  const list = body[key]
  return Array.isArray(list) ? list : undefined
}

export function isGiven(value: Json | undefined): value is Exclude<Json, null> {
  return value !== undefined && value !== null
}
