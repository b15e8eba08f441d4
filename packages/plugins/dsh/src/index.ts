// Oriel in the DeepSeek Harness: the summary of a compaction is made without a model, and every request is in the log.

import { AgentThreads, agentCommandHelp, agentTools, checkpointText } from 'oriel/agents'
import { type DshMessage, toAiSdk } from './messages.ts'

interface DshSession {
  readonly id: string
  deriveMessages(): readonly DshMessage[]
}

interface DshAgent {
  readonly session: DshSession
}

interface Summary {
  readonly summary: readonly { readonly type: 'text'; readonly text: string }[]
  readonly provider: string
  readonly model: string
}

/** The engine of `@deepseek-ai/dsh-compaction-basic`: `summarize` is its hook for other summaries. */
interface CompactionEngine {
  summarize?(
    input: { readonly messages: readonly DshMessage[] },
    agent: DshAgent,
    signal?: AbortSignal,
  ): Promise<Summary>
}

/** A model call of the harness. */
interface DshRequest {
  readonly model: string
  readonly messages: readonly DshMessage[]
  readonly system?: string
  /** Absent for calls beside the conversation's own, such as the one for a title. */
  readonly purpose?: string
  readonly sessionId?: string
}

interface DshChunk {
  readonly type: string
  readonly usage?: {
    readonly inputTokens: number
    readonly outputTokens: number
    readonly cacheReadTokens?: number
    readonly cacheWriteTokens?: number
  }
}

interface Invocation {
  readonly agent: DshAgent
  readonly rawInput: string
}

/** What is used of the harness's context for plugins. */
export interface DshContext {
  readonly compaction: CompactionEngine
  readonly logger: { warn(text: string): void }
  readonly tools: { register(tool: object): void }
  readonly commands: {
    register(command: {
      readonly name: string
      readonly description: string
      readonly input: { readonly hint: string }
      handler(invocation: Invocation): Promise<{ kind: 'success'; text: string }>
    }): void
  }
  inject(services: readonly string[], apply: (context: DshContext) => void): void
  effect(set: () => () => unknown): void
  on(
    event: 'llm/stream',
    listener: (request: DshRequest, next: () => AsyncIterable<DshChunk>) => AsyncIterable<DshChunk>,
  ): void
  on(
    event: 'session/event',
    listener: (session: DshSession, event: { readonly type: string }) => void,
  ): void
}

export const name = 'oriel'
export const inject = ['llm', 'sessions', 'tools']

const format = 'ai-sdk'

/**
 * The plugin: an entry with its path in `cordis.patch.yml`.
 *
 * - What the harness sends is not changed.
 * - A failure of Oriel never stops the harness: its own compaction runs then, and the log of the harness says why, once.
 */
export function apply(context: DshContext): void {
  const threads = new AgentThreads({ agent: 'dsh', env: process.env, policy: {} })
  let isTold = false
  const tell = (error: unknown): void => {
    if (isTold) return
    isTold = true
    const reason = error instanceof Error ? error.message : String(error)
    context.logger.warn(`Oriel: ${reason} The harness works as without it.`)
  }
  context.effect(() => () => threads.close())

  context.on('llm/stream', (request, next) =>
    request.sessionId === undefined || request.purpose !== undefined
      ? next()
      : recorded(threads, request, { chunks: next(), tell }),
  )
  // The answer that ends a turn is in no request yet.
  context.on('session/event', (session, { type }) => {
    if (type === 'turn/end')
      threads.sync(session.id, toAiSdk(session.deriveMessages()), format).catch(tell)
  })

  for (const { name: tool, description, parameters } of agentTools) {
    context.tools.register({
      ...{ name: tool, description, parameters },
      output: {
        schema: { type: 'string' },
        render: (_input: unknown, text: string) => [{ type: 'text', text }],
      },
      async execute(input: unknown, { agent }: { readonly agent?: DshAgent }) {
        if (agent === undefined) return 'There is no conversation to look in.'
        return threads.lookUp(agent.session.id, { name: tool, input })
      },
    })
  }

  context.inject(['commands'], ({ commands }) => {
    commands.register({
      name: 'oriel',
      description: `Oriel: ${agentCommandHelp}`,
      input: { hint: 'expand <id>' },
      handler: async ({ agent, rawInput }) => ({
        kind: 'success',
        text: await threads.command(agent.session.id, rawInput),
      }),
    })
  })

  context.inject(['compaction'], (own) => {
    const { compaction } = own
    const before = compaction.summarize
    if (before === undefined) {
      tell(new Error('this compaction engine has no hook for summaries.'))
      return
    }
    own.effect(() => {
      compaction.summarize = async (input, agent, signal) => {
        try {
          return await summaryOf(threads, input.messages, agent.session)
        } catch (error) {
          tell(error)
          return before.call(compaction, input, agent, signal)
        }
      }
      return () => {
        compaction.summarize = before
      }
    })
  })
}

/** Passes a model's answer on and records the request and what it took. Nothing waits for the log but the end. */
async function* recorded(
  threads: AgentThreads,
  { sessionId = '', messages, system, model }: DshRequest,
  {
    chunks,
    tell,
  }: { readonly chunks: AsyncIterable<DshChunk>; readonly tell: (error: unknown) => void },
): AsyncIterable<DshChunk> {
  const frame = { ...(system === undefined ? {} : { system }), tools: agentTools }
  const asked = threads.request(sessionId, toAiSdk(messages), { format, frame, model }).catch(tell)
  let usage: DshChunk['usage']
  try {
    for await (const chunk of chunks) {
      usage = chunk.usage ?? usage
      yield chunk
    }
  } finally {
    await asked
    if (usage !== undefined) {
      const { inputTokens: uncached, outputTokens: output } = usage
      const { cacheReadTokens: cacheRead = 0, cacheWriteTokens: cacheWrite = 0 } = usage
      await threads.usage(sessionId, { uncached, cacheRead, cacheWrite, output })
    }
  }
}

async function summaryOf(
  threads: AgentThreads,
  messages: readonly DshMessage[],
  session: DshSession,
): Promise<Summary> {
  // What is folded stays in the log, for the model's lookups.
  await threads.sync(session.id, toAiSdk(session.deriveMessages()), format)
  const isCheckpoint = messages[0] !== undefined && checkpointIn(messages[0]) !== undefined
  const previous = isCheckpoint ? checkpointIn(messages[0] as DshMessage) : undefined
  const folded = (isCheckpoint ? messages.slice(1) : messages).map(withoutReasoning)
  const text = await checkpointText(toAiSdk(folded), { format, previous })
  return { summary: [{ type: 'text', text }], provider: 'oriel', model: 'checkpoint' }
}

/** The summary that an earlier compaction left. */
function checkpointIn({ role, content }: DshMessage): string | undefined {
  const text = content.map(({ text: one = '' }) => one).join('\n')
  const found = /<compacted-summary>\n([\s\S]*)\n<\/compacted-summary>\s*$/.exec(text)
  return role === 'user' ? found?.[1] : undefined
}

/** What a model thought is no part of a summary. */
function withoutReasoning({ role, content }: DshMessage): DshMessage {
  return { role, content: content.filter(({ type }) => type !== 'reasoning') }
}
