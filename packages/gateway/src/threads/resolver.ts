// Finds the thread that a request belongs to, without any change to the client. See docs/decisions/0002-what-clients-resend.md.

import { hash as digest, randomUUID } from 'node:crypto'
import {
  type Frame,
  type HistoryKey,
  historyKeys,
  type Json,
  type JsonObject,
  type Scope as MemoryScope,
  type ReadHistory,
} from 'oriel'
import { providerNamed } from 'oriel/providers'
import { isObject } from '../call/rewrite.ts'
import { refuse } from '../http/errors.ts'
import type { ReadableHeaders } from '../http/header-list.ts'
import type { FrameFingerprint, IndexedThread, Scope, ThreadIndex } from './index.ts'
import type { OpenThreads, ThreadHandle } from './open-threads.ts'

export interface SessionRequest {
  readonly tenant: string
  readonly headers: ReadableHeaders
  readonly body: JsonObject
  readonly history: ReadHistory
  readonly frame: Frame
}

export interface ResolvedThread {
  readonly family: ThreadHandle
  readonly scope: Scope
  readonly frame: FrameFingerprint
  readonly lastKey: HistoryKey | undefined
  /** The same for the same request again. */
  readonly requestFingerprint: string
}

/** A request that was here. */
interface Recent {
  readonly root: string
  readonly at: number
  /** Whether it got no answer, so that the same request again is a requestFingerprint even if the client does not mark it. */
  readonly hasFailed: boolean
}

/** Requests whose retries are recognised, and for how long. */
const maxRetries = 2000
const retryMs = 10 * 60_000

export class ThreadResolver {
  readonly #families: OpenThreads
  readonly #index: ThreadIndex
  readonly #now: () => number
  readonly #recent = new Map<string, Recent>()
  /** The frame of each session's main conversation. */
  readonly #mains = new Map<string, FrameFingerprint>()

  /** Whether threads of one user or project remember each other. */
  readonly #hasMemory: boolean

  constructor(
    families: OpenThreads,
    index: ThreadIndex,
    { now, memory = false }: { readonly now: () => number; readonly memory?: boolean | undefined },
  ) {
    this.#families = families
    this.#index = index
    this.#now = now
    this.#hasMemory = memory
  }

  /** Finds the thread without remembering the request. */
  peek(request: SessionRequest): Promise<ResolvedThread> {
    return this.resolve(request, { isPeek: true })
  }

  async resolve(
    request: SessionRequest,
    { isPeek = false }: { readonly isPeek?: boolean } = {},
  ): Promise<ResolvedThread> {
    const { tenant, headers, body, history } = request
    const frame = signOf(request)
    const named = headers.get('x-oriel-thread')
    const { keys } = history
    const lastKey = keys.at(-1)
    const memory = this.#hasMemory ? memoryScope(headers) : undefined
    if (named !== null) {
      if (!/^[\w.:~-]{1,200}$/.test(named)) {
        throw refuse(
          400,
          'invalid-input',
          'x-oriel-thread must be 1 to 200 letters, digits or any of . : ~ _ -',
        )
      }
      const scope = { tenant, session: sessionHash(['thread', named]) }
      const requestFingerprint = requestFingerprintOf(scope, request, lastKey)
      return {
        family: this.#families.get(tenant, named, { memory }),
        scope,
        frame,
        lastKey,
        requestFingerprint,
      }
    }
    const session = sessionOf(headers, body)
    const scope = { tenant, session: session?.hash ?? '' }
    const requestFingerprint = requestFingerprintOf(scope, request, lastKey)
    const found = (root: string, isNew = false): ResolvedThread => {
      if (!isPeek) this.#note(requestFingerprint, root)
      const family = this.#families.get(tenant, root, { isNew, memory })
      return { family, scope, frame, lastKey, requestFingerprint }
    }
    const places = await this.#index.find(scope, keys)
    const joined = await this.#choose(
      tenant,
      places.filter((place) => continues(place.frame, frame)),
      request,
    )
    if (joined !== undefined) return found(joined)
    const retried = this.#retried(requestFingerprint, request)
    if (retried !== undefined) return found(retried)
    if (session?.isThread !== true) return found(randomUUID(), true)
    return found(this.#rootOf(scope, frame, isPeek))
  }

