// One managed model call: the history is taken into its thread, the view goes upstream, the answer comes back into the thread.

import { createHash } from 'node:crypto'
import {
  type Json,
  type JsonObject,
  OrielError,
  type Policy,
  type Thread,
  type View,
  type ViewOptions,
} from 'oriel'
import type { Answer } from './answers/collector.ts'
import type { Endpoint } from './endpoints.ts'
import { type ClientBody, rewriteBody } from './rewrite.ts'
import type { FoundSession, Sessions } from './sessions.ts'
import { policySourceOf, type RequestSettings } from './settings.ts'
import type { ObservedCall } from './telemetry/observed-call.ts'
import type { Telemetry } from './telemetry/telemetry.ts'

export interface ManagedInput {
  readonly endpoint: Endpoint
  readonly body: ClientBody
  readonly history: readonly Json[]
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
  #isRecorded = false

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
  async prepare(): Promise<string> {
    const { session, history, endpoint, settings } = this.#input
    const { format } = endpoint
    const view = await session.family.run(async (thread) => {
      const { messages, thread: branch } = await thread.sync(history, { format })
      this.#branch = branch
      this.#messages = messages
      await adopt(thread, settings.base)
      return this.#timed(() => thread.view(this.#viewOptions()))
    })
    this.#dependencies.changed(session.family.tenant, this.#branch)
    return this.#write(view)
  }

  /** The body to send after the upstream refused the first one as too long; undefined where it cannot be made smaller. */
  async recover(error: {
    readonly status: number
    readonly body: string
  }): Promise<string | undefined> {
    const { session } = this.#input
    try {
      const view = await session.family.run(async (thread) => {
        await this.#return(thread)
        return this.#timed(() => thread.recover(error, this.#viewOptions()))
      })
      return this.#write(view)
    } catch (reason) {
      if (OrielError.is(reason, 'cannot-project') || OrielError.is(reason, 'invalid-option'))
        return undefined
      throw reason
    }
  }

  /** Logs the answer. What the client sends next waits for it; the client itself does not. */
  record(answer: Answer | undefined): void {
    if (this.#isRecorded) return
    this.#isRecorded = true
    if (answer === undefined) return
    const { session, endpoint, observed } = this.#input
    observed?.answered(answer)
    const { messages, usage } = answer
    try {
      if (messages.length > 0)
        this.#dependencies.sessions.answered(session, endpoint.format, messages)
    } catch {
      // An answer that is no message cannot come back as one either.
      const text = '[gateway] An answer had an unknown shape and was not logged.'
      this.#dependencies.telemetry.warn('answer-unknown', { route: endpoint.format }, text)
      return
    }
    this.#later(async (thread) => {
      if (messages.length > 0) await this.#append(thread, messages)
      if (usage !== undefined && this.#view !== undefined)
        await this.#use(thread, usage, this.#view.id)
    })
  }

  /** The client got no answer: it may ask again. */
  failed(): void {
    this.#dependencies.sessions.failed(this.#input.session)
  }

  /** Logs what came before a break: for people, never for the model, since no client sends it back. */
  recordInterrupted(answer: Answer | undefined, reason: string): void {
    if (this.#isRecorded) return
    this.#isRecorded = true
    const messages = answer?.messages ?? []
    if (answer !== undefined) this.#input.observed?.answered(answer)
    this.failed()
    this.#later(async (thread) => {
      await this.#return(thread)
      await thread.append([
        {
          role: 'system',
          origin: 'host',
          kind: 'interrupted',
          content: JSON.stringify({ reason, messages }),
          audience: { now: false, later: false, person: true },
        },
      ])
      const usage = answer?.usage
      if (usage !== undefined && this.#view !== undefined)
        await this.#use(thread, usage, this.#view.id)
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

  #write(view: View): string {
    this.#view = view
    const { body, endpoint, hasCacheHints } = this.#input
    const text = rewriteBody(body, endpoint, { ...view, hasMarks: hasCacheHints })
    return hasCacheHints ? this.#withCacheKey(text) : text
  }

  /** The text with a key by which calls of this thread reach the same cache, unless the client has its own. */
  #withCacheKey(text: string): string {
    const { endpoint, body, session } = this.#input
    if (endpoint.format === 'anthropic' || body.value.prompt_cache_key !== undefined) return text
    const own = `${session.family.tenant}\0${this.#branch}`
    const key = createHash('sha256').update(own).digest('hex').slice(0, 32)
    return text.replace('{', () => `{"prompt_cache_key":"oriel-${key}",`)
  }

  /** An answer goes right behind what it answers; where something else came in between, into a fork. */
  async #append(thread: Thread, messages: readonly Json[]): Promise<void> {
    const { history, endpoint } = this.#input
    const { format } = endpoint
    if (thread.id === this.#branch) {
      try {
        await thread.append(messages, { format, expected: this.#messages })
        return
      } catch (error) {
        if (!OrielError.is(error, 'unexpected-head')) throw error
      }
    }
    await thread.sync([...history, ...messages], { format })
  }

  async #use(thread: Thread, usage: JsonObject, view: string): Promise<void> {
    try {
      await thread.usage(usage, view)
    } catch (error) {
      // Numbers in a shape that nobody knows are not worth a failure.
      if (!OrielError.is(error, 'invalid-input')) throw error
    }
  }

  /** Back to the branch of this call, if another call has left it since. */
  async #return(thread: Thread): Promise<void> {
    const { history, endpoint } = this.#input
    if (thread.id !== this.#branch) await thread.sync(history, { format: endpoint.format })
  }

  #later(task: (thread: Thread) => Promise<void>): void {
    const { session, observed } = this.#input
    const { family } = session
    const { telemetry, changed } = this.#dependencies
    const done = observed?.pending()
    family
      .run(task)
      .then(
        () => changed(family.tenant, this.#branch),
        (error: unknown) => {
          const code = OrielError.is(error) ? error.code : 'internal'
          const text = `[gateway] An answer could not be logged: ${code}.`
          telemetry.warn('answer-unlogged', { code, thread: this.#branch }, text)
        },
      )
      .finally(done)
  }
}

/** Gives a thread the policy of its agent and operator, where it has another one. */
async function adopt(thread: Thread, policy: Policy): Promise<void> {
  if (JSON.stringify(thread.policy) !== JSON.stringify(policy)) await thread.setPolicy(policy)
}
