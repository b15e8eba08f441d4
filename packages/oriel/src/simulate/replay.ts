// Replay: feeds a recorded conversation to a context manager and yields every request it would have
// sent.

import { OrielError } from '../core/log/errors.ts'
import { assertOptions, type OptionNames } from '../core/log/options.ts'
import type { Counter } from '../core/tokens/counter.ts'
import type { Change, Frame } from '../core/view/view.ts'
import { resolveCounter, type TokensOption } from '../counters.ts'
import type { PolicyInput } from '../policy/schema.ts'
import type { FormatName } from '../providers/format.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { openThread, type Thread, type ThreadOptions } from '../thread/thread.ts'
import type { View } from '../thread/view/view.ts'
import type { Recover } from './fidelity.ts'
import { type Opened, type RecordedMessage, textsIn } from './recording.ts'
import { indexOfValue, plain } from './values.ts'

/** One request of a manager. */
export interface Sent {
  readonly messages: readonly unknown[]
  readonly system?: unknown
  /** The rules that changed something since the last call, in order of their first change. */
  readonly causes?: () => readonly string[]
}

/** Context manager of one conversation. */
export interface Manager {
  append(messages: readonly RecordedMessage[]): void | Promise<void>
  /** The request for the next model call; undefined if it cannot build one. */
  view(): Sent | undefined | Promise<Sent | undefined>
  /**
   * True if expanding the ids in a text, as a model would, yields a value. @default nothing can be
   * expanded
   */
  readonly recover?: Recover
  /** The same, with the tokens of the answer. @default nothing is known of answers */
  readonly fetch?: (text: string, value: string) => Promise<number | false>
}

export type CreateManager = (recording: Opened) => Manager | Promise<Manager>

/** Yields every request of a conversation, one before each recorded answer. */
export async function* replay(
  recording: Opened,
  manager: Manager,
): AsyncGenerator<{ readonly answer: number; readonly sent: Sent | undefined }> {
  let next = 0
  for (const answer of recording.answers) {
    await manager.append(recording.recorded.slice(next, answer))
    yield { answer, sent: await manager.view() }
    next = answer
  }
}

/** Baseline without management: every request has all messages so far. */
export const unmanaged: CreateManager = () => {
  const messages: unknown[] = []
  return {
    append(more) {
      for (const { foreign } of more) messages.push(...foreign)
    },
    view: () => ({ messages }),
  }
}

export interface ThreadManagerOptions {
  /** @default none: every request is the whole log */
  readonly policy?: PolicyInput
  /** Request format. @default the recording's */
  readonly format?: FormatName
  /** @default 'estimate' */
  readonly tokens?: TokensOption
  /** Maximum tokens of a request. @default no limit */
  readonly budget?: number
  readonly model?: string
  /**
   * Tokens that the provider would report of a request, for each of the thread's own. @default nothing is reported, and estimates count as
   * they are
   */
  readonly measured?: number
  /** Further options of `openThread`. */
  readonly thread?: Partial<ThreadOptions>
}

const managerOptions: OptionNames<ThreadManagerOptions> = {
  policy: true,
  format: true,
  tokens: true,
  budget: true,
  model: true,
  measured: true,
  thread: true,
}

/** An Oriel thread with a policy. */
export function threadManager(options: ThreadManagerOptions = {}): CreateManager {
  assertOptions(options, managerOptions, 'threadManager')
  return async (recording) => {
    const clock = { now: 0 }
    const thread = await openThread({
      // Placeholder ids derive from the thread id; a fixed one makes results reproducible.
      id: 'simulation',
      store: memoryStore(),
      snapshotEvery: 0,
      now: () => clock.now,
      ...(options.policy === undefined ? {} : { policy: options.policy }),
      ...(options.tokens === undefined ? {} : { tokens: options.tokens }),
      ...options.thread,
    })
    const lookup = new IdLookup(thread, resolveCounter(options.tokens))
    let known: ReadonlySet<string> = new Set()
    return {
      async append(messages) {
        const at = messages.findLast((message) => message.at !== undefined)?.at
        if (at !== undefined) clock.now = at
        const entries = await thread.append(messages.map(({ draft }) => draft))
        for (const { id, blocks } of entries) {
          const ids = [id, ...blocks.flatMap((block) => (block.id === undefined ? [] : [block.id]))]
          lookup.add(ids, textsIn(blocks))
        }
      },
      async view() {
        const view = await tryView(thread, options, recording)
        if (view === undefined) return undefined
        if (options.measured !== undefined) {
          const tokens = Math.round(view.tokens.after * options.measured)
          await thread.usage({ prompt_tokens: tokens }, view.id)
        }
        const causes = (): readonly string[] => {
          const before = known
          known = new Set(view.trace.map(changeKey))
          const fresh = view.trace.filter((change) => !before.has(changeKey(change)))
          fresh.sort((a, b) => a.index - b.index)
          return [...new Set(fresh.map(({ rule }) => rule))]
        }
        const { messages, system } = view
        return { messages, causes, ...(system === undefined ? {} : { system }) }
      },
      recover: async (text, value) => (await lookup.recover(text, value)) !== false,
      fetch: (text, value) => lookup.recover(text, value),
    }
  }
}

async function tryView(
  thread: Thread,
  { format, budget, model }: ThreadManagerOptions,
  recording: Opened,
): Promise<View | undefined> {
  const frame: Frame | undefined = recording.frame
  try {
    return await thread.view({
      format: format ?? recording.format,
      ...(frame === undefined ? {} : { frame }),
      ...(budget === undefined ? {} : { budget }),
      ...(model === undefined ? {} : { model }),
    })
  } catch (error) {
    if (OrielError.is(error, 'cannot-project')) return undefined
    throw error
  }
}

function changeKey({ id, form, rule }: Change): string {
  return `${id} ${form} ${rule}`
}

/** Lookup of a thread's ids, as `expand` returns them. */
class IdLookup {
  readonly #thread: Thread
  readonly #texts = new Map<string, readonly string[]>()
  readonly #asked = new Map<string, Promise<number | false>>()
  readonly #counter: Counter

  constructor(thread: Thread, counter: Counter) {
    this.#thread = thread
    this.#counter = counter
  }

  add(ids: readonly string[], texts: readonly string[]): void {
    for (const id of ids) this.#texts.set(id, texts)
  }

  /**
   * Looks up message ids directly, which `expand` would return unchanged, and expands anything
   * else. Resolves to the tokens of the answer.
   */
  async recover(text: string, value: string): Promise<number | false> {
    for (const [id] of text.matchAll(/\be\w{3,20}\b/g)) {
      const own = this.#texts.get(id)?.find((one) => hasValue(one, value))
      if (own === undefined) continue
      const asked = await this.#ask(id, value)
      return asked === false ? this.#counter.count(own) : asked
    }
    for (const [, id = ''] of text.matchAll(
      /\b(?:expand|messages|id) (e\w{3,20}(?: to e\w{3,20})?)\b/g,
    )) {
      if (this.#texts.has(id)) continue
      const asked = await this.#ask(id, value)
      if (asked !== false) return asked
    }
    return false
  }

  #ask(id: string, value: string): Promise<number | false> {
    const key = `${id} ${value}`
    let asked = this.#asked.get(key)
    if (asked === undefined) {
      asked = this.#thread
        .expand(id, { query: value })
        .then((answer) =>
          answer.ok && hasValue(answer.text, value) ? this.#counter.count(answer.text) : false,
        )
      this.#asked.set(key, asked)
    }
    return asked
  }
}

function hasValue(text: string, value: string): boolean {
  return text.length >= value.length && indexOfValue(plain(text), value) !== -1
}
