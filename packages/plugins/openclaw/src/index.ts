// Oriel as the context engine of OpenClaw. `assemble`: the model sees the view of the thread. `compact`: a checkpoint without a model.

import { fromAiSdk, type PiMessage, toAiSdk } from '@oriel/pi/messages'
import { AgentThreads, agentCommandHelp, agentTools } from 'oriel/agents'

/** OpenClaw's messages are those of pi. */
type Message = PiMessage

interface Session {
  readonly sessionId: string
}

interface AssembleInput extends Session {
  /** What was said before the turn that is running: OpenClaw adds that one by itself. */
  readonly messages: readonly Message[]
  readonly tokenBudget?: number
  readonly model?: string
}

interface CommitInput extends Session {
  /** The same for every attempt to commit one turn. */
  readonly advancementKey: string
  readonly messages: readonly Message[]
}

interface Assembled {
  readonly messages: Message[]
  readonly estimatedTokens: number
}

interface Compacted {
  readonly ok: boolean
  readonly compacted: boolean
  readonly reason?: string
  readonly result?: { readonly tokensBefore: number; readonly tokensAfter: number }
}

/** What is used of the interface for context engines. */
export interface ContextEngine {
  readonly info: object
  ingest(): Promise<{ ingested: boolean }>
  assemble(input: AssembleInput): Promise<Assembled>
  compact(input: Session): Promise<Compacted>
  commitTurn(input: CommitInput): Promise<{ status: 'committed' | 'duplicate' }>
  dispose(): Promise<void>
}

interface Tool {
  readonly name: string
  readonly description: string
  readonly parameters: object
  execute(
    id: string,
    input: unknown,
  ): Promise<{ content: { type: 'text'; text: string }[]; details: unknown }>
}

/** What is used of OpenClaw's interface for plugins. */
export interface OpenclawApi {
  readonly logger: { warn(text: string): void }
  registerContextEngine(id: string, make: () => ContextEngine): void
  registerTool(
    make: (context: { readonly sessionId?: string }) => Tool | null,
    options: { readonly name: string },
  ): void
  registerCommand(command: {
    readonly name: string
    readonly description: string
    readonly acceptsArgs: boolean
    handler(context: {
      readonly sessionId?: string
      readonly args?: string
    }): Promise<{ text: string }>
  }): void
}

const info = {
  id: 'oriel',
  name: 'Oriel',
  ownsCompaction: true,
  acceptedHostParams: [],
  // Without both OpenClaw leaves the engine aside.
  transcriptSemantics: {
    currentTurnFence: 'before-current-turn-entry-v1',
    turnAdvancementIdempotency: 'atomic-idempotent-v1',
  },
}

/** Names under which a session's log keeps what a restart must not forget. */
const kept = { turn: 'openclaw-turn' } as const

const format = 'ai-sdk'

/**
 * The plugin: `oriel connect openclaw --how plugin`.
 *
 * - Every model call shows the view of what was said before the running turn; OpenClaw's transcript keeps every message whole.
 * - A failure of Oriel never stops OpenClaw: the messages are then sent as they are, and its log says so once.
 */
// biome-ignore lint/style/noDefaultExport: OpenClaw loads the default export of a plugin.
export default function oriel(api: OpenclawApi): void {
  let isTold = false
  const tell = (error: unknown): void => {
    const reason = error instanceof Error ? error.message : String(error)
    if (!isTold) api.logger.warn(`Oriel: ${reason} The messages are sent as they are.`)
    isTold = true
  }

  api.registerContextEngine('oriel', () => engine(tell))

  for (const { name, description, parameters } of agentTools) {
    const tool = ({ sessionId }: { readonly sessionId?: string }): Tool | null =>
      sessionId === undefined
        ? null
        : {
            ...{ name, description, parameters },
            async execute(_id, input) {
              const text = await asked((threads) => threads.lookUp(sessionId, { name, input }))
              return { content: [{ type: 'text', text }], details: {} }
            },
          }
    api.registerTool(tool, { name })
  }

  api.registerCommand({
    name: 'oriel',
    description: `Oriel: ${agentCommandHelp}`,
    acceptsArgs: true,
    async handler({ sessionId, args = '' }) {
      if (sessionId === undefined) return { text: 'There is no session to look at.' }
      return { text: await asked((threads) => threads.command(sessionId, args)) }
    },
  })
}

function newThreads(): AgentThreads {
  return new AgentThreads({ agent: 'openclaw', env: process.env })
}

/** Answers one question with threads of its own: who asks it has nothing that ends. */
async function asked(question: (threads: AgentThreads) => Promise<string>): Promise<string> {
  const threads = newThreads()
  try {
    return await question(threads)
  } finally {
    await threads.close()
  }
}

function engine(tell: (error: unknown) => void): ContextEngine {
  const threads = newThreads()
  /** What was said before the running turn, by session. */
  const earlier = new Map<string, readonly Message[]>()
  return {
    info,
    // A turn is taken in when it is accepted.
    ingest: async () => ({ ingested: false }),

    async assemble({ sessionId, messages, tokenBudget, model }) {
      earlier.set(sessionId, messages)
      try {
        const view = await threads.request(sessionId, messages.map(toAiSdk), {
          ...{ format, model, budget: tokenBudget },
          frame: { tools: agentTools },
        })
        return { messages: fromAiSdk(view.messages, messages), estimatedTokens: view.tokens.after }
      } catch (error) {
        tell(error)
        return { messages: [...messages], estimatedTokens: 0 }
      }
    },

    async compact({ sessionId }) {
      try {
        const { tokensBefore, tokensAfter } = await threads.compact(sessionId)
        const result = { tokensBefore, tokensAfter }
        if (tokensAfter < tokensBefore) return { ok: true, compacted: true, result }
        return { ok: true, compacted: false, reason: 'Nothing can give way.', result }
      } catch (error) {
        tell(error)
        const reason = error instanceof Error ? error.message : String(error)
        return { ok: false, compacted: false, reason }
      }
    },

    async commitTurn({ sessionId, advancementKey, messages }) {
      try {
        if ((await threads.remembered(sessionId, kept.turn)) === advancementKey) {
          return { status: 'duplicate' }
        }
        // What came before is not known after a restart: the next request brings this turn along.
        const before = earlier.get(sessionId)
        if (before !== undefined) {
          await threads.sync(sessionId, [...before, ...messages].map(toAiSdk), format)
          await threads.remember(sessionId, kept.turn, advancementKey)
        }
      } catch (error) {
        tell(error)
      }
      return { status: 'committed' }
    },

    dispose: () => threads.close(),
  }
}
