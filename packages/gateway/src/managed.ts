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
import { type Offer, offerTool, rememberName } from './expansion/offer.ts'
import type { HiddenRound, RoundedCall } from './expansion/rounds.ts'
import { addElements } from './expansion/splice.ts'
import { type ClientBody, rewriteBody } from './rewrite.ts'
import type { FoundSession, Sessions } from './sessions.ts'
import type { RequestSettings } from './settings.ts'

export interface ManagedInput {
  readonly endpoint: Endpoint
  readonly body: ClientBody
  readonly history: readonly Json[]
  readonly session: FoundSession
  readonly settings: RequestSettings
  /** Whether the provider's cache is asked for where the client does not. */
  readonly hasCacheHints: boolean
  /** Whether the model gets the tool for originals. */
  readonly hasExpansion: boolean
}

export interface ManagedDependencies {
  readonly sessions: Sessions
  readonly log: (line: string) => void
  /** Told after each write to a thread. */
  readonly changed: (tenant: string, thread: string) => void
}

/** Messages that were logged for one call, and what the client resends for them. */
interface Logged {
  readonly messages: readonly Json[]
  readonly resentAs?: readonly Json[]
}

export class ManagedCall implements RoundedCall {
  readonly #input: ManagedInput
  readonly #dependencies: ManagedDependencies
  expansions = 0
  #offer: Offer | undefined
  /** What this call has appended, in order. */
  readonly #logged: Logged[] = []
  /** What the client saw of earlier rounds and will resend as it is. */
  readonly #resent: Json[] = []
  /** The true end of an answer of which the client sees another form. */
  #closing: Answer | undefined
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

  /** The tool that the request carries beside the client's. */
  get offer(): Offer | undefined {
    return this.#offer
  }

  /** Takes the history in and gives the body to send. */
  async prepare(): Promise<string> {
    const { session, history, endpoint, settings, body, hasExpansion } = this.#input
    const { format } = endpoint
    const view = await session.family.run(async (thread) => {
      const { offer, newName } = offerTool(thread, { endpoint, body, isOn: hasExpansion })
      this.#offer = offer
      const { messages, thread: branch } = await thread.sync(history, { format })
      this.#branch = branch
      this.#messages = messages
      await adopt(thread, settings.base)
      await rememberName(thread, newName)
      return thread.view(this.#viewOptions())
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
        return thread.recover(error, this.#viewOptions())
      })
      return this.#write(view)
    } catch (reason) {
      if (OrielError.is(reason, 'cannot-project') || OrielError.is(reason, 'invalid-option'))
        return undefined
      throw reason
    }
  }

  async hide({ answer, resent, results }: HiddenRound): Promise<string> {
    const { family } = this.#input.session
    const view = await family.run(async (thread) => {
      await this.#return(thread)
      const messages = [...answer.messages, ...(await results(thread))]
      await this.#append(thread, { messages, resentAs: [] })
      await this.#use(thread, answer.usage)
      return thread.view(this.#viewOptions())
    })
    this.#dependencies.changed(family.tenant, this.#branch)
    this.#resent.push(...resent)
    return this.#write(view)
  }

  async closeWith(
    answer: Answer,
    results?: (thread: Thread) => Promise<readonly Json[]>,
  ): Promise<void> {
    if (results === undefined) {
      this.#closing = answer
      return
    }
    const own = await this.#input.session.family.run(async (thread) => {
      await this.#return(thread)
      return results(thread)
    })
    this.#closing = { ...answer, messages: [...answer.messages, ...own] }
  }

  /** Logs the answer. What the client sends next waits for it; the client itself does not. */
  record(answer: Answer | undefined): void {
    if (this.#isRecorded) return
    this.#isRecorded = true
    if (answer === undefined) return
    const { session, endpoint } = this.#input
    const { messages, usage } = answer
    try {
      if (messages.length > 0)
        this.#dependencies.sessions.answered(session, endpoint.format, messages)
    } catch {
      // An answer that is no message cannot come back as one either.
      this.#dependencies.log('[gateway] An answer had an unknown shape and was not logged.')
      return
    }
    const closing = this.#closing
    const logged = closing === undefined ? { messages } : { ...closing, resentAs: messages }
    this.#later(async (thread) => {
      if (logged.messages.length > 0) await this.#append(thread, logged)
      await this.#use(thread, closing === undefined ? usage : closing.usage)
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
      // The numbers of several rounds are not those of the last view.
      if (this.expansions === 0) await this.#use(thread, answer?.usage)
    })
  }

  #viewOptions(): ViewOptions {
    const { endpoint, settings } = this.#input
    const { value } = this.#body
    const { model } = value
    return {
      format: endpoint.format,
      frame: endpoint.frame(value),
      ...(typeof model === 'string' ? { model } : {}),
      ...(settings.isOwn ? { policy: settings.policy } : {}),
    }
  }

  /** The client's body, with the tool that it gets. */
  get #body(): ClientBody {
    return this.#offer?.body ?? this.#input.body
  }

  /** The same as if the client had resent what it saw of earlier rounds: the next request has the same bytes. */
  get #resentBody(): ClientBody {
    const { listKey } = this.#input.endpoint
    const isList = Array.isArray(this.#body.value[listKey])
    if (!isList || this.#resent.length === 0) return this.#body
    return addElements(this.#body, listKey, this.#resent)
  }

  #write(view: View): string {
    this.#view = view
    const { endpoint, hasCacheHints } = this.#input
    const text = rewriteBody(this.#resentBody, endpoint, { ...view, hasMarks: hasCacheHints })
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
  async #append(thread: Thread, logged: Logged): Promise<void> {
    const { history, endpoint } = this.#input
    const { format } = endpoint
    this.#logged.push(logged)
    const add = async ({ messages, resentAs }: Logged): Promise<void> => {
      const options = { format, expected: this.#messages, ...(resentAs && { resentAs }) }
      const added = await thread.append(messages, options)
      this.#messages += added.length
    }
    if (thread.id === this.#branch) {
      try {
        await add(logged)
        return
      } catch (error) {
        if (!OrielError.is(error, 'unexpected-head')) throw error
      }
    }
    if (this.#logged.every(({ resentAs }) => resentAs === undefined)) {
      await thread.sync([...history, ...logged.messages], { format })
      return
    }
    // What the client does not resend is said again in the fork.
    const { thread: branch, messages } = await thread.sync(history, { format })
    this.#branch = branch
    this.#messages = messages
    for (const one of this.#logged) await add(one)
  }

  async #use(thread: Thread, usage: JsonObject | undefined): Promise<void> {
    if (usage === undefined || this.#view === undefined) return
    try {
      await thread.usage(usage, this.#view.id)
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
    const { family } = this.#input.session
    const { log, changed } = this.#dependencies
    family.run(task).then(
      () => changed(family.tenant, this.#branch),
      (error: unknown) => {
        const code = OrielError.is(error) ? error.code : 'internal'
        log(`[gateway] An answer could not be logged: ${code}.`)
      },
    )
  }
}

/** Gives a thread the policy of its agent and operator, where it has another one. */
async function adopt(thread: Thread, policy: Policy): Promise<void> {
  if (JSON.stringify(thread.policy) !== JSON.stringify(policy)) await thread.setPolicy(policy)
}
