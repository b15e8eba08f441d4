// One managed model call: the history is taken into its thread, the view goes upstream, the answer comes back into the thread.

import { hash, randomUUID } from 'node:crypto'
import {
  type AppendOptions,
  type Frame,
  type Json,
  type JsonObject,
  lookupPrices,
  type MessageEntry,
  OrielError,
  type Policy,
  type ReadHistory,
  recoveryBudget,
  resolveCounter,
  type SyncResult,
  type Thread,
  type View,
  type ViewOptions,
} from 'oriel'
import {
  compactionAmong,
  lookupRoom,
  originsIn,
  placesOf,
  type ResentHistory,
  resentIn,
  windowKind,
} from 'oriel/internal'
import type { Answer, AskedCompaction, Provider, WrittenAnswer } from 'oriel/providers'
import { type DeferredTools, deferredTools } from '../expansion/deferred-tools.ts'
import {
  candidateFor,
  type InjectedTool,
  offerOf,
  type ToolCandidate,
} from '../expansion/inject.ts'
import type { HiddenRound, RoundedCall } from '../expansion/rounds.ts'
import { addElements } from '../expansion/splice.ts'
import type { ExpandMode } from '../options.ts'
import type { RequestSettings } from '../settings/resolve.ts'
import type { ObservedCall } from '../telemetry/observed-call.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import type { Conversations } from '../threads/conversations.ts'
import type { ResolvedThread, ThreadResolver } from '../threads/resolver.ts'
import type { ChainLink, ResponseChain } from '../threads/response-chain.ts'
import type { ClientBody } from './client-body.ts'
import { rewriteBody } from './rewrite.ts'

/** What a request continues from that does not carry all of its history. */
export interface GoesOnFrom {
  readonly thread: string
  /** The answer that it continues from; undefined for a conversation in which nothing was said yet. */
  readonly link: ChainLink | undefined
  /** The id of the conversation that moves on with the answer. @default none does */
  readonly conversation?: string
  /** How the answer repeats the reference, which the upstream is not sent. */
  readonly echo: JsonObject
}

export interface ManagedInput {
  readonly provider: Provider
  readonly body: ClientBody
  readonly model: string | undefined
  readonly frame: Frame
  readonly history: ReadHistory
  /** What the history continues from. @default the history is whole */
  readonly goesOnFrom?: GoesOnFrom | undefined
  readonly session: ResolvedThread
  readonly settings: RequestSettings
  /** Whether the provider's cache is asked for where the client does not. */
  readonly hasCacheHints: boolean
  /** When the model gets the tool for originals. */
  readonly expand: ExpandMode
  /** Whether the model is not known to refuse tools. */
  readonly takesTools: boolean
  /** Edits that the client asks its provider for and that are made here: its own words. @default none */
  readonly contextEdits?: Json | undefined
  /** The compaction that the client asks its provider for and that is made here. @default none */
  readonly compaction?: AskedCompaction | undefined
  /** Whether the client asks for compaction by its own parameters: then the policy makes none. @default false */
  readonly isCompactedOnRequest?: boolean | undefined
  /** Whether the upstream takes the provider's own compaction blocks. */
  readonly takesCompaction: boolean
  /** Whether the answer is a compaction of the conversation, and no answer to it. @default false */
  readonly isCompacting?: boolean | undefined
  /** Tokens that the upstream is known to take for this model. */
  readonly limitTokens?: number | undefined
  readonly observed?: ObservedCall | undefined
}

export interface ManagedDependencies {
  readonly sessions: ThreadResolver
  readonly telemetry: Telemetry
  /** Told after each write to a thread. */
  readonly changed: (tenant: string, thread: string) => void
  readonly chain: ResponseChain
  readonly conversations: Conversations
  readonly now: () => number
}

/** Messages that were logged for one call, with their numbers, and what the client resends for them. */
interface Logged extends Pick<Answer, 'messages' | 'response'> {
  readonly usage?: JsonObject | undefined
  readonly resentAs?: readonly Json[]
}

