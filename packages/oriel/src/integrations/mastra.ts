// Mastra: a processor that shows the model the view, while the agent's memory keeps the originals.

import { OrielError } from '../core/log/errors.ts'
import { isObject, type Json } from '../core/log/json.ts'
import { assertOptions, type OptionNames } from '../core/log/options.ts'
import type { AnyThread } from '../thread/thread.ts'
import { toPrompt } from './ai-sdk-prompt.ts'
import { usageOf } from './ai-sdk-usage.ts'
import {
  type Call,
  type Conversation,
  type ManagedOptions,
  managedOptions,
  type StatelessOptions,
  statelessConversation,
  statelessOptions,
  threadConversation,
} from './conversation.ts'

/** What is looked at of a request that Mastra is about to send. */
export interface MastraRequest {
  readonly prompt: readonly unknown[]
  readonly model: { readonly modelId: string; readonly specificationVersion?: string }
  /** Mastra's own place for what belongs to one request. */
  readonly state: Record<string, unknown>
  readonly requestContext?: unknown
}

/** What is looked at of an answer. */
export interface MastraResponse {
  readonly chunks: readonly { readonly type: string; readonly payload: unknown }[]
  readonly state: Record<string, unknown>
}

/** Lookups are not answered inside a request: Mastra runs the agent's own tools, so give it `expandTool` of `oriel/ai-sdk`. */
type Managed = Omit<ManagedOptions, 'expand' | 'sends'>

/** The conversation is kept in a thread; a function finds the thread of each request. */
export interface WithThread extends Managed {
  readonly thread: AnyThread | ((request: MastraRequest) => AnyThread | Promise<AnyThread>)
}

/** Nothing is kept: each request is projected by itself. */
export interface WithPolicy extends Managed, StatelessOptions {}

export type OrielProcessorOptions = WithThread | WithPolicy

type AllOptions = Partial<WithThread & WithPolicy>
const { expand: _expand, sends: _sends, ...managed } = managedOptions
const allOptions: OptionNames<AllOptions> = { ...managed, ...statelessOptions, thread: true }

/** For `new Agent({ inputProcessors: [orielProcessor(options)] })`. */
export interface OrielProcessor {
  readonly id: 'oriel'
  readonly name: string
  processInputStep(step: {
    readonly tools?: unknown
    readonly state: Record<string, unknown>
  }): void
  // The prompt is of Mastra's own type, and goes out in it.
  // biome-ignore lint/suspicious/noExplicitAny: types only, without importing Mastra.
  processLLMRequest(request: any): Promise<{ prompt: any }>
  processLLMResponse(response: MastraResponse): Promise<void>
}

/**
 * A processor of Mastra (1.71 and newer), which acts on the request alone.
 *
 * - The model gets the view; the message list, and so the memory, keeps the originals.
 * - With a thread, every request and its usage are recorded there.
 */
export function orielProcessor(options: OrielProcessorOptions): OrielProcessor {
  assertOptions<AllOptions>(options, allOptions, 'orielProcessor')
  const find = conversationFinder(options)
  return {
    id: 'oriel',
    name: 'Oriel',
    processInputStep({ tools, state }) {
      state[toolsKey] = isObject(tools) ? toolsOf(tools) : undefined
    },
    async processLLMRequest(request: MastraRequest) {
      const { model, state } = request
      const prompt = request.prompt.map(withoutStamps)
      const tools = state[toolsKey]
      const conversation = await find(request)
      const call = await conversation.begin(prompt, {
        format: 'ai-sdk',
        model: model.modelId,
        ...(tools === undefined ? {} : { frame: { tools } }),
      })
      state[callKey] = call
      const version = model.specificationVersion ?? 'v2'
      return { prompt: toPrompt(call.messages, { version, originals: prompt }) }
    },
    async processLLMResponse({ chunks, state }) {
      const call = state[callKey] as Call | undefined
      // The answer itself comes back with the next request, as Mastra has it by then.
      await call?.record({ messages: [], usage: usageIn(chunks) })
    },
  }
}

const callKey = 'oriel-call'
const toolsKey = 'oriel-tools'

function conversationFinder(
  options: OrielProcessorOptions,
): (request: MastraRequest) => Promise<Conversation> {
  // Mastra sends the whole history that its memory recalls.
  const shared = { ...options, sends: 'all', expand: false } as const
  if ('thread' in options) {
    const { thread } = options
    return async (request) =>
      threadConversation(typeof thread === 'function' ? await thread(request) : thread, shared)
  }
  if (!('policy' in options)) {
    throw new OrielError('invalid-option', 'orielProcessor needs a thread or a policy.', {
      path: 'thread',
    })
  }
  const conversation = statelessConversation(options, shared)
  return async () => conversation
}

/**
 * A message without Mastra's own notes, such as when a part was made. No provider reads them, and a history that is passed again gets new
 * ones: the thread would take it for another history. The same object where there are none.
 */
function withoutStamps(message: unknown): unknown {
  if (!isObject(message)) return message
  const bare = withoutOwnOptions(message)
  const { content } = bare
  if (!Array.isArray(content)) return bare
  const parts = content.map((part) => (isObject(part) ? withoutOwnOptions(part) : part))
  return parts.every((part, index) => part === content[index]) ? bare : { ...bare, content: parts }
}

function withoutOwnOptions(
  holder: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const { providerOptions, ...rest } = holder
  if (!isObject(providerOptions) || !Object.hasOwn(providerOptions, 'mastra')) return holder
  const { mastra: _mastra, ...others } = providerOptions
  return Object.keys(others).length === 0 ? rest : { ...rest, providerOptions: others }
}

/** Names and descriptions: what of a tool is certain to be on the wire, whatever its schema is made with. */
function toolsOf(tools: Readonly<Record<string, unknown>>): Json {
  return Object.entries(tools).map(([name, tool]) => ({
    name,
    description: isObject(tool) && typeof tool.description === 'string' ? tool.description : '',
  }))
}

function usageIn(chunks: MastraResponse['chunks']): ReturnType<typeof usageOf> {
  const payload = chunks.findLast(
    ({ type }) => type === 'finish' || type === 'step-finish',
  )?.payload
  if (!isObject(payload)) return undefined
  const { output, usage } = payload
  return usageOf(usage ?? (isObject(output) ? output.usage : undefined))
}
