// What the plugins of coding agents share: the threads of an agent's sessions in one file, the answers to what people and models ask of
// them, and a summary without a model.

import { mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
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
import type { SearchResult } from '../thread/search/search.ts'
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
  /** Tokens that the view may have. @default what the policy says */
  readonly budget?: number | undefined
}

/**
 * Folds earlier than `recommended` alone: in a coding agent most of what is folded is read once, and the model has the tools to look up
 * the rest. docs/decisions/0040 has the figures.
 */
const defaultPolicy: PolicyInput = {
  preset: 'recommended',
  compaction: { eagerness: 'savings' },
}

/** The tenant of a gateway without keys: its studio shows these threads. */
const tenant = 'local'

/** The name under which a session's first thread keeps the ids of the others. */
const branchesSetting = 'agent-branches'

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
    { format, frame, model, budget }: AgentCall,
  ): Promise<View<M>> {
    const opened = await this.#open(session)
    const { branch, view } = await opened.thread.request<M>(messages, {
      format,
      ...(frame === undefined ? {} : { frame }),
      ...(model === undefined ? {} : { model }),
      ...(budget === undefined ? {} : { budget }),
    })
    opened.shown = { thread: branch, view: view.id }
    await this.#noteBranch(opened, branch.id)
    return view
  }

  /** Takes in a session's messages where the agent sends them by itself. */
  async sync(session: string, messages: readonly unknown[], format: FormatName): Promise<void> {
    const opened = await this.#open(session)
    const { branch } = await opened.thread.sync(messages, { format })
    await this.#noteBranch(opened, branch.id)
  }

  /** Makes a checkpoint now. The next request shows it. */
  async compact(
    session: string,
  ): Promise<{ readonly tokensBefore: number; readonly tokensAfter: number }> {
    const opened = await this.#open(session)
    const thread = opened.shown?.thread ?? opened.thread
    const before = await thread.view({ dryRun: true })
    await thread.compact()
    const after = await thread.view({ dryRun: true })
    return { tokensBefore: before.tokens.after, tokensAfter: after.tokens.after }
  }

  /** Records what the provider said of the newest request. Numbers that cannot be recorded are dropped: they never stop the agent. */
  async usage(session: string, sample: CallUsage): Promise<void> {
    const shown = (await this.#threads.get(session))?.shown
    await shown?.thread.usage(sample, shown.view).catch(() => undefined)
  }

  /** Answers the model's call to one of `agentTools`, also with what a compaction took out of the agent's messages. */
  async lookUp(session: string, call: LookupCall): Promise<string> {
    const opened = await this.#open(session)
    opened.lookups ??= lookupTool(this.#wholeOf(opened))
    return opened.lookups.handle(call)
  }

  /** Answers a person: what fills the context by category, an original, what was found, a pin. Never throws for what a person may type. */
  async command(session: string, words: string): Promise<string> {
    const opened = await this.#open(session)
    const thread = opened.shown?.thread ?? opened.thread
    if (thread.isEmpty) return 'Nothing was sent to the model yet.'
    const [verb = '', ...rest] = words.trim().split(/\s+/)
    try {
      return await this.#answer(opened, thread, { verb, rest: rest.join(' ') })
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

  async #answer(
    opened: Opened,
    thread: Thread,
    { verb, rest }: { readonly verb: string; readonly rest: string },
  ): Promise<string> {
    if (verb === '' || verb === 'context') {
      const report = contextReport(`Thread ${thread.id}`, await compositionOf(thread))
      const saved = thread.tokensSaved.toLocaleString('en')
      return `${report}\n${saved} tokens are kept out of it. Every request and its cost: oriel serve --store ${this.#path}`
    }
    if (verb === 'expand' || verb === 'search') {
      const call =
        verb === 'expand'
          ? { name: 'expand_message', input: { id: rest } }
          : { name: 'search_conversation', input: { query: rest } }
      // People may ask the same again and again.
      return lookupTool(this.#wholeOf(opened)).handle(call)
    }
    if (verb === 'pin' || verb === 'unpin') {
      await thread.pin(rest, { pinned: verb === 'pin' })
      return verb === 'pin'
        ? `${rest} stays in full from now on.`
        : `${rest} may be shortened again.`
    }
    return `'${verb}' is unknown. Try: ${agentCommandHelp}.`
  }

  /**
   * The branches of a session as one: after a compaction the agent's messages are another history, which continues in a branch of its own,
   * and the originals are in the one before. Ids are unique in a branch only: those of earlier ones end with its number, as in e7k2@1.
   */
  #wholeOf(opened: Opened): Parameters<typeof lookupTool>[0] {
    const ids = (): readonly string[] => [...opened.branches]
    return {
      get step(): number {
        return (opened.shown?.thread ?? opened.thread).step
      },
      expand: async (id, options) => {
        const [, own, number] = /^(.*)@(\d+)$/.exec(String(id)) ?? []
        const branch = number === undefined ? ids().at(-1) : ids()[Number(number)]
        const thread = await this.#branch(opened, branch ?? opened.thread.id)
        return thread.expand(own ?? id, options)
      },
      search: async (query, options) => {
        const found = await Promise.all(
          ids().map(async (branch, number, { length }) => {
            const results = await (await this.#branch(opened, branch)).search(query, options)
            if (number === length - 1) return results
            return results.map((one) => ({ ...one, id: `${one.id}@${number}` }))
          }),
        )
        return interleaved(found.reverse())
      },
    }
  }

  async #branch(opened: Opened, id: string): Promise<Thread> {
    if (opened.shown?.thread.id === id) return opened.shown.thread
    return openThread({ tenant, id, store: this.#opened(), policy: this.#policy })
  }

  /** Remembers in the session's first thread, which is opened after a restart, where its history continued. */
  async #noteBranch(opened: Opened, id: string): Promise<void> {
    if (opened.branches.has(id)) return
    opened.branches.add(id)
    const [trunk = id] = opened.branches
    const thread = await openThread({
      tenant,
      id: trunk,
      store: this.#opened(),
      policy: this.#policy,
    })
    await thread.set(branchesSetting, [...opened.branches].slice(1))
  }

  #opened(): ReturnType<typeof sqliteStore> {
    if (this.#store === undefined) {
      mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 })
      this.#store = sqliteStore({ path: this.#path })
    }
    return this.#store
  }

  #open(session: string): Promise<Opened> {
    const known = this.#threads.get(session)
    if (known !== undefined) return known
    const opened = openThread({
      tenant,
      id: `${this.#agent}-${session}`,
      store: this.#opened(),
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
  /** Ids of the threads in which its history is: the first one, then those in which it continued. */
  readonly branches: Set<string>
  /** What the model looks things up with. One for the session: it remembers what was asked, to end a loop. */
  lookups: LookupTool | undefined
  shown: Shown | undefined

  constructor(thread: Thread) {
    this.thread = thread
    const known = thread.setting(branchesSetting)
    this.branches = new Set([thread.id, ...(Array.isArray(known) ? known.map(String) : [])])
  }
}

/** The best of each search first: their scores cannot be compared. */
function interleaved(found: readonly (readonly SearchResult[])[]): readonly SearchResult[] {
  const longest = Math.max(0, ...found.map(({ length }) => length))
  const ranks = Array.from({ length: longest }, (_, rank) =>
    found.flatMap((results) => results.slice(rank, rank + 1)),
  )
  const seen = new Set<string>()
  return ranks.flat().filter(({ text }) => !seen.has(text) && seen.add(text) !== undefined)
}

/** The newest request of a session. */
interface Shown {
  /** The branch that it continues. */
  readonly thread: Thread
  readonly view: string
}

/** Facts of a checkpoint take at most so many tokens as lines, and as many as values, */
const mostFacts = 2000
/** and at most one for so many characters that are folded: a summary of little must be little. */
const charsPerFact = 30
const fewestFacts = 200
/** Characters of the summary before it that a summary carries: a fifth of what is folded, within these bounds. */
const carriedShare = 0.2
const fewestCarried = 4000
const mostCarried = 16_000

/** Everything is folded, into a checkpoint of about 8,000 tokens at most. */
function foldingOf(chars: number): PolicyInput {
  const facts = Math.min(mostFacts, Math.max(fewestFacts, Math.round(chars / charsPerFact)))
  return {
    compaction: {
      auto: false,
      contextWindow: 0,
      maxTokens: 8000,
      keepRecent: 1,
      keepRecentTokens: 4000,
    },
    memory: { lines: facts, values: facts },
  }
}

/**
 * What a checkpoint says of messages: requests, standing instructions, files, commands and facts. Asks no model; the same messages give
 * the same text. For slots in which an agent wants a summary of its own.
 */
export async function checkpointText(
  messages: readonly unknown[],
  { format, previous }: { readonly format: FormatName; readonly previous?: string | undefined },
): Promise<string> {
  const chars = JSON.stringify(messages).length
  const thread = await openThread({ store: memoryStore(), policy: foldingOf(chars) })
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
  return [...(previous === undefined ? [] : [carried(previous, chars)]), ...texts]
    .join('\n\n')
    .replaceAll(/; messages e\w+ to e\w+/g, '')
}

/** Sections of which the oldest lines give way where summaries follow one another, the first one first. */
const givingWay = ['## Critical Context', '## Progress'] as const
const leftOut = '[Older lines left out]'

/** A summary as the next one carries it: words and instructions whole, and of facts and steps the newest for which there is room. */
function carried(summary: string, chars: number): string {
  let size = summary.length
  const share = Math.round(carriedShare * (size + chars))
  const most = Math.min(mostCarried, Math.max(fewestCarried, share))
  if (size <= most) return summary
  let section = ''
  const lines = summary
    .split('\n')
    .filter((text) => text !== leftOut)
    .map((text) => {
      if (/^(## |\[)/.test(text)) section = text
      return { text, section: text === section ? '' : section }
    })
  const gone = new Set<object>()
  for (const name of givingWay) {
    for (const line of lines) {
      if (size <= most) break
      if (line.section !== name) continue
      gone.add(line)
      size -= line.text.length + 1
    }
  }
  const kept = lines.filter((line) => !gone.has(line)).map(({ text }) => text)
  return [leftOut, ...kept].join('\n')
}

/**
 * Does the work of a checkpoint over an invented conversation: in a process just started the first one takes three times as long as
 * those after it. For processes beside an agent at their start, and for those of an agent while its model answers.
 */
export async function warmUp(): Promise<void> {
  const text = (step: number): string =>
    Array.from(
      { length: 60 },
      (_, line) => `${step}.${line} src/file-${line}.ts: ${line * 7919}`,
    ).join('\n')
  const messages = Array.from({ length: warmUpSteps }, (_, step): readonly object[] => {
    const call = { toolCallId: `c${step}`, toolName: 'bash' }
    const output = { type: 'text', value: text(step) }
    return [
      { role: 'user', content: `Please look at part ${step}. Never change main.` },
      {
        role: 'assistant',
        content: [{ type: 'tool-call', ...call, input: { command: `cat ${step}` } }],
      },
      { role: 'tool', content: [{ type: 'tool-result', ...call, output }] },
    ]
  }).flat()
  for (let round = 0; round < warmUpRounds; round++) {
    await checkpointText(messages, { format: 'ai-sdk' })
    // The agent's own work comes between.
    await setImmediate()
  }
}

/** Enough for the engine to compile and optimize what a checkpoint runs. */
const warmUpRounds = 5
const warmUpSteps = 30