/** Messages that were logged, and the branch that has them. */
interface Appended {
  readonly branch: Thread
  readonly entries: readonly MessageEntry[]
}

const counter = resolveCounter('estimate')

/** The disk has the request when it has the answer, before which nothing is acknowledged. */
const asking = { isContinuing: true, durable: 'soon' } as const

export class ManagedCall implements RoundedCall {
  readonly #input: ManagedInput
  readonly #dependencies: ManagedDependencies
  expansions = 0
  /** The tool that the request could carry, until its view says so, and the one that it does. */
  #candidate: ToolCandidate | undefined
  #offer: InjectedTool | undefined
  /** The list of tools that the request carries in place of the client's. */
  #deferred: DeferredTools | undefined
  /** The edits that were made in the place of the provider, in its words. */
  #edited: readonly JsonObject[] | undefined
  /** The compaction that was made in the place of the provider. */
  #compaction: JsonObject | undefined
  /** The answer, where nobody is asked for it. */
  #ownAnswer: WrittenAnswer | undefined
  /** The newest entry of this call that the client does not resend as it is. */
  #hiddenSeq: number | undefined
  /** What the client saw of earlier rounds and will resend as it is, and the entries of these rounds. */
  readonly #resent: Json[] = []
  readonly #hiddenSeqs: number[] = []
  /** The last entry of a history of which the client sends only the end. */
  #sentSeq: number | undefined
  /** The true end of an answer of which the client sees another form. */
  #closing: Answer | undefined
  /** The entries of the newest round, and what is said in its place where its results are too long. */
  #newest: { readonly ids: readonly string[]; readonly refused: readonly Json[] } | undefined
  #view: View | undefined
  /** The branch of this call, as an object of its own: no other call moves it. */
  #branch: Thread | undefined
  /** Messages that the branch had when the view was made. */
  #messages = 0
  /** What the client's messages are in the branch, and what it will resend of earlier rounds. */
  #sentAs: ResentHistory = { leading: [], messages: [] }
  #recorded: Promise<void> | undefined
  /** Whether a learned limit is obeyed: not where nothing fits it. */
  #isLimited = true
  /** Tokens of the view that answers a refusal at most. */
  #recoveredTokens: number | undefined

  constructor(input: ManagedInput, dependencies: ManagedDependencies) {
    this.#input = input
    this.#dependencies = dependencies
  }

  get thread(): string {
    return this.#branch?.id ?? ''
  }

  get view(): View | undefined {
    return this.#view
  }

  get provider(): Provider {
    return this.#input.provider
  }

  /** The model that is asked for; empty where the request names none. */
  get model(): string {
    return this.#input.model ?? ''
  }

  /** What a refusal taught: the most tokens that the upstream takes; undefined where nothing was refused. */
  get recoveredTokens(): number | undefined {
    return this.#recoveredTokens
  }

  /** Whether the learned limit of the upstream could be obeyed. */
  get isLimited(): boolean {
    return this.#isLimited
  }

