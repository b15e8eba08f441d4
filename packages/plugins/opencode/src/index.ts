// Oriel in opencode's own slots. Messages: the model sees the view of the thread. Compaction: the summary is made without a model.

import { z } from 'zod'
import { answerCompaction, compactionModel, compactionProvider } from './compaction.ts'
import { HostLink } from './link.ts'
import type { OpencodeMessage } from './messages.ts'
import type { HostTool } from './requests.ts'

/** What is used of what opencode hands to plugins. */
export interface OpencodeInput {
  readonly client: {
    readonly session: {
      prompt(request: {
        path: { id: string }
        body: { noReply: boolean; parts: { type: 'text'; text: string; ignored: boolean }[] }
      }): Promise<unknown>
    }
    readonly app: {
      log(request: { body: { service: string; level: 'warn'; message: string } }): Promise<unknown>
    }
    readonly tui: {
      showToast(request: { body: { message: string; variant: string } }): Promise<unknown>
    }
  }
}

/** What is used of opencode's configuration. */
interface OpencodeConfig {
  provider?: Record<string, unknown>
  agent?: Record<string, { model?: string } | undefined>
  command?: Record<string, unknown>
}

interface OpencodeTool {
  readonly description: string
  readonly args: Record<string, z.ZodType>
  execute(input: unknown, context: { readonly sessionID: string }): Promise<string>
}

interface AssistantInfo {
  readonly role: string
  readonly sessionID: string
  readonly mode?: string
  readonly time?: { readonly completed?: number }
  readonly tokens?: {
    readonly input: number
    readonly output: number
    readonly reasoning: number
    readonly cache: { readonly read: number; readonly write: number }
  }
}

export interface OpencodeHooks {
  dispose(): Promise<void>
  config(config: OpencodeConfig): Promise<void>
  event(input: { event: { type: string; properties: unknown } }): Promise<void>
  tool: Record<string, OpencodeTool>
  'experimental.chat.messages.transform'(
    input: object,
    output: { messages: OpencodeMessage[] },
  ): Promise<void>
  'experimental.chat.system.transform'(
    input: { sessionID?: string },
    output: { system: string[] },
  ): Promise<void>
  'experimental.session.compacting'(
    input: { sessionID: string },
    output: { context: string[]; prompt?: string },
  ): Promise<void>
  'command.execute.before'(
    input: { command: string; sessionID: string; arguments: string },
    output: object,
  ): Promise<void>
}

/**
 * The plugin: `oriel connect opencode --how plugin`, or its path in `plugin` of opencode.json.
 *
 * - Every model call shows the view; opencode's session keeps every message whole.
 * - A failure of Oriel never stops opencode: the messages are then sent as they are, and the user is told once.
 */
export async function Oriel({ client }: OpencodeInput): Promise<OpencodeHooks> {
  const host = new HostLink(process.env)
  /** Sessions whose next list of messages is the one to be summarized, and those lists. */
  const compacting = new Set<string>()
  const toSummarize = new Map<string, readonly OpencodeMessage[]>()
  let isOwnCompaction = false
  let isTold = false
  const tell = (error: unknown): void => {
    const reason = error instanceof Error ? error.message : String(error)
    if (isTold) return
    isTold = true
    const message = `Oriel: ${reason} The messages are sent as they are.`
    client.tui.showToast({ body: { message, variant: 'warning' } }).catch(() => undefined)
    const body = { service: 'oriel', level: 'warn' as const, message }
    client.app.log({ body }).catch(() => undefined)
  }
  const summarize = (session: string): Promise<string> =>
    host.ask('checkpoint', { session, messages: toSummarize.get(session) ?? [] })
  const { tools, help } = await host.ask('hello', {}).catch((error: unknown) => {
    tell(error)
    return { tools: [], help: '' }
  })

  return {
    dispose: () => host.close(),

    async config(config) {
      config.command = {
        oriel: { description: `Oriel: ${help}`, template: 'oriel $ARGUMENTS' },
        ...config.command,
      }
      // A model that the user chose for compaction stays; nor is one replaced that cannot be reached.
      if (config.agent?.compaction?.model !== undefined || tools.length === 0) return
      isOwnCompaction = true
      const fetch = (_url: unknown, init?: { body?: unknown }): Promise<Response> =>
        answerCompaction(String(init?.body), summarize)
      config.provider = { ...config.provider, ...compactionProvider(fetch) }
      const own = { ...config.agent?.compaction, model: compactionModel }
      config.agent = { ...config.agent, compaction: own }
    },

    async event({ event }) {
      if (event.type !== 'message.updated') return
      const { info } = event.properties as { info: AssistantInfo }
      if (info.role !== 'assistant' || info.mode === 'compaction') return
      if (info.time?.completed === undefined || info.tokens === undefined) return
      const { input: uncached, output, reasoning, cache } = info.tokens
      const usage = {
        uncached,
        cacheRead: cache.read,
        cacheWrite: cache.write,
        output: output + reasoning,
      }
      await host.ask('usage', { session: info.sessionID, usage }).catch(tell)
    },

    tool: Object.fromEntries(tools.map((tool) => [tool.name, toolOf(tool, host)])),

    async 'experimental.chat.messages.transform'(_input, { messages }) {
      const session = messages[0]?.info.sessionID
      if (session === undefined) return
      if (compacting.delete(session)) {
        toSummarize.set(session, [...messages])
        return
      }
      try {
        const shown = await host.ask('view', { session, messages })
        // opencode continues with the list that it handed over.
        messages.splice(0, messages.length, ...identical(shown, messages))
      } catch (error) {
        tell(error)
      }
    },

    async 'experimental.chat.system.transform'({ sessionID }, { system }) {
      if (sessionID === undefined) return
      await host.ask('system', { session: sessionID, system }).catch(tell)
    },

    async 'experimental.session.compacting'({ sessionID }, output) {
      if (!isOwnCompaction) return
      compacting.add(sessionID)
      output.prompt = sessionID
    },

    async 'command.execute.before'({ command, sessionID, arguments: words }) {
      if (command !== 'oriel') return
      const text = await host.ask('command', { session: sessionID, words })
      const part = { type: 'text' as const, text, ignored: true }
      await client.session.prompt({
        path: { id: sessionID },
        body: { noReply: true, parts: [part] },
      })
      // The only way to end a command without a model call.
      throw new Error('Oriel has answered.')
    },
  }
}

/** What came back unchanged as the very objects that went out. */
function identical(
  shown: readonly OpencodeMessage[],
  messages: readonly OpencodeMessage[],
): readonly OpencodeMessage[] {
  const byId = new Map(messages.map((message) => [message.info.id, message]))
  return shown.map((message) => {
    const own = byId.get(message.info.id)
    return own !== undefined && JSON.stringify(own) === JSON.stringify(message) ? own : message
  })
}

function toolOf({ name, description, parameters }: HostTool, host: HostLink): OpencodeTool {
  const { properties = {}, required = [] } = parameters
  const args = Object.entries(properties).map(([key, schema]) => {
    const type = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0])
    return [key, required.includes(key) ? type : type.optional()] as const
  })
  return {
    description,
    args: Object.fromEntries(args),
    execute: (input, { sessionID }) => host.ask('lookUp', { session: sessionID, name, input }),
  }
}