  /** The thread of a request that continues from a known place. */
  at(root: string, request: SessionRequest): ResolvedThread {
    const { tenant, history } = request
    const scope = { tenant, session: sessionHash(['thread', root]) }
    const lastKey = history.keys.at(-1)
    return {
      ...{ scope, lastKey, frame: signOf(request) },
      family: this.#families.get(tenant, root),
      requestFingerprint: requestFingerprintOf(scope, request, lastKey),
    }
  }

  /** Remembers an answer at once, before the client has all of it; resolves when another process could find it too. */
  async answered(
    { family, scope, frame, lastKey }: ResolvedThread,
    history: ReadHistory,
    messages: readonly Json[],
  ): Promise<void> {
    const { format } = history
    const place = { root: family.root, frame, at: this.#now() }
    const keys = [
      historyKeys(messages, { format, after: lastKey }).at(-1),
      ...joinedKeys(history, messages),
    ]
    await Promise.all(
      keys.map((key) => (key?.role === 'assistant' ? this.#index.add(scope, key, place) : null)),
    )
  }

  /** Tells how large the conversation of a session is. */
  weigh({ family }: ResolvedThread, bytes: number): void {
    this.#families.weigh(family, bytes)
  }

  /** Forgets a thread, after it was erased: open, found by what was said in it, or asked for again. */
  forget(tenant: string, thread: string): void {
    this.#families.forget(tenant, thread)
    this.#index.forget(tenant, thread)
    for (const [requestFingerprint, { root }] of this.#recent) {
      if (root === thread) this.#recent.delete(requestFingerprint)
    }
  }

  /** A new thread for a request whose own was erased: what is gone does not come back under its name. */
  renew(found: ResolvedThread): ResolvedThread {
    const { tenant } = found.family
    return { ...found, family: this.#families.get(tenant, randomUUID(), { isNew: true }) }
  }

  /** Remembers that a request got no answer. */
  failed({ requestFingerprint, family }: ResolvedThread): void {
    this.#recent.set(requestFingerprint, { root: family.root, at: this.#now(), hasFailed: true })
  }

  /** Where several conversations said the same, the one that shares most with the history, if there is exactly one. */
  async #choose(
    tenant: string,
    places: readonly IndexedThread[],
    { history }: SessionRequest,
  ): Promise<string | undefined> {
    if (places.length <= 1) return places[0]?.root
    const matches = await Promise.all(
      places.map(async ({ root }) => {
        const { matched, behind } = await this.#families
          .get(tenant, root)
          .exclusive((thread) => thread.match(history))
        return { root, score: matched + (behind === 0 ? 0.5 : 0) }
      }),
    )
    const best = Math.max(...matches.map(({ score }) => score))
    const winners = matches.filter(({ score }) => score === best)
    return winners.length === 1 ? winners[0]?.root : undefined
  }

  /** The thread that bears a session's name; what is asked beside its conversation, with another frame, gets its own. */
  #rootOf({ tenant, session }: Scope, frame: FrameFingerprint, isPeek: boolean): string {
    const id = `${tenant}\0${session}`
    const main = this.#mains.get(id)
    if (main === undefined && !isPeek) {
      if (this.#mains.size >= 10_000) this.#mains.delete(this.#mains.keys().next().value ?? '')
      this.#mains.set(id, frame)
    }
    const root = `s-${hash(`${tenant}\0${session}`)}`
    return main === undefined || continues(main, frame)
      ? root
      : `${root}~${hash(`${frame.tools}\0${frame.system}`).slice(0, 8)}`
  }

  #note(requestFingerprint: string, root: string): void {
    const at = this.#now()
    this.#recent.delete(requestFingerprint)
    this.#recent.set(requestFingerprint, { root, at, hasFailed: false })
    for (const [key, { at: then }] of this.#recent) {
      if (this.#recent.size <= maxRetries && at - then < retryMs) break
      this.#recent.delete(key)
    }
  }

  /** A request that was here before, and that the client marks as a requestFingerprint or that got no answer. */
  #retried(requestFingerprint: string, request: SessionRequest): string | undefined {
    const recent = this.#recent.get(requestFingerprint)
    if (recent === undefined) return undefined
    const isMarked = Number(request.headers.get('x-stainless-retry-count') ?? 0) > 0
    return isMarked || recent.hasFailed ? recent.root : undefined
  }
}

/**
 * How a client may resend an answer that continues with the message before it: both as one message, or the answer alone where the client
 * wrote what came before only to begin it.
 */
function joinedKeys(
  { messages: asked, keys, format }: ReadHistory,
  messages: readonly Json[],
): readonly (HistoryKey | undefined)[] {
  const joinBegun = providerNamed(format)?.request.joinBegun
  if (joinBegun === undefined) return []
  const count = keys.length - 1 - keys.findLastIndex(({ role }) => role !== 'assistant')
  if (count === 0) return []
  const parts = [...asked.slice(asked.length - count), ...messages]
  const after = keys.at(-1 - count)
  return [[joinBegun(parts as readonly Json[])], messages].map((one) =>
    historyKeys(one, { format, after }).at(-1),
  )
}

interface ClientSession {
  readonly hash: string
  /** Whether the name is of one conversation, so that an unknown one begins it. */
  readonly isThread: boolean
}

/** The client's own name for its session, from the most to the least explicit place. */
function sessionOf(headers: ReadableHeaders, body: JsonObject): ClientSession | undefined {
  const header = (name: string): readonly string[] => {
    const value = headers.get(name)
    return value === null || value === '' || value.length > 1000 ? [] : [name, value]
  }
  const field = (name: string, value: Json | undefined): readonly string[] =>
    typeof value === 'string' && value !== '' && value.length <= 1000 ? [name, value] : []
  const metadata = isObject(body.metadata) ? body.metadata : {}
  const agent = [...header('x-claude-code-agent-id'), ...header('thread-id')]
  const candidates = [
    header('x-session-id'),
    field('session_id', body.session_id),
    field('metadata.session_id', metadata.session_id),
    header('x-claude-code-session-id'),
    header('session-id'),
    header('session_id'),
    header('x-session-affinity'),
  ]
  const named = candidates.find((one) => one.length > 0)
  if (named !== undefined) return { hash: sessionHash([...named, ...agent]), isThread: true }
  // Applications often use one cache key for many conversations: it narrows the search, no more.
  const key = field('prompt_cache_key', body.prompt_cache_key)
  return key.length === 0 ? undefined : { hash: sessionHash(key), isThread: false }
}

/** Another frame does not continue in place: tools differ, and there are none now or the system text differs too. */
function continues(main: FrameFingerprint, other: FrameFingerprint): boolean {
  if (main.tools === other.tools) return true
  return other.tools !== '' && main.system === other.system
}

function signOf({ frame, history }: SessionRequest): FrameFingerprint {
  const { system, tools } = frame
  const hasTools = Array.isArray(tools) ? tools.length > 0 : tools !== undefined
  const { messages } = history
  const first = messages.findIndex((one) => !isObject(one) || !isInstruction(one.role))
  const leading = messages.slice(0, Math.max(first, 0))
  const told = system === undefined && leading.length === 0 ? '' : JSON.stringify([system, leading])
  return {
    tools: hasTools ? hash(JSON.stringify(tools)).slice(0, 12) : '',
    system: told === '' ? '' : hash(told).slice(0, 12),
  }
}

function isInstruction(role: Json | undefined): boolean {
  return role === 'system' || role === 'developer'
}

/** The same for the same conversation up to the same words. */
function requestFingerprintOf(
  { tenant, session }: Scope,
  { body }: SessionRequest,
  last?: HistoryKey,
): string {
  return hash(JSON.stringify([tenant, session, body.model ?? null, last?.key ?? null]))
}

function sessionHash(parts: readonly string[]): string {
  return hash(JSON.stringify(parts))
}

function hash(text: string): string {
  return digest('sha256', text, 'base64url').slice(0, 22)
}

const maxScopeName = 200

/** Whose threads a new thread remembers, as a request says it; undefined where it says nothing. */
function memoryScope(headers: SessionRequest['headers']): MemoryScope | undefined {
  const named = (['user', 'project'] as const).flatMap((name) => {
    const value = headers.get(`x-oriel-${name}`)?.trim() ?? ''
    if (value.length > maxScopeName) {
      const message = `x-oriel-${name} must have 1 to ${maxScopeName} characters.`
      throw refuse(400, 'invalid-input', message)
    }
    return value === '' ? [] : [[name, value]]
  })
  return named.length === 0 ? undefined : Object.fromEntries(named)
}
