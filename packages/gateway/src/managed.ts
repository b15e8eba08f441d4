// One managed model call: the history is taken into its thread, the view goes upstream, the answer comes back into the thread.

import { hash } from 'node:crypto'
import {
  type AppendOptions,
  canonicalJson,
  type Json,
  type JsonObject,
  OrielError,
  type Policy,
  type ReadHistory,
  type Thread,
  type View,
  type ViewOptions,
} from 'oriel'
import type { Answer } from './answers/collector.ts'
import type { ClientBody } from './client-body.ts'
import type { Endpoint } from './endpoints.ts'
import { rewriteBody } from './rewrite.ts'
import type { FoundSession, Sessions } from './sessions.ts'
import { policySourceOf, type RequestSettings } from './settings.ts'
import type { ObservedCall } from './telemetry/observed-call.ts'
import type { Telemetry } from './telemetry/telemetry.ts'

export interface ManagedInput {
  readonly endpoint: Endpoint
  readonly body: ClientBody
  readonly history: ReadHistory
  readonly session: FoundSession
  readonly settings: RequestSettings
  /** Whether the provider's cache is asked for where the client does not. */
  readonly hasCacheHints: boolean
  readonly observed?: ObservedCall | undefined
}

export interface ManagedDependencies {
  readonly sessions: Sessions
  readonly telemetry: Telemetry
  /** Told after each write to a thread. */
  readonly changed: (tenant: string, thread: string) => void
}

export class ManagedCall {
  readonly #input: ManagedInput
  readonly #dependencies: ManagedDependencies
  #view: View | undefined
  #branch = ''
  /** Messages that the branch had when the view was made. */
  #messages = 0
  #recorded: Promise<void> | undefined

  constructor(input: ManagedInput, dependencies: ManagedDependencies) {
    this.#input = input
    this.#dependencies = dependencies
  }

  get thread(): string {
    return this.#branch
  }

  get view(): View | undefined {
    return this.#view
  }

  /** Takes the history in and gives the body to send. */
  async prepare(): Promise<string | Uint8Array> {
    const { session, history, settings } = this.#input
    const view = await session.family.run(async (thread) => {
      await adopt(thread, settings.base)
      const asked = await this.#timed(async () => {
        const synced = await thread.request(history, this.#viewOptions())
        this.#branch = synced.thread
        this.#messages = synced.messages
        // The history may have led to another branch, which has a policy of its own.
        const isChanged = await adopt(thread, settings.base)
        return isChanged ? thread.view(this.#viewOptions()) : synced.view
      })
      return asked
    })
    this.#dependencies.changed(session.family.tenant, this.#branch)
    return this.#bodyOf(view)
  }

  /** The body to send after the upstream refused the first one as too long; undefined where it cannot be made smaller. */
  async recover(error: {
    readonly status: number
    readonly body: string
  }): Promise<string | Uint8Array | undefined> {
    const { session } = this.#input
    try {
      const view = await session.family.run(async (thread) => {
        await this.#return(thread)
        return this.#timed(() => thread.recover(error, this.#viewOptions()))
      })
      return this.#bodyOf(view)
    } catch (reason) {
      if (OrielError.is(reason, 'cannot-project') || OrielError.is(reason, 'invalid-option'))
        return undefined
      throw reason
    }
  }

  /** Logs the answer: resolves when it is kept, rejects when it cannot be. */
  record(answer: Answer | undefined): Promise<void> {
    this.#recorded ??= this.#record(answer)
    return this.#recorded
  }

