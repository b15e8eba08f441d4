// Feeds a recorded conversation to whatever manages its context, and shows every request it would have sent.

import { OrielError } from '../core/log/errors.ts'
import type { Change, Frame } from '../core/view/view.ts'
import type { TokensOption } from '../counters.ts'
import type { PolicyInput } from '../policy/schema.ts'
import type { FormatName } from '../providers/format.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { openThread, type Thread, type ThreadOptions } from '../thread/thread.ts'
import type { View } from '../thread/view/view.ts'
import type { Recover } from './fidelity.ts'
import { type Opened, type RecordedMessage, textsIn } from './recording.ts'
import { indexOfValue, plain } from './values.ts'

/** One request, as a manager would have sent it. */
export interface Sent {
  readonly messages: readonly unknown[]
  readonly system?: unknown
  /** The rules that changed something since this was last asked, by their first change. */
  readonly causes?: () => readonly string[]
}

/** Manages the context of one conversation. */
export interface Manager {
  append(messages: readonly RecordedMessage[]): void | Promise<void>
  /** The request for the next model call; undefined when it says that it cannot make one. */
  view(): Sent | undefined | Promise<Sent | undefined>
  /** Whether what the ids in a text stand for, asked for as a model would, has a value. @default nothing can be asked for */
  readonly recover?: Recover
}

export type CreateManager = (recording: Opened) => Manager | Promise<Manager>

/** Every request of a conversation, one before each recorded answer. */
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

/** No management: every request is everything said so far, as it was recorded. */
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
  /** The format of the requests. @default the recording's */
  readonly format?: FormatName
  /** @default 'estimate' */
  readonly tokens?: TokensOption
  /** Tokens that a request may have. @default no limit */
  readonly budget?: number
  readonly model?: string
  /** Anything else that `openThread` takes. */
  readonly thread?: Partial<ThreadOptions>
}

/** A thread of this library, with a policy. */
export function threadManager(options: ThreadManagerOptions = {}): CreateManager {
  return async (recording) => {
    const clock = { now: 0 }
    const thread = await openThread({
      // Ids in placeholders derive from the thread's id: the same every time, so that results are.
      id: 'simulation',
      store: memoryStore(),
      snapshotEvery: 0,
      now: () => clock.now,
      ...(options.policy === undefined ? {} : { policy: options.policy }),
      ...(options.tokens === undefined ? {} : { tokens: options.tokens }),
      ...options.thread,
    })
    const book = new Book(thread)
    let known: ReadonlySet<string> = new Set()
    return {
      async append(messages) {
        const at = messages.findLast((message) => message.at !== undefined)?.at
        if (at !== undefined) clock.now = at
        const entries = await thread.append(messages.map(({ draft }) => draft))
        for (const { id, blocks } of entries) {
          const ids = [id, ...blocks.flatMap((block) => (block.id === undefined ? [] : [block.id]))]
          book.add(ids, textsIn(blocks))
        }
      },
      async view() {
        const view = await tryView(thread, options, recording)
        if (view === undefined) return undefined
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
      recover: (text, value) => book.recover(text, value),
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

/** What the ids of a thread stand for, as `expand` gives it. */
class Book {
  readonly #thread: Thread
  readonly #texts = new Map<string, readonly string[]>()
  readonly #asked = new Map<string, Promise<boolean>>()

  constructor(thread: Thread) {
    this.#thread = thread
  }

  add(ids: readonly string[], texts: readonly string[]): void {
    for (const id of ids) this.#texts.set(id, texts)
  }

  /** Ids of messages are looked up here: `expand` gives their originals. Anything else that is to be expanded is asked for. */
  async recover(text: string, value: string): Promise<boolean> {
    for (const [id] of text.matchAll(/\be\w{3,20}\b/g)) {
      if (this.#texts.get(id)?.some((own) => hasValue(own, value)) === true) return true
    }
    for (const [, id = ''] of text.matchAll(/\bexpand (e\w{3,20}(?: to e\w{3,20})?)\b/g)) {
      if (!this.#texts.has(id) && (await this.#ask(id, value))) return true
    }
    return false
  }

  #ask(id: string, value: string): Promise<boolean> {
    const key = `${id} ${value}`
    let asked = this.#asked.get(key)
    if (asked === undefined) {
      asked = this.#thread
        .expand(id, { query: value })
        .then((answer) => answer.ok && hasValue(answer.text, value))
      this.#asked.set(key, asked)
    }
    return asked
  }
}

function hasValue(text: string, value: string): boolean {
  return text.length >= value.length && indexOfValue(plain(text), value) !== -1
}
