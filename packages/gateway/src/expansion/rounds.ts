// The rounds of one client's request in which the model called the gateway's tools: answered, logged, asked again.

import { type Json, type JsonObject, resolveCounter, type Thread } from 'oriel'
import type { Answer, CallResult, OwnCall, Provider } from 'oriel/providers'
import type { UpstreamAnswer } from '../http/client.ts'
import type { Limits } from '../options.ts'
import { type OwnTool, refusals } from './own-tools.ts'

/** What rounds need of the call that they belong to. */
export interface RoundedCall {
  /** Logs a round that the client does not see as it is, and gives the body of the next one. */
  recordHiddenRound(round: HiddenRound): Promise<string | Uint8Array>
  /** What is logged as the end of the answer, in place of what the client sees. */
  recordFinalAnswer(
    answer: Answer,
    results?: (thread: Thread) => Promise<readonly Json[]>,
  ): Promise<void>
  /** Calls of our tools that were answered. */
  expansions: number
  /** Tokens that the model's window has left for results; infinite where nobody knows it. */
  readonly roomTokens: number
}

export interface HiddenRound {
  readonly answer: Answer
  /** Messages of it that the client will resend. */
  readonly resent: readonly Json[]
  results(thread: Thread): Promise<readonly Json[]>
  /** What stands in place of the results where they turn out to be too long. */
  readonly refusals: readonly Json[]
  /** Whether the next round goes without our tools. */
  readonly isLast: boolean
}

export interface RoundsOptions {
  readonly call: RoundedCall
  readonly provider: Provider
  /** The tools of ours that the request carries. */
  readonly own: readonly OwnTool[]
  readonly names: readonly string[]
  /** The client's own list of tools, where the request carries another. */
  readonly tools?: readonly Json[] | undefined
  readonly echo?: JsonObject | undefined
  readonly added?: JsonObject | undefined
  readonly begun?: readonly JsonObject[] | undefined
  readonly isOpen: boolean
  readonly isQuiet: boolean
  readonly isForced: boolean
  /** The body of the request. */
  readonly body: JsonObject
  readonly limits: Pick<Limits, 'expandRounds' | 'expandMs' | 'expandPulseMs' | 'streamMs'>
  readonly now: () => number
  /** Sends the body of a round. */
  readonly send: (text: string | Uint8Array, signal: AbortSignal) => Promise<UpstreamAnswer>
}

const enough =
  '\n[This was the last lookup for this answer. Look up no more; go on with what you have.]'

/** What the results of one answer have together: one original as long as it is ever given, with the words around it. */
const maxCharacters = 201_000

const counter = resolveCounter('estimate')

export class Rounds {
  readonly options: RoundsOptions
  readonly #leaving = new AbortController()
  #count = 0
  /** Whether the round that is under way goes without our tools. */
  #isLast = false
  #since = 0
  /** Characters that results may still have. */
  #characters = maxCharacters

  constructor(options: RoundsOptions) {
    this.options = options
  }

  /** Rounds that the client did not see. */
  get count(): number {
    return this.#count
  }

  get hasLeft(): boolean {
    return this.#leaving.signal.aborted
  }

  /** Whether another round may begin. */
  get mayGoOn(): boolean {
    if (this.#count === 0 || !this.#isEnough) return true
    // A model that must call a tool calls one of the client's when there is no other.
    return this.options.isForced && !this.#isLast
  }

  get #isEnough(): boolean {
    const { expandRounds, expandMs } = this.options.limits
    return this.#count >= expandRounds || this.options.now() - this.#since >= expandMs
  }

  /** Answers the calls and asks the upstream again. What was said is durable before. */
  async next(answer: Answer, calls: readonly OwnCall[]): Promise<UpstreamAnswer> {
    const { call, names, isForced, now, send } = this.options
    const { tools } = this.options.provider
    const kept = this.#kept(answer)
    if (this.#count === 0) this.#since = now()
    this.#count += 1
    const note = this.#isEnough ? enough : ''
    this.#isLast = isForced && this.#isEnough
    call.expansions += calls.length
    const text = await call.recordHiddenRound({
      answer: kept,
      resent: tools.resent?.(kept.messages, names) ?? [],
      results: (thread) => this.#results(thread, calls, note),
      refusals: this.#refused(calls, refusals.much, note),
      isLast: this.#isLast,
    })
    this.#leaving.signal.throwIfAborted()
    return send(text, this.#leaving.signal)
  }

  /** Ends with an answer that calls our tools too: its results are there when the conversation continues. */
  async close(answer: Answer, calls: readonly OwnCall[], why: Closing): Promise<void> {
    const { call } = this.options
    const kept = this.#kept(answer)
    if (why === 'mixed') {
      call.expansions += calls.length
      await call.recordFinalAnswer(kept, (thread) => this.#results(thread, calls, ''))
      return
    }
    const reason = why === 'cut' ? refusals.cut : refusals.many
    await call.recordFinalAnswer(kept, async () => this.#refused(calls, reason))
  }

  /** Ends with an answer that does not call them. */
  end(answer: Answer): Promise<void> {
    return this.options.call.recordFinalAnswer(this.#kept(answer))
  }

  /** An answer as it can be shown to the model again. */
  #kept(answer: Answer): Answer {
    const { provider, body } = this.options
    const messages = provider.tools.replayed?.(answer.messages, body) ?? answer.messages
    return { ...answer, messages }
  }

  /** The client left: nothing more is asked. */
  leave(): void {
    this.#leaving.abort(new Error('The client left.'))
  }

  async #results(
    thread: Thread,
    calls: readonly OwnCall[],
    note: string,
  ): Promise<readonly Json[]> {
    const { own, provider } = this.options
    const results: CallResult[] = []
    let tokens = this.options.call.roomTokens
    for (const { id, name, input } of calls) {
      const tool = own.find((one) => one.name === name)
      const found = (await tool?.answer(thread, input)) ?? ''
      const isFitting = found.length <= this.#characters && counter.count(found) <= tokens
      const text = isFitting ? found : `${tool?.refusal}: ${refusals.much}`
      this.#characters -= text.length
      tokens -= counter.count(text)
      results.push({ id, name, text: text + note })
    }
    return provider.tools.results(results)
  }

  /** What the model reads where its calls are not answered. */
  #refused(calls: readonly OwnCall[], reason: string, note = ''): readonly Json[] {
    const { own, provider } = this.options
    const refused = calls.map(({ id, name }): CallResult => {
      const { refusal } = own.find((one) => one.name === name) ?? { refusal: 'Not answered' }
      return { id, name, text: `${refusal}: ${reason}${note}` }
    })
    return provider.tools.results(refused)
  }
}

/** Why an answer that calls the tool is the last one: the client's tools are called too, it broke off, or it is enough. */
export type Closing = 'mixed' | 'cut' | 'enough'
