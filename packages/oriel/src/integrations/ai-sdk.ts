// The AI SDK (versions 6 and 7): a language model whose every call shows the view, while the SDK keeps the originals.

import { z } from 'zod/v4'
import { OrielError } from '../core/log/errors.ts'
import { isObject, type Json, type JsonObject } from '../core/log/json.ts'
import { assertOptions, type OptionNames } from '../core/log/options.ts'
import { expandToolNames } from '../core/state/expansion.ts'
import type { Frame } from '../core/view/view.ts'
import { answers } from '../providers/ai-sdk/stream.ts'
import { isContextLengthError as isOverflow } from '../providers/context-length.ts'
import type { Answer } from '../providers/stream.ts'
import { expandTool as createExpandTool, type Expandable } from '../thread/expand/tool.ts'
import { searchTool as createSearchTool, type Searchable } from '../thread/search/tool.ts'
import type { AnyThread } from '../thread/thread.ts'
import { toPrompt, withCacheMarker } from './ai-sdk-prompt.ts'
import {
  type Content,
  type GenerateResult,
  generateRounds,
  streamRounds,
  toolsWithExpand,
} from './ai-sdk-rounds.ts'
import { usageOf } from './ai-sdk-usage.ts'
import {
  type Answered,
  type Call,
  type Conversation,
  type ManagedOptions,
  managedOptions,
  type StatelessOptions,
  statelessConversation,
  statelessOptions,
  threadConversation,
} from './conversation.ts'

export { type PruneBefore, type PruneMessagesOptions, pruneMessages } from './prune-messages.ts'

/** What is needed of a language model: every version of the SDK's specification has it. */
export interface LanguageModelLike {
  readonly specificationVersion: string
  readonly provider: string
  readonly modelId: string
  doGenerate(options: never): PromiseLike<unknown>
  doStream(options: never): PromiseLike<unknown>
}

/** The options of one call, as the SDK gives them to a language model. */
export interface ModelCall {
  readonly prompt: readonly unknown[]
  readonly tools?: unknown
  readonly providerOptions?: unknown
  readonly abortSignal?: AbortSignal
}

interface CommonOptions extends ManagedOptions {
  /**
   * Marks the end of the stable prefix for Anthropic's cache, where the call has no mark of its own. `auto` does so for models of
   * Anthropic from the second step on.
   * @default 'auto'
   */
  readonly cacheControl?: 'auto' | false
}

/** The conversation is kept in a thread; a function finds the thread of each call. */
export interface WithThread extends CommonOptions {
  readonly thread: AnyThread | ((call: ModelCall) => AnyThread | Promise<AnyThread>)
}

/** Nothing is kept: each call is projected by itself. */
export interface WithPolicy extends CommonOptions, StatelessOptions {}

export type WithOrielOptions = WithThread | WithPolicy

/**
 * The same model, with its context managed. For generateText, streamText and agents; the type of the model stays.
 *
 * - The model gets the view; the SDK's own messages, steps and results keep the originals.
 * - After a context-length error the view is made smaller and the call is tried once more.
 * - Answers and usage, with what was read from and written to the cache, are recorded in the thread.
 * - Errors, aborts and streams pass as they come.
 */