  /** Our tools that the request carries beside the client's, or may carry in a later round. */
  get offer(): InjectedTool | undefined {
    const deferred = this.#deferred
    if (deferred === undefined) return this.#echoing(this.#offer)
    const { provider } = this.#input
    const { own: offered, isQuiet = false } = this.#offer ?? {}
    const expanding = offered ?? this.#candidate?.own ?? []
    return this.#echoing({
      own: [deferred.tool, ...expanding],
      body: this.#body,
      clientTools: deferred.clientTools,
      isOpen: true,
      isQuiet,
      isForced: provider.tools.eligibility(this.#input.body.value) === 'forced',
    })
  }

  /** What the answer says of parameters that the request goes without: the reference to the one before, and edits of the context. */
  #echoing(offer: InjectedTool | undefined): InjectedTool | undefined {
    const { goesOnFrom, provider } = this.#input
    const { echo } = goesOnFrom ?? {}
    const added = this.#edited && provider.contextEdits?.answer(this.#edited)
    const begun = this.#compaction && [this.#compaction]
    if ((echo ?? added ?? begun) === undefined) return offer
    const none = { own: [], body: this.#body, isOpen: true, isQuiet: false, isForced: false }
    const own = { ...(echo && { echo }), ...(added && { added }), ...(begun && { begun }) }
    return { ...(offer ?? none), ...own }
  }

  /** The answer that is there without asking the upstream; undefined where it is to be asked. */
  get ownAnswer(): WrittenAnswer | undefined {
    return this.#ownAnswer
  }

  /** Whether the conversation was compacted in the place of the provider. */
  get isCompacted(): boolean {
    return this.#compaction !== undefined
  }

  /** The edits that were made in the place of the provider, in its words; undefined where none were asked for. */
  get edited(): readonly JsonObject[] | undefined {
    return this.#edited
  }

  /** How many of the client's tool definitions the newest request went without; undefined where none is deferred. */
  get deferredCount(): number | undefined {
    return this.#deferred?.deferral.count
  }

  /** Takes the history in and gives the body to send. */
  async prepare(): Promise<Uint8Array> {
    const { session, history, provider, body, takesTools, settings } = this.#input
    const view = await session.family.exclusive(async (thread) => {
      if (takesTools) {
        const { policy } = settings
        this.#deferred = deferredTools(thread, { provider, body, history, policy })
      }
      this.#candidate = this.#candidateOf(thread)
      return this.#timed(async () => {
        const { link } = this.#input.goesOnFrom ?? {}
        if (link !== undefined) return this.#goOn(thread, link)
        const synced = await this.#withinLimit(() =>
          thread.request(history, { ...this.#viewOptions(), ...asking }),
        )
        this.#follow(synced)
        await this.#deferred?.keep(synced.branch)
        return this.#compactFor(synced.branch, synced.view)
      })
    })
    this.#decideOn(view)
    this.#dependencies.changed(session.family.tenant, this.thread)
    return this.#bodyOf(view)
  }

  /** Continues from an answer of the thread; where something else did so before, in a fork. */
  async #goOn(thread: Thread, link: ChainLink): Promise<View> {
    const { history, provider } = this.#input
    if (thread.isEmpty) throw new OrielError('not-found', 'The thread of the answer is gone.')
    const options = { format: provider.name, expected: link.messages }
    const add = async (branch: Thread): Promise<Thread> => {
      const entries = await branch.append(history.messages, options)
      this.#messages = link.messages + entries.length
      this.#sentSeq = entries.at(-1)?.seq ?? link.seq
      return branch
    }
    try {
      this.#branch = await add(thread)
    } catch (error) {
      if (!OrielError.is(error, 'unexpected-head')) throw error
      // The same request again, after one that got no answer, continues where that one stands.
      const end = await thread.endsWith(history, { after: link.seq })
      if (end === undefined) this.#branch = await this.#addAt(thread, link, add)
      else {
        this.#branch = thread
        this.#messages = end.messages
        this.#sentSeq = end.seq
      }
    }
    const branch = this.#branch
    await this.#deferred?.keep(branch)
    const view = await this.#withinLimit(() => branch.view(this.#viewOptions()))
    return this.#compactFor(branch, view)
  }

  /** Adds behind a place of a thread that was read anew: another process may have continued in it. Else in a fork. */
  async #addAt(
    thread: Thread,
    { seq }: ChainLink,
    add: (branch: Thread) => Promise<Thread>,
  ): Promise<Thread> {
    try {
      return await add(thread)
    } catch (error) {
      if (!OrielError.is(error, 'unexpected-head')) throw error
      return add(await thread.fork(seq))
    }
  }

  /** Makes the compaction that the client asks its provider for, where it is due, and the view behind it. */
  async #compactFor(branch: Thread, view: View): Promise<View> {
    const { compaction: asked, provider, body } = this.#input
    const { compaction: format } = provider
    if (asked === undefined || format === undefined) return view
    const { fromTokens, instructions, isAlone, isDemanded } = asked
    if (view.tokens.after < fromTokens) return view
    const limit = isDemanded ? view.tokens.after : fromTokens
    await branch.compact({ limit: Math.max(1, limit), ...(instructions && { instructions }) })
    const summary = (await branch.edits()).findLast(({ text, compactedBy }) => {
      return text !== undefined && compactedBy === undefined
    })?.text
    // Where nothing could give way, an answer without a compaction is what the provider gives too.
    if (summary === undefined && !isDemanded) return view
    const id = randomUUID().replaceAll('-', '')
    const text = summary ?? (await plainSummary(branch))
    this.#compaction = format.block({ id, summary: text, isSigned: isDemanded })
    if (isAlone) {
      const users = this.#input.isCompacting === true ? await usersOf(branch) : []
      const makeId = (prefix: string): string => `${prefix}_${id}`
      const around = { request: body.value, makeId, now: this.#dependencies.now(), users }
      this.#ownAnswer = format.answer(this.#compaction, around)
    }
    return this.#withinLimit(() => branch.view(this.#viewOptions()))
  }

  #candidateOf(thread: Thread): ToolCandidate | undefined {
    const { provider, expand, takesTools, settings } = this.#input
    const { policy } = settings
    const clientTools = this.#deferred?.clientTools
    const asked = { provider, body: this.#base, expand, policy, clientTools }
    return takesTools ? candidateFor(thread, asked) : undefined
  }

  /** Asks for a view within the learned limit, or without it where nothing fits: then the upstream says what is wrong. */
  async #withinLimit<T>(ask: () => Promise<T>): Promise<T> {
    try {
      return await ask()
    } catch (error) {
      const mayRetry = this.#isLimited && this.#input.limitTokens !== undefined
      if (!mayRetry || !OrielError.is(error, 'cannot-project')) throw error
      this.#isLimited = false
      return ask()
    }
  }

  /** The body to send after the upstream refused the first one as too long; undefined where it cannot be made smaller. */
  async recover(error: {
    readonly status: number
    readonly body: string
  }): Promise<Uint8Array | undefined> {
    const { session, model } = this.#input
    const { contextWindow } = lookupPrices(model === undefined ? {} : { model })
    const sent = this.#view?.tokens.after ?? 0
    try {
      const view = await session.family.exclusive(
        (thread) => this.#timed(() => thread.recover(error, this.#viewOptions())),
        { on: this.#branch },
      )
      this.#recoveredTokens = Math.max(1, recoveryBudget(error, sent, contextWindow))
      this.#decideOn(view)
      return this.#bodyOf(view)
    } catch (reason) {
      if (OrielError.is(reason, 'cannot-project') || OrielError.is(reason, 'invalid-option'))
        return undefined
      throw reason
    }
  }

  /** The view says whether the request carries the tool: what is reduced by a recovery may need it first. */
  #decideOn({ offersExpansion }: View): void {
    if (!offersExpansion) return
    this.#offer ??= this.#candidate?.inject()
    this.#candidate = undefined
  }

  /** The body to send without our tools; undefined where it does not carry any, or the model has called one. */
  async withoutTool(): Promise<Uint8Array | undefined> {
    const hasNone = this.#offer === undefined && this.#deferred === undefined
    if (hasNone || this.#hiddenSeq !== undefined) return undefined
    this.#offer = undefined
    this.#deferred = undefined
    const { family } = this.#input.session
    const ask = (thread: Thread): Promise<View> =>
      this.#timed(() => this.#withinLimit(() => thread.view(this.#viewOptions())))
    return this.#bodyOf(await family.exclusive(ask, { on: this.#branch }))
  }

  get roomTokens(): number {
    const { settings, model } = this.#input
    const usedTokens = this.#view?.tokens.after ?? 0
    return lookupRoom({ policy: settings.policy, model, usedTokens })
  }

  async recordHiddenRound({
    answer,
    resent,
    results,
    refusals,
    isLast,
  }: HiddenRound): Promise<Uint8Array> {
    const isDeferring = this.#deferred !== undefined
    if (isLast) this.#offer = isDeferring ? undefined : this.#offer?.last
    return this.#nextRound(async (thread) => {
      const messages = [...answer.messages, ...(await results(thread))]
      const logged = { messages, usage: answer.usage, resentAs: [] }
      const { branch, entries } = await this.#append(thread, logged)
      const refused = [...answer.messages, ...refusals]
      this.#newest = { ids: entries.map(({ id }) => id), refused }
      this.#willResend(resent, entries)
      await this.#listFound(branch, isLast)
      return branch
    })
  }

  /** The list of the next round: with what was found; in the last one with all of the client's, so that it can call any. */
  async #listFound(branch: Thread, isLast: boolean): Promise<void> {
    const deferred = this.#deferred
    if (deferred === undefined) return
    await deferred.keep(branch)
    if (isLast) {
      this.#deferred = undefined
      this.#candidate = undefined
      return
    }
    const candidate = this.#candidateOf(branch)
    if (this.#offer === undefined) this.#candidate = candidate
    else this.#offer = candidate?.inject()
  }

  /**
   * The body to send where the results of the newest round are too long however the rest is reduced: the model reads that they are
   * too much, now and in later requests. Undefined where there is no such round.
   */
  async retractResults(): Promise<Uint8Array | undefined> {
    const round = this.#newest
    if (round === undefined) return undefined
    this.#newest = undefined
    return this.#nextRound(async (thread) => {
      // A call without its result is not shown, so the round is said again as a whole.
      for (const id of round.ids) await thread.exclude(id)
      const logged = { messages: round.refused, resentAs: [] }
      const { branch, entries } = await this.#append(thread, logged)
      this.#willResend([], entries)
      return branch
    })
  }

  /** Logs something of a round that is not seen, and gives the body of the next one. `log` answers the branch that has it. */
  async #nextRound(log: (thread: Thread) => Promise<Thread>): Promise<Uint8Array> {
    const { family } = this.#input.session
    const logged = async (thread: Thread): Promise<View> => {
      const branch = await log(thread)
      const ask = (): Promise<View> => branch.view(this.#viewOptions())
      return this.#timed(() => this.#withinLimit(ask), { isNextRound: true })
    }
    const view = await family.exclusive(logged, { on: this.#branch, isUrgent: true })
    this.#decideOn(view)
    this.#dependencies.changed(family.tenant, this.thread)
    return this.#bodyOf(view)
  }

  async recordFinalAnswer(
    answer: Answer,
    results?: (thread: Thread) => Promise<readonly Json[]>,
  ): Promise<void> {
    if (results === undefined) {
      this.#closing = answer
      return
    }
    const options = { on: this.#branch, isUrgent: true }
    const own = await this.#input.session.family.exclusive(async (thread) => {
      const found = await results(thread)
      await this.#deferred?.keep(thread)
      return found
    }, options)
    this.#closing = { ...answer, messages: [...answer.messages, ...own] }
  }

  /** Logs the answer: resolves when it is kept, rejects when it cannot be. */
  record(answer: Answer | undefined): Promise<void> {
    this.#recorded ??= this.#record(answer)
    return this.#recorded
  }

  async #record(answer: Answer | undefined): Promise<void> {
    if (answer === undefined && this.#closing === undefined) return
    const { session, provider, observed, history } = this.#input
    // Of an answer that called nothing but our tool, the client may see nothing at all.
    const seen = answer ?? { messages: [] }
    observed?.answered(seen)
    const { messages } = seen
    const { sessions, chain, conversations, telemetry } = this.#dependencies
    const { conversation } = this.#input.goesOnFrom ?? {}
    const isKept = provider.request.stored?.isKept(this.#body.value) === true
    const logged = this.#closing === undefined ? seen : { ...this.#closing, resentAs: messages }
    const known = messages.length > 0 ? sessions.answered(session, history, messages) : null
    await Promise.all([
      // The conversation can continue without it.
      known && telemetry.background.run('thread-index', () => known),
      this.#keep(async (thread) => {
        const { branch, entries } = await this.#append(thread, logged)
        const notes = this.#noteOnEdits(this.#edited ?? seen.response?.edits)
        if (notes.length > 0) await branch.append(notes)
        const { id } = seen.response ?? {}
        const { seq } = entries.at(-1) ?? {}
        if (seq === undefined) return
        const { tenant } = session.family
        const link = { thread: branch.id, seq, messages: this.#messages }
        const compaction = compactionAmong(messages, provider.name)
        // The client may leave out what came before, or continue from here and send only what is new.
        if (compaction !== undefined) chain.noteCompaction(tenant, compaction, link)
        if (isKept && id !== undefined) chain.note(tenant, id, link)
        // The client's next request may come as soon as it has the answer.
        if (conversation !== undefined) await conversations.change(tenant, conversation, { link })
      }),
    ])
  }

  /** The client got no answer: it may ask again. */
  failed(): void {
    this.#dependencies.sessions.failed(this.#input.session)
  }

  /** Logs what came before a break: for people, never for the model, since no client sends it back. */
  recordInterrupted(answer: Answer | undefined, reason: string): void {
    const { background } = this.#dependencies.telemetry
    this.#recorded ??= background.run('answer-interrupted', () =>
      this.#recordInterrupted(answer, reason),
    )
  }

  #recordInterrupted(answer: Answer | undefined, reason: string): Promise<void> {
    const messages = answer?.messages ?? []
    if (answer !== undefined) this.#input.observed?.answered(answer)
    this.failed()
    return this.#keep(async (thread) => {
      const note = {
        role: 'system',
        origin: 'host',
        kind: 'interrupted',
        content: JSON.stringify({ reason, messages }),
        audience: { now: false, later: false, person: true },
      }
      // The numbers of several rounds are not those of the last view.
      await this.#write(thread, {
        messages: [note],
        usage: this.#hiddenSeq === undefined ? answer?.usage : undefined,
      })
    })
  }

  /** Makes a view, and tells of it. */
  async #timed(make: () => Promise<View>, { isNextRound = false } = {}): Promise<View> {
    const { observed, settings, session } = this.#input
    const started = performance.now()
    const view = await make()
    if (observed === undefined) return view
    const { strongest: policySource } = settings
    const ms = performance.now() - started
    observed.viewed(view, { thread: this.thread, policySource, ms, isNextRound })
    this.#dependencies.telemetry.placed(session.family.tenant, observed)
    return view
  }

  #viewOptions(): ViewOptions {
    const { provider, settings, body, model, frame, limitTokens } = this.#input
    const { takesCompaction: sendsCompaction, isCompactedOnRequest = false } = this.#input
    const { value } = this.#body
    const { policy } = settings
    const candidate = this.#offer === undefined ? this.#candidate : undefined
    return {
      format: provider.name,
      ...(candidate && { expand: offerOf(provider, candidate) }),
      // The tool is a part of the frame.
      frame: value === body.value ? frame : provider.request.frame(value),
      threadPolicy: isCompactedOnRequest ? onlyOnRequest(policy) : policy,
      sendsCompaction,
      policyOf: settings.isOwn ? 'request' : 'thread',
      ...(model === undefined ? {} : { model }),
      ...(limitTokens === undefined || !this.#isLimited ? {} : { limit: limitTokens }),
      ...(settings.agent === undefined ? {} : { agentName: settings.agent.name }),
    }
  }

  /** The client's body, with the tools that it gets. */
  get #body(): ClientBody {
    return this.#offer?.body ?? this.#base
  }

  /** The client's body, with the definitions that it carries. */
  get #base(): ClientBody {
    return this.#deferred?.body ?? this.#input.body
  }

  /** The same as if the client had resent what it saw of earlier rounds: the next request has the same bytes. */
  get #resentBody(): ClientBody {
    const { messages: listKey } = this.#input.provider.fields
    const isList = Array.isArray(this.#body.value[listKey])
    if (!isList || this.#resent.length === 0) return this.#body
    return addElements(this.#body, listKey, this.#resent)
  }

  #bodyOf(view: View): Uint8Array {
    this.#view = view
    const { provider, hasCacheHints, body, session } = this.#input
    const { messages, system } = view
    // Of blank messages alone nothing is left that could be sent: the upstream says what is wrong with them.
    const sent = this.#resentBody
    if (messages.length === 0) return sent.bytes
    const { cacheKey } = provider.request
    const isKeyed = hasCacheHints && cacheKey !== undefined && body.value[cacheKey] === undefined
    const own = { sent: provider.request.list(sent.value), format: provider }
    const places = placesOf({ messages, origins: originsIn(view), ...own }, this.#sentAs)
    const edited = this.#edit(view)
    return rewriteBody(sent, provider, {
      messages: edited,
      places: places.map((place, at) =>
        edited[at] === messages[at] ? place : { ...place, isSame: false },
      ),
      system,
      hasReasoning: this.#offer?.hasReasoning,
      hasMarks: hasCacheHints,
      member: isKeyed ? memberOf(cacheKey, `${session.family.tenant}\0${this.thread}`) : undefined,
    })
  }

  /** The messages of a view with the edits that the client asks its provider for. */
  #edit({ messages, tokens }: View): readonly Json[] {
    const { contextEdits: asked, provider } = this.#input
    if (asked === undefined || provider.contextEdits === undefined) return messages
    const around = { inputTokens: tokens.after, count: counter.count }
    const edited = provider.contextEdits.apply(messages, asked, around)
    this.#edited = edited.applied
    return edited.messages
  }

  /** A note for people on what was edited, by the provider or in its place. */
  #noteOnEdits(edits: readonly JsonObject[] = []): readonly Json[] {
    const { contextEdits } = this.#input.provider
    if (edits.length === 0) return []
    const content = JSON.stringify(contextEdits?.answer(edits))
    const audience = { now: false, later: false, person: true }
    return [{ role: 'system', origin: 'host', kind: 'context-edited', content, audience }]
  }

  /** Continues in the branch that has the history. */
  #follow(synced: SyncResult): void {
    this.#branch = synced.branch
    this.#messages = synced.messages
    this.#sentAs = resentIn(synced)
  }

  /** Notes what the client saw of the rounds that it will resend as one, behind its own messages. */
  #willResend(messages: readonly Json[], entries: readonly MessageEntry[]): void {
    const from = this.#input.history.messages.length
    this.#resent.push(...messages)
    this.#hiddenSeqs.push(...entries.map(({ seq }) => seq))
    const own = this.#sentAs.messages.filter((one) => one.from < from)
    const rounds = { from, to: from + this.#resent.length, seqs: this.#hiddenSeqs, isSame: false }
    this.#sentAs = { ...this.#sentAs, messages: [...own, rounds] }
  }

  /** An answer goes right behind what it answers; where something else came in between, into a fork. */
  async #append(thread: Thread, logged: Logged): Promise<Appended> {
    const { name: format } = this.#input.provider
    const isHidden = logged.resentAs !== undefined
    const append = async (branch: Thread): Promise<Appended> => {
      const around = { format, expected: this.#messages }
      const entries = await this.#write(branch, logged, around)
      if (isHidden) this.#hiddenSeq = entries.at(-1)?.seq ?? this.#hiddenSeq
      return { branch, entries }
    }
    try {
      return await append(thread)
    } catch (error) {
      if (!OrielError.is(error, 'unexpected-head')) throw error
    }
    const notResent = this.#hiddenSeq ?? this.#sentSeq
    if (notResent !== undefined) {
      // What the client does not resend is only in the log: the fork keeps it.
      this.#branch = await thread.fork(notResent)
      return append(this.#branch)
    }
    const { history } = this.#input
    if (isHidden) {
      const synced = await thread.sync(history)
      this.#follow(synced)
      return append(synced.branch)
    }
    const { branch } = await thread.sync([...history.messages, ...logged.messages], { format })
    this.#branch = branch
    return { branch, entries: await this.#write(branch, { ...logged, messages: [] }) }
  }

  /** Appends messages with the provider's numbers. Numbers in a shape that nobody knows are not worth a failure. */
  async #write(
    thread: Thread,
    logged: Logged,
    around: AppendOptions = {},
  ): Promise<readonly MessageEntry[]> {
    const { messages, usage: sample, resentAs, response } = logged
    const isPaused = response?.isPaused === true
    // What the provider calls by a name of ours is the provider's.
    const options = { ...around, ownFields: false, isPaused, ...(resentAs && { resentAs }) }
    const isWindow = this.#input.isCompacting === true
    const { format: _, ...neutral } = options
    const add = async (more: AppendOptions): Promise<readonly MessageEntry[]> => {
      const entries = isWindow
        ? await thread.append(this.#asWindow(messages), { ...neutral, ownFields: true, ...more })
        : await thread.append(messages, { ...options, ...more })
      this.#messages += entries.length
      return entries
    }
    const view = this.#view?.id
    if (sample !== undefined && view !== undefined) {
      try {
        return await add({ usage: { sample, view } })
      } catch (error) {
        if (!OrielError.is(error, 'invalid-input')) throw error
      }
    }
    return messages.length > 0 ? add({}) : []
  }

  /** Of a compacted conversation, the log has all but the compaction: of what it stands for, the user's messages stay. */
  #asWindow(items: readonly Json[]): readonly object[] {
    return this.#input.provider.decode(items, 'messages').flatMap(({ draft }) => {
      const { role, content, source } = draft
      return role === 'assistant' ? [{ role, content, source, kind: windowKind }] : []
    })
  }

  /** Writes to the thread after everything that was asked for before. Rejects where the store could not keep it. */
  async #keep(task: (thread: Thread) => Promise<void>): Promise<void> {
    const { session, observed } = this.#input
    const { family } = session
    const { telemetry, changed } = this.#dependencies
    const done = observed?.pending()
    try {
      await family.exclusive(task, { on: this.#branch, isUrgent: true })
      changed(family.tenant, this.thread)
    } catch (error) {
      const code = OrielError.is(error) ? error.code : 'internal'
      const text = `[gateway] An answer could not be logged: ${code}.`
      telemetry.warn('answer-unlogged', { code, thread: this.thread }, text)
      // What is no message, no client sends back; what was erased must not come back.
      if (code !== 'invalid-input' && code !== 'not-found') throw error
    } finally {
      done?.()
    }
  }
}

/** A policy whose compaction waits until it is asked for. */
function onlyOnRequest(policy: Policy): Policy {
  const { compaction } = policy
  return compaction === undefined
    ? policy
    : { ...policy, compaction: { ...compaction, auto: false } }
}

/** What a conversation says that is too short to give way to a summary. */
async function plainSummary(thread: Thread): Promise<string> {
  const said: string[] = []
  for await (const { role, text = '' } of thread.read()) said.push(`${role}: ${text}`)
  return said.join('\n') || 'Nothing was said yet.'
}

/** What the user said, as items of the Responses. */
async function usersOf(thread: Thread): Promise<readonly Json[]> {
  const items: Json[] = []
  for await (const { role, id, text = '' } of thread.read()) {
    if (role !== 'user') continue
    const content = [{ type: 'input_text', text }]
    items.push({ id: `msg_${id}`, type: 'message', role, status: 'completed', content })
  }
  return items
}

/** A field with a key for the provider's cache, the same for the same thread. Nobody can read the name of the thread from it. */
function memberOf(field: string, thread: string): string {
  return `${JSON.stringify(field)}:"oriel-${hash('sha256', thread).slice(0, 32)}",`
}
