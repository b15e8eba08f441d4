// Which conversation a history without a name belongs to: the answers that came from here, by what was said up to them.

import { hash } from 'node:crypto'
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
/** Conversations of a tenant of which is known that the store has them; of older ones another answer may be added. */
const maxConversations = 20_000
/** Tenants whose answers were asked for lately. */
const maxTenants = 10_000
/** Frames that many conversations share. */
const maxFrames = 1000
/** How many answers of a history are looked for among those in the store: its first and its last ones. */
const storedFromStart = 16

export class ThreadIndex {
  readonly #store: Store
  readonly #logs = new Map<string, { log: FactLog; known: Set<string> }>()
  readonly #places = new Map<string, readonly IndexedThread[]>()
  readonly #frames = new Map<string, FrameFingerprint>()
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
    await log.log.refresh()
    return this.#findIn(scope, [...answers.slice(-4), ...answers.slice(0, storedFromStart)])
  }

  /**
   * Remembers an answer at once, and in the store if it is the first of its conversation: then it resolves when it is there. Never
   * fails: without it, the conversation goes on in another thread.
   */
  async add(
    scope: Scope,
    key: HistoryKey,
    place: IndexedThread & { readonly at: number },
  ): Promise<void> {
    const { root, frame, at } = place
    const id = idOf(scope, key.key)
    this.#remember(id, { root, frame })
    const { log, known } = this.#logOf(scope.tenant)
    const conversation = `${scope.session}\0${root}`
    if (known.has(conversation)) return
    keepNewest(known, conversation, maxConversations)
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
        known.delete(conversation)
        throw error
      }
    })
  }

  /** Forgets where the answers of a conversation were given: it was erased. */
  forget(tenant: string, root: string): void {
    for (const [id, places] of this.#places) {
      const others = places.filter((place) => place.root !== root)
      if (others.length === 0) this.#places.delete(id)
      else if (others.length < places.length) this.#places.set(id, others)
    }
    const known = this.#logs.get(tenant)?.known ?? new Set<string>()
    for (const conversation of known) {
      if (conversation.endsWith(`\0${root}`)) known.delete(conversation)
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
    this.#places.delete(id)
    this.#places.set(id, [...others.slice(-7), { root, frame: this.#shared(frame) }])
    dropOldest(this.#places, maxAnswers)
  }

  /** The same frame as one object, however many conversations have it. */
  #shared(frame: FrameFingerprint): FrameFingerprint {
    const key = `${frame.tools}\0${frame.system}`
    const known = this.#frames.get(key)
    if (known !== undefined) return known
    this.#frames.set(key, frame)
    dropOldest(this.#frames, maxFrames)
    return frame
  }

  #logOf(tenant: string): { log: FactLog; known: Set<string> } {
    const existing = this.#logs.get(tenant)
    if (existing !== undefined) return existing
    const known = new Set<string>()
    const key = { tenant: `index:${tenant}`, thread: 'conversations' }
    const log = new FactLog(this.#store, key, ({ id, root, tools, system, session }) => {
      this.#remember(String(id), {
        root: String(root),
        frame: { tools: String(tools), system: String(system) },
      })
      keepNewest(known, `${String(session)}\0${String(root)}`, maxConversations)
    })
    const made = { log, known }
    this.#logs.set(tenant, made)
    dropOldest(this.#logs, maxTenants)
    return made
  }
}

/** Where a conversation is looked for. */
export interface Scope {
  readonly tenant: string
  /** The client's own name for the session, hashed; empty for none. */
  readonly session: string
}

/** A string of its own: a part of a longer one would keep that in memory. */
function idOf({ tenant, session }: Scope, key: string): string {
  const digest = hash('sha256', `${tenant}\0${session}\0${key}`, 'buffer')
  return digest.toString('base64url', 0, 18)
}

function keepNewest(set: Set<string>, value: string, most: number): void {
  set.add(value)
  dropOldest(set, most)
}

/** Maps and sets keep the order in which things came. */
function dropOldest(kept: Map<string, unknown> | Set<string>, most: number): void {
  if (kept.size <= most) return
  const { value, done } = kept.keys().next()
  if (done !== true) kept.delete(value)
}
