// Oriel in pi's own slots. `context`: the model sees the view of the thread. `session_before_compact`: the summary is made without a model.

import { AgentThreads, agentCommandHelp, agentTools, checkpointText, warmUp } from 'oriel/agents'
import { fromAiSdk, type PiMessage, toAiSdk } from './messages.ts'

/** What is used of pi's context for extensions. */
export interface PiContext {
  readonly model?: { readonly id: string } | undefined
  readonly sessionManager: { getSessionId(): string }
  readonly ui: { notify(text: string, level?: string): void }
  getSystemPrompt(): string
}

interface CompactionEvent {
  readonly preparation: {
    readonly firstKeptEntryId: string
    readonly messagesToSummarize: readonly PiMessage[]
    readonly turnPrefixMessages?: readonly PiMessage[]
    readonly tokensBefore: number
    readonly previousSummary?: string
  }
}

interface Compaction {
  readonly compaction: {
    readonly summary: string
    readonly firstKeptEntryId: string
    readonly tokensBefore: number
  }
}

/** What is used of pi's interface for extensions. */
export interface PiApi {
  on(
    event: 'context',
    handler: (
      event: { readonly messages: readonly PiMessage[] },
      context: PiContext,
    ) => Promise<{ messages: PiMessage[] } | undefined>,
  ): void
  on(
    event: 'message_end',
    handler: (event: { readonly message: PiMessage }) => Promise<undefined>,
  ): void
  on(
    event: 'session_before_compact',
    handler: (event: CompactionEvent) => Promise<Compaction>,
  ): void
  on(event: 'session_shutdown', handler: () => Promise<void>): void
  registerCommand(
    name: string,
    options: {
      readonly description: string
      handler(words: string, context: PiContext): Promise<void>
    },
  ): void
  registerTool(tool: {
    readonly name: string
    readonly label: string
    readonly description: string
    readonly parameters: unknown
    execute(
      id: string,
      input: unknown,
    ): Promise<{ content: { type: 'text'; text: string }[]; details: unknown }>
  }): void
}

/**
 * The extension: `pi -e @oriel/pi`, or `oriel connect pi --how plugin`.
 *
 * - Every model call shows the view; pi's session keeps every message whole.
 * - A failure of Oriel never stops pi: the messages are then sent as they are, and the user is told once.
 */
// biome-ignore lint/style/noDefaultExport: pi loads the default export of an extension.
export default function oriel(pi: PiApi): void {
  const threads = new AgentThreads({ agent: 'pi', env: process.env })
  /** The session of the newest request: tools and events do not name theirs. */
  let session = ''
  let isTold = false
  let isWarm = false

  /** While the model answers the first request: the first checkpoint of a process takes three times as long as later ones. */
  function warm(): void {
    if (isWarm) return
    isWarm = true
    setImmediate(() => void warmUp().catch(() => undefined))
  }

  pi.on('context', async ({ messages }, context) => {
    try {
      session = context.sessionManager.getSessionId()
      const view = await threads.request(session, messages.map(toAiSdk), {
        format: 'ai-sdk',
        frame: { system: context.getSystemPrompt(), tools: agentTools },
        model: context.model?.id,
      })
      warm()
      return { messages: fromAiSdk(view.messages, messages) }
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      if (!isTold)
        context.ui.notify(`Oriel: ${reason} The messages are sent as they are.`, 'warning')
      isTold = true
      return undefined
    }
  })

  pi.on('message_end', async ({ message }) => {
    const usage = message.usage as PiUsage | undefined
    if (message.role !== 'assistant' || usage === undefined) return undefined
    const { input: uncached, cacheRead, cacheWrite, output } = usage
    await threads.usage(session, { uncached, cacheRead, cacheWrite, output })
    return undefined
  })

  pi.on('session_before_compact', async ({ preparation }) => {
    const { firstKeptEntryId, tokensBefore } = preparation
    return { compaction: { summary: await summaryOf(preparation), firstKeptEntryId, tokensBefore } }
  })

  pi.on('session_shutdown', () => threads.close())

  pi.registerCommand('oriel', {
    description: `Oriel: ${agentCommandHelp}`,
    async handler(words, { ui }) {
      ui.notify(await threads.command(session, words), 'info')
    },
  })

  for (const tool of agentTools) {
    pi.registerTool({
      ...tool,
      label: tool.name === 'expand_message' ? 'Expand' : 'Search',
      async execute(_id, input) {
        const text = await threads.lookUp(session, { name: tool.name, input })
        return { content: [{ type: 'text', text }], details: {} }
      },
    })
  }
}

interface PiUsage {
  readonly input: number
  readonly output: number
  readonly cacheRead: number
  readonly cacheWrite: number
}

/** The summary that pi keeps in place of messages. */
export function summaryOf({
  messagesToSummarize,
  turnPrefixMessages = [],
  previousSummary,
}: CompactionEvent['preparation']): Promise<string> {
  const messages = [...messagesToSummarize, ...turnPrefixMessages].map(withoutThinking)
  return checkpointText(messages.map(toAiSdk), { format: 'ai-sdk', previous: previousSummary })
}

/** What a model thought is no part of a summary, and while it is signed, nothing before it may change. */
function withoutThinking(message: PiMessage): PiMessage {
  const { content } = message
  if (typeof content === 'string' || content === undefined) return message
  return { ...message, content: content.filter(({ type }) => type !== 'thinking') }
}
