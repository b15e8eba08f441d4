// LangChain 1.x: a middleware for createAgent. The model sees the view, the agent's state keeps the originals.

import {
  type BaseMessage,
  coerceMessageLikeToMessage,
  type UsageMetadata,
} from '@langchain/core/messages'
import { convertToOpenAITool } from '@langchain/core/utils/function_calling'
import { type AgentMiddleware, AIMessage, createMiddleware, tool } from 'langchain'
import { OrielError } from '../core/log/errors.ts'
import { isObject, type Json } from '../core/log/json.ts'
import { assertOptions, type OptionNames } from '../core/log/options.ts'
import { expandToolNames } from '../core/state/expansion.ts'
import type { Frame } from '../core/view/view.ts'
import { langchain } from '../providers/langchain/index.ts'
import {
  expandTool as createExpandTool,
  type Expandable,
  type ExpandTool,
} from '../thread/expand/tool.ts'
import { searchTool as createSearchTool, type Searchable } from '../thread/search/tool.ts'
import { type AnyThread, openThread, type ThreadOptions } from '../thread/thread.ts'
import {
  type Call,
  type CallUsage,
  type Conversation,
  type ManagedOptions,
  managedOptions,
  type StatelessOptions,
  statelessConversation,
  statelessOptions,
  threadConversation,
} from './conversation.ts'

export { trimMessages } from './trim-messages.ts'

/** What tells one conversation from another: the context of a call and its configuration. */
export interface AgentRuntime {
  readonly context?: unknown
  readonly configurable?: Readonly<Record<string, unknown>>
}

/** One thread, or a function that finds the thread of each call. */
export interface WithThread extends ManagedOptions {
  readonly thread: AnyThread | ((runtime: AgentRuntime) => AnyThread | Promise<AnyThread>)
}

/** A thread for each conversation: its id is `context.thread`, else the `thread_id` of the configuration. */
export interface WithThreads extends ManagedOptions {
  readonly threads: Omit<ThreadOptions, 'id'>
}

/** Nothing is kept: each call is projected by itself. */
export interface WithPolicy extends ManagedOptions, StatelessOptions {}

export type OrielMiddlewareOptions = WithThread | WithThreads | WithPolicy

type AllOptions = Partial<WithThread & WithThreads & WithPolicy>
const allOptions: OptionNames<AllOptions> = {
  ...managedOptions,
  ...statelessOptions,
  thread: true,
  threads: true,
}

/**
 * A middleware for `createAgent({ middleware: [orielMiddleware(options)] })`.
 *
 * - The model gets the view; the state, and so the checkpointer, keeps the originals.
 * - After a context-length error the view is made smaller and the call is tried once more.
 * - Answers and usage, with what was read from and written to the cache, are recorded in the thread.
 */
export function orielMiddleware(options: OrielMiddlewareOptions): AgentMiddleware {
  assertOptions<AllOptions>(options, allOptions, 'orielMiddleware')
  const findThread = threadFinder(options)
  const find = conversationFinder(options, findThread)
  const tools =
    findThread === undefined || options.expand === false
      ? []
      : [expandToolOf(findThread), searchToolOf(findThread)]
  return createMiddleware({
    name: 'Oriel',
    tools,
    wrapModelCall: async (request, handler) => {
      const conversation = await find(request.runtime)
      const held = langchain.decode(request.messages, 'messages').flatMap((one) => one.held ?? [])
      const ask = async (call: Call): Promise<Awaited<ReturnType<typeof handler>>> => {
        const shown = langchain.restore?.(call.messages, held) ?? call.messages
        const messages = shown.map((message) => coerceMessageLikeToMessage(message as BaseMessage))
        return handler({ ...request, messages, tools: call.offersExpansion ? all : others })
      }
      const { systemPrompt, tools: all } = request
      const others = all.filter((one) => !(tools as readonly unknown[]).includes(one))
      const begun = await conversation.begin(request.messages, {
        format: 'langchain',
        frame: frameOf(systemPrompt, others),
        // The agent itself runs the tool: its calls and their results are in the agent's state.
        ...(others.length === all.length
          ? {}
          : { expand: { tool: expandName, frame: frameOf(systemPrompt, all) } }),
        ...modelOf(request.model),
      })
      const { call, answer } = await attempt(begun, ask)
      const said = saidIn(answer)
      const [first] = said
      if (first !== undefined) await call.record({ messages: said, usage: usageOf(first) })
      return answer
    },
  })
}

const [expandName] = expandToolNames

/** The tool `expand_message` for an agent of LangChain. The middleware brings it along. */
export function expandTool(thread: Expandable): ReturnType<typeof expandToolOf> {
  return expandToolOf(async () => thread)
}

function expandToolOf(find: (runtime: AgentRuntime) => Promise<Expandable>) {
  const known = new WeakMap<Expandable, ExpandTool>()
  const { definition } = createExpandTool({ expand: async () => ({ ok: false, reason: '' }) })
  return tool(
    async (input: unknown, runtime: AgentRuntime): Promise<string> => {
      const thread = await find(runtime)
      // One for each thread: it remembers what was asked, to end a loop of the same request.
      const own = known.get(thread) ?? createExpandTool(thread)
      known.set(thread, own)
      return own.handle(input)
    },
    {
      name: definition.name,
      description: definition.description,
      schema: definition.parameters as Record<string, unknown>,
    },
  )
}

