// The index of conversations: finds the thread of a history without a name by the answers in it that this gateway gave.

import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { HistoryKey, JsonObject, Store } from 'oriel'
import type { Background } from '../background.ts'
import { FactLog } from './fact-log.ts'

/** Where an answer was given. */
export interface IndexedThread {
  readonly root: string
  /** What stood around the messages. */
  readonly frame: FrameFingerprint
}

/** Enough of a frame to see whether another request continues the conversation or asks something about it. */
export interface FrameFingerprint {
  readonly tools: string
  readonly system: string
}

/** Answers kept in memory; older ones are found by the first answer of their conversation, which is also in the store. */
const maxAnswers = 100_000
/** Conversations that the store is known to have; of one that was evicted another answer may be added. */
const maxConversations = 50_000
/** Tenants whose answers were asked for lately. */
const maxTenants = 10_000
/** Frames that many conversations share. */
const maxFrames = 1000
/** How many answers of a history are looked for among those in the store: its first and its last ones. */
const storedFromStart = 16

export class ThreadIndex {
  readonly #store: Store
  readonly #logs = new LRUCache<string, FactLog>({ max: maxTenants })
  readonly #places = new LRUCache<string, readonly IndexedThread[]>({ max: maxAnswers })
  /** Conversations that the store has. */
  readonly #stored = new LRUCache<string, true>({ max: maxConversations })
  /** Interned: many conversations share a frame. */
  readonly #frames = new LRUCache<string, FrameFingerprint>({ max: maxFrames })
  readonly #background: Background

  constructor(store: Store, background: Background) {
    this.#store = store
    this.#background = background
  }

  /** Conversations that gave the newest answer of a history that was given here, newest first. */
  async find(scope: Scope, keys: readonly HistoryKey[]): Promise<readonly IndexedThread[]> {
    const answers = keys.filter(({ role }) => role === 'assistant')
    const found = this.#findIn(scope, answers)
    if (found.length > 0 || answers.length === 0) return found
    const log = this.#logOf(scope.tenant)
    // Other processes add to it, so a miss is worth another look.
    await log.refresh()
    return this.#findIn(scope, [...answers.slice(-4), ...answers.slice(0, storedFromStart)])
  }

  /**
   * Remembers an answer at once, and in the store if it is the first of its conversation: then it resolves when it is there. Never
   * fails: without it, the conversation continues in another thread.
   */
  async add(
    scope: Scope,
    key: HistoryKey,
    place: IndexedThread & { readonly at: number },
  ): Promise<void> {
    const { root, frame, at } = place
    const id = idOf(scope, key.key)
    this.#remember(id, { root, frame })
    const log = this.#logOf(scope.tenant)
    const conversation = conversationOf(scope, root)
    if (this.#stored.get(conversation) === true) return
    this.#stored.set(conversation, true)
    const value: JsonObject = {
      id,
      root,
      tools: frame.tools,
      system: frame.system,
      session: scope.session,
    }
    await this.#background.run('thread-index', async () => {
      try {
        await log.add(value, at)
      } catch (error) {
        // The next answer of the conversation is added instead.
        this.#stored.delete(conversation)
        throw error
      }
    })
  }

  /** Forgets where the answers of a conversation were given: it was erased. */
  forget(tenant: string, root: string): void {
    for (const [id, places] of [...this.#places.entries()]) {
      const others = places.filter((place) => place.root !== root)
      if (others.length === 0) this.#places.delete(id)
      else if (others.length < places.length) this.#places.set(id, others)
    }
    for (const conversation of [...this.#stored.keys()]) {
      const isOfRoot = conversation.startsWith(`${tenant}\0`) && conversation.endsWith(`\0${root}`)
      if (isOfRoot) this.#stored.delete(conversation)
    }
  }

  #findIn(scope: Scope, answers: readonly HistoryKey[]): readonly IndexedThread[] {
    for (const { key } of answers.toReversed()) {
      const places = this.#places.get(idOf(scope, key))
      if (places !== undefined) return places.toReversed()
    }
    return []
  }

  #remember(id: string, { root, frame }: IndexedThread): void {
    const others = (this.#places.get(id) ?? []).filter((one) => one.root !== root)
    this.#places.set(id, [...others.slice(-7), { root, frame: this.#shared(frame) }])
  }

  /** The same frame as one object, however many conversations have it. */
  #shared(frame: FrameFingerprint): FrameFingerprint {
    const key = `${frame.tools}\0${frame.system}`
    const known = this.#frames.get(key)
    if (known !== undefined) return known
    this.#frames.set(key, frame)
    return frame
  }

  #logOf(tenant: string): FactLog {
    const existing = this.#logs.get(tenant)
    if (existing !== undefined) return existing
    const key = { tenant: `index:${tenant}`, thread: 'conversations' }
    const log = new FactLog(this.#store, key, ({ id, root, tools, system, session }) => {
      this.#remember(String(id), {
        root: String(root),
        frame: { tools: String(tools), system: String(system) },
      })
      this.#stored.set(conversationOf({ tenant, session: String(session) }, String(root)), true)
    })
    this.#logs.set(tenant, log)
    return log
  }
}

/** Where a conversation is looked for. */
export interface Scope {
  readonly tenant: string
  /** The client's own name for the session, hashed; empty for none. */
  readonly session: string
}

function conversationOf({ tenant, session }: Scope, root: string): string {
  return `${tenant}\0${session}\0${root}`
}

/** A copy: a slice would retain the string that it is a part of. */
function idOf({ tenant, session }: Scope, key: string): string {
  const digest = hash('sha256', `${tenant}\0${session}\0${key}`, 'buffer')
  return digest.toString('base64url', 0, 18)
}