export function withOriel<M extends LanguageModelLike>(model: M, options: WithOrielOptions): M {
  if (!isObject(model) || typeof model.doGenerate !== 'function') {
    const message =
      'withOriel takes a language model object, for example openai("gpt-5"), not the name of one.'
    throw new OrielError('invalid-option', message, { path: 'model' })
  }
  const { generate, stream } = managedCalls(options, 'withOriel')
  const methods = {
    doGenerate: (params: ModelCall) => generate({ params, model }),
    doStream: (params: ModelCall) => stream({ params, model }),
  }
  // Everything else, getters and private fields included, is the model's own.
  return new Proxy(model, {
    get(target, key) {
      if (key === 'doGenerate' || key === 'doStream') return methods[key]
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

interface WrapOptions {
  readonly params: ModelCall
  readonly model: LanguageModelLike
}

/** For `wrapLanguageModel({ model, middleware })` of AI SDK 7, beside other middleware. `withOriel` does the same in one call. */
export interface OrielMiddleware {
  readonly specificationVersion: 'v4'
  wrapGenerate<R>(options: WrapOptions & { doGenerate(): PromiseLike<R> }): Promise<R>
  wrapStream<R>(options: WrapOptions & { doStream(): PromiseLike<R> }): Promise<R>
}

interface StreamResult {
  readonly stream: ReadableStream<Content>
}

/** Other middleware may stand around: what the SDK bound is called on the model itself, since a retry has other parameters. */
export function orielMiddleware(options: WithOrielOptions): OrielMiddleware {
  const { generate, stream } = managedCalls(options, 'orielMiddleware')
  return {
    specificationVersion: 'v4',
    // What the model gives is handed on: only the SDK knows its type.
    wrapGenerate: async <R>(wrapped: WrapOptions) => (await generate(wrapped)) as R,
    wrapStream: async <R>(wrapped: WrapOptions) => (await stream(wrapped)) as R,
  }
}

interface ManagedCalls {
  generate(wrapped: WrapOptions): Promise<GenerateResult>
  stream(wrapped: WrapOptions): Promise<StreamResult>
}

type AllOptions = Partial<WithThread & WithPolicy>
const allOptions: OptionNames<AllOptions> = {
  ...managedOptions,
  ...statelessOptions,
  thread: true,
  cacheControl: true,
}

function managedCalls(options: WithOrielOptions, of: string): ManagedCalls {
  assertOptions<AllOptions>(options, allOptions, of)
  const find = conversationOf(options)
  const begin = async ({ params, model }: WrapOptions): Promise<Call> => {
    const conversation = await find(params)
    const frame = frameOf(params)
    const tools = conversation.isKept ? toolsWithExpand(params) : undefined
    const expand = tools && { tool: expandToolNames[0], frame: frameOf({ ...params, tools }) }
    const call = { format: 'ai-sdk', frame, expand, model: model.modelId } as const
    return conversation.begin(params.prompt, call)
  }
  const paramsOf = (call: Call, { params: given, model }: WrapOptions): ModelCall => {
    const tools = call.offersExpansion ? toolsWithExpand(given) : undefined
    const params = tools === undefined ? given : { ...given, tools }
    const prompt = toPrompt(call.messages, {
      version: model.specificationVersion,
      originals: params.prompt,
    })
    const isMarked = options.cacheControl !== false && /anthropic/i.test(model.provider)
    return { ...params, prompt: isMarked ? withCacheMarker(prompt) : prompt }
  }
  return {
    async generate(wrapped) {
      const ask = async (one: Call): Promise<GenerateResult> =>
        (await wrapped.model.doGenerate(paramsOf(one, wrapped) as never)) as GenerateResult
      const around = { model: wrapped.model.modelId, answered: answeredOf }
      const asked = (call: Call) => attempt(call, ask)
      const first = await asked(await begin(wrapped))
      const { call, result } = first
      if (call.offersExpansion) return generateRounds(first, { ...around, ask: asked })
      await call.record(answeredOf(answers.answer(result as unknown as JsonObject)))
      return result
    },
    async stream(wrapped) {
      const ask = async (one: Call): Promise<StreamResult> => {
        const params = paramsOf(one, wrapped)
        const result = (await wrapped.model.doStream(params as never)) as StreamResult
        return { ...result, stream: await withoutEarlyError(result.stream) }
      }
      const around = { model: wrapped.model.modelId, answered: answeredOf }
      const asked = (call: Call) => attempt(call, ask)
      const first = await asked(await begin(wrapped))
      const { call, result } = first
      if (!call.offersExpansion) {
        return { ...result, stream: result.stream.pipeThrough(recording(call)) }
      }
      return { ...result, stream: streamRounds(first, { ...around, ask: asked }) }
    },
  }
}

/** The tool `expand_message` for the SDK: `tools: { expand_message: expandTool(thread) }`. */
export function expandTool(thread: Expandable): ExpandMessageTool {
  const { definition, handle } = createExpandTool(thread)
  return {
    description: definition.description,
    inputSchema: expandInput,
    execute: (input) => handle(input),
  }
}

/** The tool `search_conversation` for the SDK: `tools: { search_conversation: searchTool(thread) }`. */
export function searchTool(thread: Searchable): SearchConversationTool {
  const { definition, handle } = createSearchTool(thread)
  return {
    description: definition.description,
    inputSchema: searchInput,
    execute: (input) => handle(input),
  }
}

export interface SearchConversationTool {
  readonly description: string
  readonly inputSchema: typeof searchInput
  readonly execute: (input: SearchInput) => Promise<string>
}

export type SearchInput = z.infer<typeof searchInput>

const searchInput = z.object({
  query: z.string().describe('What to find: names, identifiers, paths, numbers, or a question.'),
})

export interface ExpandMessageTool {
  readonly description: string
  readonly inputSchema: typeof expandInput
  readonly execute: (input: ExpandInput) => Promise<string>
}

export type ExpandInput = z.infer<typeof expandInput>

const range = z.array(z.int().min(0)).length(2)

const expandInput = z.object({
  id: z.string().describe('The id, for example e7k2.'),
  lines: range.optional().describe('First and last line, 0-based.'),
  chars: range.optional().describe('First and last character, 0-based: for long lines.'),
  items: range.optional().describe('First and last item of a JSON list, 0-based.'),
  path: z
    .string()
    .optional()
    .describe('Where the list of items is, if there are several: data.rows.'),
  query: z
    .string()
    .optional()
    .describe('Only lines, or parts of long lines, that contain this text.'),
  reason: z.string().optional().describe('Why it is needed.'),
})

function conversationOf(options: WithOrielOptions): (call: ModelCall) => Promise<Conversation> {
  if ('thread' in options) {
    const { thread } = options
    return async (call) =>
      threadConversation(typeof thread === 'function' ? await thread(call) : thread, options)
  }
  const conversation = statelessConversation(options, options)
  return async () => conversation
}

/** Asks once, and once more with a smaller view when the first was too long. */
async function attempt<R>(
  call: Call,
  ask: (call: Call) => PromiseLike<R>,
): Promise<{ readonly call: Call; readonly result: R }> {
  try {
    return { call, result: await ask(call) }
  } catch (error) {
    const smaller = await call.recover(error)
    if (smaller === undefined) throw error
    return { call: smaller, result: await ask(smaller) }
  }
}

/** Parts that say nothing yet: an error behind them only came too late to be thrown. */
const silentParts = ['stream-start', 'response-metadata', 'raw', 'ping']

/** A stream whose error before the first word is thrown, as it is when the provider answers with an error at once. */
async function withoutEarlyError(
  stream: ReadableStream<Content>,
): Promise<ReadableStream<Content>> {
  const reader = stream.getReader()
  const first: Content[] = []
  let isDone = false
  while (!isDone && first.every(({ type }) => silentParts.includes(type))) {
    const { done, value } = await reader.read()
    isDone = done
    if (value !== undefined) first.push(value)
  }
  const last = first.at(-1)
  if (last?.type === 'error' && isOverflow(last.error)) {
    await reader.cancel()
    throw last.error
  }
  return new ReadableStream<Content>({
    async pull(controller) {
      const next = first.shift()
      if (next !== undefined) return controller.enqueue(next)
      const { done, value } = await reader.read()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    cancel: (reason) => reader.cancel(reason),
  })
}

function answeredOf(answer: Answer | undefined): Answered {
  return { messages: answer?.messages ?? [], usage: usageOf(answer?.usage) }
}

function recording(call: Call): TransformStream<Content, Content> {
  const answer = answers.stream()
  return new TransformStream({
    async transform(part, controller) {
      const wasOver = answer.isOver
      answer.take(part)
      // Before the end is told: the next step must find this one in the thread.
      if (answer.isOver && !wasOver) await call.record(answeredOf(answer.answer()))
      controller.enqueue(part)
    },
  })
}

/** What stands around the messages: tools, and the settings that change what is cached. */
function frameOf(params: ModelCall & { readonly toolChoice?: unknown }): Frame {
  const tools = jsonOf(params.tools)
  const choice = jsonOf(params.toolChoice)
  return {
    ...(tools === undefined ? {} : { tools }),
    ...(choice === undefined ? {} : { params: { toolChoice: choice } as JsonObject }),
  }
}

/** Schemas may hold functions and undefined fields: only what goes on the wire counts. */
function jsonOf(value: unknown): Json | undefined {
  const text = JSON.stringify(value) as string | undefined
  return text === undefined ? undefined : (JSON.parse(text) as Json)
}
