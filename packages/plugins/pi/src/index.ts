// Oriel in pi's own slots. `context`: the model sees the view of the thread. `session_before_compact`: the summary is made without a model.

import { mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import {
  expandTool,
  memoryStore,
  openThread,
  type PolicyInput,
  sqliteStore,
  type Thread,
} from 'oriel'
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

/** Settings are read from the environment: pi gives extensions none. */
interface Settings {
  /** The SQLite file of all sessions; `oriel serve --store <file>` shows them. `ORIEL_STORE`. @default ~/.oriel/agents.db */
  readonly path: string
  /** The name of a preset. `ORIEL_POLICY`. @default 'recommended' */
  readonly policy: PolicyInput
}

function settingsOf(env: NodeJS.ProcessEnv): Settings {
  return {
    path: env.ORIEL_STORE ?? join(env.HOME ?? homedir(), '.oriel', 'agents.db'),
    policy: (env.ORIEL_POLICY ?? 'recommended') as PolicyInput,
  }
}

/**
 * The extension: `pi -e @oriel/pi`, or `oriel connect pi --how plugin`.
 *
 * - Every model call shows the view; pi's session keeps every message whole.
 * - A failure of Oriel never stops pi: the messages are then sent as they are, and the user is told once.
 */
// biome-ignore lint/style/noDefaultExport: pi loads the default export of an extension.
export default function oriel(pi: PiApi): void {
  const settings = settingsOf(process.env)
  const sessions = new Sessions(settings)
  let shown: Shown | undefined
  let isTold = false
  const expand = async (input: unknown): Promise<string> =>
    shown === undefined ? 'Nothing was shortened yet.' : expandTool(shown.thread).handle(input)

  pi.on('context', async ({ messages }, context) => {
    try {
      const thread = await sessions.thread(context.sessionManager.getSessionId())
      const { branch, view } = await thread.request(messages.map(toAiSdk), {
        format: 'ai-sdk',
        frame: { system: context.getSystemPrompt(), tools: [expansion] },
        ...(context.model === undefined ? {} : { model: context.model.id }),
      })
      shown = { thread: branch, view }
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
    if (message.role !== 'assistant' || usage === undefined || shown === undefined) return undefined
    const { input: uncached, cacheRead, cacheWrite, output } = usage
    // A provider that tells nothing is no reason to fail.
    await shown.thread
      .usage({ uncached, cacheRead, cacheWrite, output }, shown.view.id)
      .catch(() => undefined)
    return undefined
  })

  pi.on('session_before_compact', async ({ preparation }) => {
    const { firstKeptEntryId, tokensBefore } = preparation
    return { compaction: { summary: await summaryOf(preparation), firstKeptEntryId, tokensBefore } }
  })

  pi.on('session_shutdown', () => sessions.close())

  pi.registerCommand('oriel', {
    description: 'What Oriel shows the model: /oriel, /oriel expand <id>, /oriel pin <id>',
    async handler(words, { ui }) {
      const [verb = '', id = ''] = words.trim().split(/\s+/)
      if (shown === undefined) return ui.notify('Nothing was sent to the model yet.', 'info')
      if (verb === 'expand') return ui.notify(await expand({ id }), 'info')
      if (verb === 'pin') {
        await shown.thread.pin(id)
        return ui.notify(`${id} stays in full from now on.`, 'info')
      }
      ui.notify(report(shown), 'info')
    },
  })

  pi.registerTool({
    ...expansion,
    label: 'Expand',
    async execute(_id, input) {
      return { content: [{ type: 'text', text: await expand(input) }], details: {} }
    },
  })
}

/** The tool by which the model reads what was shortened. */
const expansion = expandTool({ expand: async () => ({ ok: false, reason: '' }) }).definition

interface PiUsage {
  readonly input: number
  readonly output: number
  readonly cacheRead: number
  readonly cacheWrite: number
}

type OwnThread = Thread
interface Shown {
  readonly thread: OwnThread
  readonly view: Awaited<ReturnType<OwnThread['view']>>
}

/** The threads of pi's sessions, in one file. Opened when first needed. */
class Sessions {
  readonly #settings: Settings
  readonly #threads = new Map<string, Promise<OwnThread>>()
  #store: ReturnType<typeof sqliteStore> | undefined

  constructor(settings: Settings) {
    this.#settings = settings
  }

  thread(session: string): Promise<OwnThread> {
    const { path, policy } = this.#settings
    if (this.#store === undefined) {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
      this.#store = sqliteStore({ path })
    }
    const known = this.#threads.get(session)
    const thread = known ?? openThread({ id: `pi-${session}`, store: this.#store, policy })
    this.#threads.set(session, thread)
    // One that could not be opened is tried again.
    thread.catch(() => this.#threads.delete(session))
    return thread
  }

  async close(): Promise<void> {
    for (const thread of this.#threads.values()) await (await thread).settled()
    await this.#store?.close()
    this.#store = undefined
    this.#threads.clear()
  }
}

/** Everything is folded, into a checkpoint of about 8,000 tokens at most. */
const folding = {
  auto: false,
  contextWindow: 0,
  maxTokens: 8000,
  keepRecent: 1,
  keepRecentTokens: 4000,
} as const

/** What a checkpoint says of the messages: requests, decisions, files, commands and facts, without asking a model. */
export async function summaryOf({
  messagesToSummarize,
  turnPrefixMessages = [],
  previousSummary,
}: CompactionEvent['preparation']): Promise<string> {
  const policy = { compaction: folding, memory: { lines: 2000, values: 2000 } }
  const thread = await openThread({ store: memoryStore(), policy })
  const messages = [...messagesToSummarize, ...turnPrefixMessages].map(withoutThinking)
  await thread.append(messages.map(toAiSdk), { format: 'ai-sdk' })
  // The end of the list, so that everything before it is folded.
  await thread.append({ role: 'user', content: 'Go on.' })
  await thread.compact()
  const { messages: folded } = await thread.view({ format: 'ai-sdk' })
  const texts = folded.slice(0, -1).map((message) => {
    const { content } = message as { readonly content: unknown }
    if (typeof content === 'string') return content
    const parts = content as readonly { readonly text?: string }[]
    return parts.map(({ text = '' }) => text).join('\n')
  })
  const summary = [...(previousSummary === undefined ? [] : [previousSummary]), ...texts]
  // The thread is gone after this: its ids lead nowhere.
  return summary.join('\n\n').replaceAll(/; messages e\w+ to e\w+/g, '')
}

/** What a model thought is no part of a summary, and while it is signed, nothing before it may change. */
function withoutThinking(message: PiMessage): PiMessage {
  const { content } = message
  if (typeof content === 'string' || content === undefined) return message
  return { ...message, content: content.filter(({ type }) => type !== 'thinking') }
}

function report({ view, thread }: Shown): string {
  const { before, after } = view.tokens
  const forms = new Map<string, number>()
  for (const { form, rule } of view.trace) {
    const kind = `${form} by ${rule}`
    forms.set(kind, (forms.get(kind) ?? 0) + 1)
  }
  return [
    `Thread ${thread.id}: ${after} of ${before} tokens are shown.`,
    ...[...forms].map(([kind, count]) => `  ${count} ${kind}`),
    'oriel serve --store ~/.oriel/agents.db shows every request and what it cost.',
  ].join('\n')
}