  async #record(answer: Answer | undefined): Promise<void> {
    if (answer === undefined) return
    const { session, endpoint, observed } = this.#input
    observed?.answered(answer)
    const { messages, usage } = answer
    const { sessions } = this.#dependencies
    const known = messages.length > 0 ? sessions.answered(session, endpoint.format, messages) : null
    await Promise.all([
      // An answer that cannot be read says so below.
      known?.catch(() => undefined),
      this.#keep((thread) => this.#append(thread, messages, usage)),
    ])
  }

  /** The client got no answer: it may ask again. */
  failed(): void {
    this.#dependencies.sessions.failed(this.#input.session)
  }

  /** Logs what came before a break: for people, never for the model, since no client sends it back. */
  recordInterrupted(answer: Answer | undefined, reason: string): void {
    this.#recorded ??= this.#recordInterrupted(answer, reason).catch(() => undefined)
  }

  #recordInterrupted(answer: Answer | undefined, reason: string): Promise<void> {
    const messages = answer?.messages ?? []
    if (answer !== undefined) this.#input.observed?.answered(answer)
    this.failed()
    return this.#keep(async (thread) => {
      await this.#return(thread)
      const note = {
        role: 'system',
        origin: 'host',
        kind: 'interrupted',
        content: JSON.stringify({ reason, messages }),
        audience: { now: false, later: false, person: true },
      }
      await this.#write(thread, [note], answer?.usage)
    })
  }

  /** Makes a view, and tells of it. */
  async #timed(make: () => Promise<View>): Promise<View> {
    const { observed, settings, session } = this.#input
    const started = performance.now()
    const view = await make()
    if (observed === undefined) return view
    const policySource = policySourceOf(settings)
    observed.viewed(view, { thread: this.#branch, policySource, ms: performance.now() - started })
    this.#dependencies.telemetry.placed(session.family.tenant, observed)
    return view
  }

  #viewOptions(): ViewOptions {
    const { endpoint, body, settings } = this.#input
    const { model } = body.value
    return {
      format: endpoint.format,
      frame: endpoint.frame(body.value),
      ...(typeof model === 'string' ? { model } : {}),
      ...(settings.isOwn ? { policy: settings.policy } : {}),
    }
  }

  #bodyOf(view: View): string | Uint8Array {
    this.#view = view
    const { body, endpoint, hasCacheHints } = this.#input
    const { messages, system } = view
    const text = rewriteBody(body, endpoint, { messages, system, hasMarks: hasCacheHints })
    if (hasCacheHints) return this.#withCacheKey(text)
    return text === body.text ? body.bytes : text
  }

  /** The text with a key by which calls of this thread reach the same cache, unless the client has its own. */
  #withCacheKey(text: string): string {
    const { endpoint, body, session } = this.#input
    if (endpoint.format === 'anthropic' || body.value.prompt_cache_key !== undefined) return text
    const own = `${session.family.tenant}\0${this.#branch}`
    const key = hash('sha256', own).slice(0, 32)
    return text.replace('{', () => `{"prompt_cache_key":"oriel-${key}",`)
  }

  /** An answer goes right behind what it answers; where something else came in between, into a fork. */
  async #append(
    thread: Thread,
    messages: readonly Json[],
    usage: JsonObject | undefined,
  ): Promise<void> {
    const { history, endpoint } = this.#input
    const { format } = endpoint
    if (thread.id === this.#branch) {
      try {
        await this.#write(thread, messages, usage, { format, expected: this.#messages })
        return
      } catch (error) {
        if (!OrielError.is(error, 'unexpected-head')) throw error
      }
    }
    await thread.sync([...history.messages, ...messages], { format })
    await this.#write(thread, [], usage)
  }

  /** Appends messages with the provider's numbers. Numbers in a shape that nobody knows are not worth a failure. */
  async #write(
    thread: Thread,
    messages: readonly Json[],
    sample: JsonObject | undefined,
    options: AppendOptions = {},
  ): Promise<void> {
    const view = this.#view?.id
    if (sample !== undefined && view !== undefined) {
      try {
        await thread.append(messages, { ...options, usage: { sample, view } })
        return
      } catch (error) {
        if (!OrielError.is(error, 'invalid-input')) throw error
      }
    }
    if (messages.length > 0) await thread.append(messages, options)
  }

  /** Back to the branch of this call, if another call has left it since. */
  async #return(thread: Thread): Promise<void> {
    const { history } = this.#input
    if (thread.id !== this.#branch) await thread.sync(history)
  }

  /** Writes to the thread after everything that was asked for before. Rejects where the store could not keep it. */
  async #keep(task: (thread: Thread) => Promise<void>): Promise<void> {
    const { session, observed } = this.#input
    const { family } = session
    const { telemetry, changed } = this.#dependencies
    const done = observed?.pending()
    try {
      await family.run(task, { isUrgent: true })
      changed(family.tenant, this.#branch)
    } catch (error) {
      const code = OrielError.is(error) ? error.code : 'internal'
      const text = `[gateway] An answer could not be logged: ${code}.`
      telemetry.warn('answer-unlogged', { code, thread: this.#branch }, text)
      // What is no message, no client sends back; what was erased must not come back.
      if (code !== 'invalid-input' && code !== 'not-found') throw error
    } finally {
      done?.()
    }
  }
}

/** The policy that a thread was last given: comparing it with every call would cost more than the view. */
const adopted = new WeakMap<Thread, { readonly policy: Policy; readonly branch: string }>()

/** Gives a thread the policy of its agent and operator; answers whether it had another one. */
async function adopt(thread: Thread, policy: Policy): Promise<boolean> {
  const last = adopted.get(thread)
  if (last?.policy === policy && last.branch === thread.id) return false
  const isOther = canonicalJson(thread.policy as Json) !== canonicalJson(policy as Json)
  if (isOther) await thread.setPolicy(policy)
  adopted.set(thread, { policy, branch: thread.id })
  return isOther
}
