// What the plugins of coding agents share: the threads of an agent's sessions in one file, the answers to what people and models ask of
// them, and a summary without a model.

import { mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { OrielError } from '../core/log/errors.ts'
import type { Json } from '../core/log/json.ts'
import { assertOptions, type OptionNames } from '../core/log/options.ts'
import { expandToolNames } from '../core/state/expansion.ts'
import type { Frame } from '../core/view/view.ts'
import { compositionOf } from '../inspect/composition.ts'
import { contextReport } from '../inspect/context-report.ts'
import type { PolicyInput } from '../policy/schema.ts'
import type { FormatName } from '../providers/format.ts'
import type { ToolDefinition } from '../providers/provider.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { sqliteStore } from '../stores/sqlite/index.ts'
import {
  injectedTools,
  type LookupCall,
  type LookupTool,
  lookupTool,
} from '../thread/expand/lookups.ts'
import { openThread, type Thread } from '../thread/thread.ts'
import type { View } from '../thread/view/view.ts'
import type { CallUsage } from './conversation.ts'

export interface AgentThreadsOptions {
  /** The agent's name. The thread of a session is `<agent>-<session>`. */
  readonly agent: string
  /** The environment of the agent: `ORIEL_STORE` is the SQLite file, `ORIEL_POLICY` the name of a preset. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** What the threads show. `{}` where the agent itself decides what it sends. @default `ORIEL_POLICY`, else `recommended`, folding early */
  readonly policy?: PolicyInput
}
const optionNames: OptionNames<AgentThreadsOptions> = { agent: true, env: true, policy: true }

/** One model call of an agent. */
export interface AgentCall {
  /** The format of the messages. */
  readonly format: FormatName
  /** What stands around them. @default nothing */
  readonly frame?: Frame | undefined
  /** @default unknown */
  readonly model?: string | undefined
}

/**
 * Folds earlier than `recommended` alone: in a coding agent most of what is folded is read once, and the model has the tools to look up
 * the rest. docs/decisions/0040 has the figures.
 */
const defaultPolicy: PolicyInput = {
  preset: 'recommended',
  compaction: { eagerness: 'savings' },
}

/** The tools by which the model reads what was shortened or left out: answered by `AgentThreads.lookUp`. */
export const agentTools: readonly ToolDefinition[] = injectedTools(expandToolNames[0])

/** What people can type after the name of the command. */
export const agentCommandHelp =
  'what fills the context; also: expand <id>, search <words>, pin <id>, unpin <id>'

/** The file in which all plugins of a user keep their threads. */
export function agentStorePath(env: AgentThreadsOptions['env']): string {
  return (
    env.ORIEL_STORE ?? join(env.ORIEL_HOME ?? join(env.HOME ?? homedir(), '.oriel'), 'agents.db')
  )
}

/**
 * The threads of an agent's sessions, in one SQLite file for all agents of a user. Contracts:
 * - Nothing is opened before the first call.
 * - A thread that could not be opened is tried again at the next call.
 */
export class AgentThreads {
  readonly #agent: string
  readonly #path: string
  readonly #policy: PolicyInput
  readonly #threads = new Map<string, Promise<Opened>>()
  #store: ReturnType<typeof sqliteStore> | undefined

  constructor(options: AgentThreadsOptions) {
    assertOptions(options, optionNames, 'AgentThreads')
    const { agent, env, policy } = options
    this.#agent = agent
    this.#path = agentStorePath(env)
    this.#policy = policy ?? (env.ORIEL_POLICY as PolicyInput | undefined) ?? defaultPolicy
  }

  /** What the model should see of a session's messages. What is new of them is appended. */
  async request<M = Json>(
    session: string,
    messages: readonly unknown[],
    { format, frame, model }: AgentCall,
  ): Promise<View<M>> {
    const opened = await this.#open(session)
    const { branch, view } = await opened.thread.request<M>(messages, {
      format,
      ...(frame === undefined ? {} : { frame }),
      ...(model === undefined ? {} : { model }),
    })
    opened.shown = { thread: branch, view: view.id }
    return view
  }

  /** Takes in a session's messages where the agent sends them by itself. */
  async sync(session: string, messages: readonly unknown[], format: FormatName): Promise<void> {
    await (await this.#open(session)).thread.sync(messages, { format })
  }

  /** Records what the provider said of the newest request. Numbers that cannot be recorded are dropped: they never stop the agent. */
  async usage(session: string, sample: CallUsage): Promise<void> {
    const shown = (await this.#threads.get(session))?.shown
    await shown?.thread.usage(sample, shown.view).catch(() => undefined)
  }

  /** Answers the model's call to one of `agentTools`. */
  async lookUp(session: string, call: LookupCall): Promise<string> {
    return (await this.#open(session)).lookups.handle(call)
  }

  /** Answers a person: what fills the context by category, an original, what was found, a pin. Never throws for what a person may type. */
  async command(session: string, words: string): Promise<string> {
    const opened = await this.#open(session)
    const thread = opened.shown?.thread ?? opened.thread
    if (thread.isEmpty) return 'Nothing was sent to the model yet.'
    const [verb = '', ...rest] = words.trim().split(/\s+/)
    try {
      return await this.#answer(thread, verb, rest.join(' '))
    } catch (error) {
      if (!OrielError.is(error)) throw error
      return error.message
    }
  }

  /** What a plugin keeps with a session, in its log: known again after a restart. */
  async remembered(session: string, name: string): Promise<Json | undefined> {
    return (await this.#open(session)).thread.setting(name)
  }

  /** Keeps something with a session. What is the same already is not written again. */
  async remember(session: string, name: string, value: Json): Promise<void> {
    const { thread } = await this.#open(session)
    if (JSON.stringify(thread.setting(name)) !== JSON.stringify(value)) {
      await thread.set(name, value)
    }
  }

  async close(): Promise<void> {
    const threads = await Promise.allSettled(this.#threads.values())
    for (const opened of threads) {
      if (opened.status === 'fulfilled') await opened.value.thread.settled()
    }
    this.#threads.clear()
    await this.#store?.close()
    this.#store = undefined
  }

  async #answer(thread: Thread, verb: string, rest: string): Promise<string> {
    if (verb === '' || verb === 'context') {
      const report = contextReport(`Thread ${thread.id}`, await compositionOf(thread))
      const saved = thread.tokensSaved.toLocaleString('en')
      return `${report}\n${saved} tokens are kept out of it. Every request and its cost: oriel serve --store ${this.#path}`
    }
    if (verb === 'expand') {
      const found = await thread.expand(rest)
      return found.ok ? found.text : found.reason
    }
    if (verb === 'search')
      return lookupTool(thread).handle({ name: 'search_conversation', input: { query: rest } })
    if (verb === 'pin' || verb === 'unpin') {
      await thread.pin(rest, { pinned: verb === 'pin' })
      return verb === 'pin'
        ? `${rest} stays in full from now on.`
        : `${rest} may be shortened again.`
    }
    return `'${verb}' is unknown. Try: ${agentCommandHelp}.`
  }

  #open(session: string): Promise<Opened> {
    const known = this.#threads.get(session)
    if (known !== undefined) return known
    if (this.#store === undefined) {
      mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 })
      this.#store = sqliteStore({ path: this.#path })
    }
    const opened = openThread({
      id: `${this.#agent}-${session}`,
      store: this.#store,
      policy: this.#policy,
    }).then((thread) => new Opened(thread))
    this.#threads.set(session, opened)
    opened.catch(() => this.#threads.delete(session))
    return opened
  }
}

/** The thread of a session. */
class Opened {
  readonly thread: Thread
  /** Both tools, on the branch that the newest request continues. One for the session: it remembers what was asked, to end a loop. */
  readonly lookups: LookupTool
  shown: Shown | undefined

  constructor(thread: Thread) {
    this.thread = thread
    const on = (): Thread => this.shown?.thread ?? thread
    this.lookups = lookupTool({
      get step(): number {
        return on().step
      },
      expand: (id, options) => on().expand(id, options),
      search: (query, options) => on().search(query, options),
    })
  }
}

/** The newest request of a session. */
interface Shown {
  /** The branch that it continues. */
  readonly thread: Thread
  readonly view: string
}

/** Everything is folded, into a checkpoint of about 8,000 tokens at most. */
const folding = {
  compaction: {
    auto: false,
    contextWindow: 0,
    maxTokens: 8000,
    keepRecent: 1,
    keepRecentTokens: 4000,
  },
  memory: { lines: 2000, values: 2000 },
} as const

/**
 * What a checkpoint says of messages: requests, standing instructions, files, commands and facts. Asks no model; the same messages give
 * the same text. For slots in which an agent wants a summary of its own.
 */
export async function checkpointText(
  messages: readonly unknown[],
  { format, previous }: { readonly format: FormatName; readonly previous?: string | undefined },
): Promise<string> {
  const thread = await openThread({ store: memoryStore(), policy: folding })
  await thread.append(messages, { format })
  // The end of the list, so that everything before it is folded.
  await thread.append({ role: 'user', content: 'Go on.' })
  await thread.compact()
  const { messages: folded } = await thread.view<{ readonly content: unknown }>({
    format: 'ai-sdk',
  })
  const texts = folded.slice(0, -1).map(({ content }) => {
    if (typeof content === 'string') return content
    return (content as readonly { readonly text?: string }[])
      .map(({ text = '' }) => text)
      .join('\n')
  })
  // The thread is gone after this: its ids lead nowhere.
  return [...(previous === undefined ? [] : [previous]), ...texts]
    .join('\n\n')
    .replaceAll(/; messages e\w+ to e\w+/g, '')
}