/** The tool `search_conversation` for an agent of LangChain. The middleware brings it along. */
export function searchTool(thread: Searchable): ReturnType<typeof searchToolOf> {
  return searchToolOf(async () => thread)
}

function searchToolOf(find: (runtime: AgentRuntime) => Promise<Searchable>) {
  const { definition } = createSearchTool({ search: async () => [] })
  return tool(
    async (input: unknown, runtime: AgentRuntime): Promise<string> =>
      createSearchTool(await find(runtime)).handle(input),
    {
      name: definition.name,
      description: definition.description,
      schema: definition.parameters as Record<string, unknown>,
    },
  )
}

type FindThread = (runtime: AgentRuntime) => Promise<AnyThread>

/** The most threads that stay open for one middleware. */
const maxOpenThreads = 256

function threadFinder(options: OrielMiddlewareOptions): FindThread | undefined {
  if ('thread' in options) {
    const { thread } = options
    return async (runtime) => (typeof thread === 'function' ? thread(runtime) : thread)
  }
  if (!('threads' in options)) return undefined
  const open = new Map<string, Promise<AnyThread>>()
  return async (runtime) => {
    const id = threadIdOf(runtime)
    const thread = open.get(id) ?? openThread({ ...options.threads, id })
    // Used last, so that the one that was not used for longest is the first.
    open.delete(id)
    open.set(id, thread)
    thread.catch(() => open.delete(id))
    const [oldest] = open.keys()
    if (open.size > maxOpenThreads && oldest !== undefined) open.delete(oldest)
    return thread
  }
}

function threadIdOf({ context, configurable }: AgentRuntime): string {
  const named = isObject(context) ? context.thread : undefined
  const id = named ?? configurable?.thread_id
  if (typeof id === 'string' && id !== '') return id
  throw new OrielError(
    'invalid-option',
    'No thread is named: pass { context: { thread: id } } or { configurable: { thread_id: id } } when you call the agent.',
    { path: 'context.thread' },
  )
}

function conversationFinder(
  options: OrielMiddlewareOptions,
  findThread: FindThread | undefined,
): (runtime: AgentRuntime) => Promise<Conversation> {
  if (findThread !== undefined) {
    return async (runtime) => threadConversation(await findThread(runtime), options)
  }
  const conversation = statelessConversation(options as WithPolicy, options)
  return async () => conversation
}

/** Asks once, and once more with a smaller view when the first was too long. */
async function attempt<R>(
  call: Call,
  ask: (call: Call) => Promise<R>,
): Promise<{ readonly call: Call; readonly answer: R }> {
  try {
    return { call, answer: await ask(call) }
  } catch (error) {
    const smaller = await call.recover(error)
    if (smaller === undefined) throw error
    return { call: smaller, answer: await ask(smaller) }
  }
}

/**
 * What the agent's state gets of an answer. A structured one comes with the messages around it: where the structure was asked for as
 * a tool, its call, a result and a last word. A command of other middleware says nothing here: what it does comes back with the state.
 */
function saidIn(answer: unknown): readonly BaseMessage[] {
  if (AIMessage.isInstance(answer)) return [answer]
  const isStructured = isObject(answer) && 'structuredResponse' in answer
  return isStructured && Array.isArray(answer.messages) ? answer.messages : []
}

function frameOf(system: string | undefined, tools: readonly unknown[] = []): Frame {
  const written = tools.flatMap(toolOf)
  return {
    ...(system === undefined || system === '' ? {} : { system }),
    ...(written.length === 0 ? {} : { tools: written }),
  }
}

/** A tool as a provider would get it; one that cannot be written so is counted by its name. */
function toolOf(one: unknown): readonly Json[] {
  try {
    const written = convertToOpenAITool(one as Parameters<typeof convertToOpenAITool>[0])
    return [JSON.parse(JSON.stringify(written)) as Json]
  } catch {
    return isObject(one) && typeof one.name === 'string' ? [{ name: one.name }] : []
  }
}

function modelOf(model: unknown): { readonly model?: string } {
  if (typeof model === 'string') return { model }
  const name = isObject(model) ? (model.model ?? model.modelName) : undefined
  return typeof name === 'string' ? { model: name } : {}
}

/** LangChain counts cached tokens among the input. */
function usageOf(message: BaseMessage): CallUsage | undefined {
  if (!AIMessage.isInstance(message)) return undefined
  // Its own type says never for messages of no known structure.
  const usage = message.usage_metadata as UsageMetadata | undefined
  if (usage === undefined) return undefined
  const { cache_read: cacheRead = 0, cache_creation: cacheWrite = 0 } =
    usage.input_token_details ?? {}
  const uncached = Math.max(0, usage.input_tokens - cacheRead - cacheWrite)
  return { uncached, cacheRead, cacheWrite, output: usage.output_tokens }
}
