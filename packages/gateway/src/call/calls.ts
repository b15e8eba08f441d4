// The model endpoints: from a client's request to the upstream's answer.

import { isContextLengthError, type Json, OrielError, type ReadHistory, readHistory } from 'oriel'
import { compactionIn } from 'oriel/internal'
import { isApiPath, modelOf, type Provider, streamTexts, type WrittenAnswer } from 'oriel/providers'
import type { Background } from '../background.ts'
import { expandCall } from '../expansion/expand-call.ts'
import { ToolRefusals } from '../expansion/tool-refusals.ts'
import type { Caller } from '../http/auth.ts'
import {
  type Upstream,
  type UpstreamAnswer,
  type UpstreamRequest,
  upstreamFor,
} from '../http/client.ts'
import { codingOf, decodedAnswer, decodedBytes, headerOf } from '../http/decompress.ts'
import { RefusedError, refusalOf, refuse } from '../http/errors.ts'
import type { WritableHeaders } from '../http/header-list.ts'
import { requestHeaders, responseHeaders } from '../http/headers.ts'
import { type Ending, readWhole, relayBody } from '../http/relay.ts'
import { foreignQuery, queryOf, readBytes } from '../http/request.ts'
import { hasNoBody, type RelayedReply } from '../http/response.ts'
import { forUpstream, pathForUpstream } from '../http/upstream-body.ts'
import type { Reservation } from '../limits/memory-budget.ts'
import type { OverloadDetector } from '../limits/overload.ts'
import type { LargeCalls } from '../offload/large-calls.ts'
import type { ExpandMode, Limits } from '../options.ts'
import type { RequestSettings, SettingsResolver } from '../settings/resolve.ts'
import type { ObservedCall } from '../telemetry/observed-call.ts'
import type { ChainLink } from '../threads/response-chain.ts'
import type { Tenants } from '../threads/tenants.ts'
import { type AnswerReader, createReader } from './answer-reader.ts'
import { BodyCache } from './body-cache.ts'
import { type ClientBody, type KnownBody, parseBody } from './client-body.ts'
import { type ManagedContext, managedContext, withSummaryAsText } from './context-management.ts'
import { withoutMembers } from './json-outline.ts'
import type { LearnedLimits } from './learned-limits.ts'
import { ManagedCall, type ManagedDependencies, type ManagedInput } from './managed-call.ts'
import { isObject } from './rewrite.ts'
import { openStream } from './stream-opening.ts'

export interface CallsOptions extends ManagedDependencies {
  readonly settings: SettingsResolver
  readonly upstreams: readonly Upstream[]
  readonly limits: Limits
  readonly via: string
  readonly isManaging: boolean
  readonly pressure: OverloadDetector
  /** When models get the tool for originals. */
  readonly expand: ExpandMode
  readonly tenants: Tenants
  readonly learned: LearnedLimits
  readonly now: () => number
  /** The worker thread for large bodies. */
  readonly largeCalls: LargeCalls | undefined
}

export interface CallRequest {
  readonly request: Request
  readonly url: URL
  readonly caller: Caller
  /** Words of a header that the upstream is not sent. @default all are sent */
  readonly without?: { readonly header: string; readonly values: readonly string[] } | undefined
  /** The path to ask the upstream for. @default the request's */
  readonly path?: string | undefined
  /** For the body of the request. */
  readonly room: Reservation
  /** For later rounds of a request: ends what is asked, beside the request's own signal. */
  readonly leaving?: AbortSignal
  /** Whether it asks for a compaction of the conversation, and for no answer to it. @default false */
  readonly isCompacting?: boolean
  /** What telemetry is told of a model call. */
  readonly observed?: ObservedCall
}

/** The statuses with which servers refuse a request that is too long. Some say 500 where the client is at fault. */
const refusingStatuses = new Set([400, 413, 422, 500])
/** Those with which they refuse a request because of its tools: some answer that there is no such model, or no such feature. */
const toolStatuses = new Set([400, 404, 422, 500, 501])

/** Errors of upstreams are read whole up to this size; longer ones are passed on unread. */
const maxErrorBytes = 1024 * 1024

export class Calls {
  readonly #options: CallsOptions
  readonly #bodies: BodyCache
  readonly #toolRefusals: ToolRefusals

  constructor(options: CallsOptions) {
    this.#options = options
    this.#bodies = new BodyCache(options.limits.knownBytes)
    this.#toolRefusals = new ToolRefusals(options.now)
  }

  get #background(): Background {
    return this.#options.telemetry.background
  }

  /** A thread was erased: nothing of it is remembered here. */
  forget(tenant: string, thread: string): void {
    this.#options.sessions.forget(tenant, thread)
    this.#options.chain.forget(tenant, thread)
    this.#bodies.forget(`${tenant}\0`)
    this.#options.largeCalls?.forget(tenant, thread)
  }

  /** The worker thread's answer to a request with a large body; undefined where this thread is to answer. */
  offload(request: Request, bytes: Uint8Array): Promise<RelayedReply> | undefined {
    const { largeCalls, limits } = this.#options
    const isLarge = largeCalls !== undefined && bytes.length >= limits.largeBytes
    return isLarge ? largeCalls.call(request, bytes) : undefined
  }

  /** Ends the worker thread for large bodies, when its writes are done. */
  async close(): Promise<void> {
    await this.#options.largeCalls?.close()
  }

  /** Anything else of an upstream: passed on as it is. */
  async pass(call: CallRequest, bytes?: Uint8Array): Promise<RelayedReply> {
    const { request } = call
    const hasBody = request.method !== 'GET' && request.method !== 'HEAD'
    const body = bytes ?? (hasBody ? await readBytes(call, this.#options.limits) : undefined)
    const upstream = this.#upstreamFor(undefined, undefined)
    const answer = await upstream.send(this.#outgoing(call, body))
    return this.#unmanaged(call, answer)
  }

  /** A model call. */
  async call(came: CallRequest, provider: Provider): Promise<RelayedReply> {
    const { limits, isManaging } = this.#options
    const bytes = await readBytes(came, limits)
    const startedMs = performance.now()
    const wantsOff = came.request.headers.get('x-oriel-management') === 'off'
    const isOff = wantsOff && this.#options.settings.mayTurnOff(came.caller)
    if (!isManaging || isOff) {
      came.observed?.passed(bytes, this.#upstreamFor(undefined, undefined).name)
      return this.pass(came, bytes)
    }
    const offloaded = await this.offload(came.request, bytes)
    if (offloaded !== undefined) {
      came.observed?.delegate()
      return offloaded
    }
    const scope = `${came.caller.tenant}\0${provider.name}`
    const found = this.#bodies.parse(scope, bytes, limits)
    const parsed = found.body
    const settings = await this.settingsOf(came, parsed, provider)
    const path = pathForUpstream(provider, came.url.pathname, settings)
    const asking = { ...came, path }
    const sent = forUpstream(parsed, settings, { hasModel: path === undefined })
    const goesOnFrom = await this.#goesOnFrom(asking, sent, provider)
    const whole = goesOnFrom?.body ?? sent
    const model = modelOf(provider, whole.value, path ?? came.url.pathname)
    const upstream = this.#upstreamFor(model, settings.agent?.template.upstream)
    const { isCompacting = false } = came
    const context = managedContext(whole, provider, { upstream, isCompacting })
    if (isCompacting && context.compaction !== undefined && model === undefined)
      throw refuse(400, 'invalid-input', "Missing required parameter: 'model'.")
    const isEdited = context.body !== whole
    const call = { ...asking, without: isEdited ? provider.contextEdits?.flags : undefined }
    const { body, link } = await this.#atCompaction(call, context, provider)
    call.observed?.asked(body.value, upstream.name)
    const history = provider.request.history(body.value)
    if (history === undefined || history.length === 0) {
      return this.#unmanaged(call, await upstream.send(this.#outgoing(asking, sent.bytes)))
    }
    if (history.length > limits.messages) {
      throw refuse(413, 'too-large', `The request holds more than ${limits.messages} messages.`)
    }
    const { previous } = found
    const read = this.#read(history, provider, body === parsed ? previous : undefined)
    const hasCacheHints = upstream.wantsCacheHints
    const expand = isCompacting ? false : this.expandMode(settings)
    const frame = provider.request.frame(body.value)
    const { learned } = this.#options
    await learned.ready()
    const limitTokens = learned.of(upstream.name, model ?? '')
    const takesTools = !isCompacting && !this.#toolRefusals.has(upstream.name, model ?? '')
    const known = { hasCacheHints, expand, takesTools, limitTokens }
    const { edits: contextEdits, compaction, isCompactedOnRequest, takesCompaction } = context
    const managing = { contextEdits, compaction, isCompactedOnRequest, takesCompaction }
    const around = { provider, body, model, frame, settings, ...managing, isCompacting, ...known }
    const input = read && { ...around, goesOnFrom, history: read, observed: call.observed }
    const managed = input && (await this.#manage(call, input, link))
    if (input === undefined || managed === undefined) {
      return this.#unmanaged(call, await upstream.send(this.#outgoing(asking, sent.bytes)))
    }
    this.#options.pressure.noteDuration(performance.now() - startedMs)
    if (body === parsed && this.#bodies.keeps(body)) {
      const keeping = { listKey: provider.fields.messages, history: input.history }
      const keep = (): void => this.#bodies.keep(scope, found, keeping)
      setImmediate(this.#background.callback('known-bodies', keep))
    }
    const answer = await this.#answerTo(call, upstream, { ...managed, body })
    return this.#relay(call, { ...managed, provider, settings, answer })
  }

  /** The answer to a request: made here, or the upstream's, in which calls to our own tools are answered. */
  async #answerTo(
    call: CallRequest,
    upstream: Upstream,
    { body, ...prepared }: Prepared & { readonly body: ClientBody },
  ): Promise<UpstreamAnswer> {
    const { managed } = prepared
    const { provider, ownAnswer, model } = managed
    if (ownAnswer !== undefined) {
      const isStream = provider.request.isStreaming(body.value, call.url.pathname)
      return madeAnswer(ownAnswer, isStream)
    }
    const { learned, limits, now } = this.#options
    const asked = await this.#ask(call, upstream, prepared)
    if (!managed.isLimited) learned.forget(upstream.name, model)
    const { offer } = managed
    if (offer === undefined) return asked
    return expandCall(decodedAnswer(asked), offer, {
      ...{ call: managed, provider, limits, now },
      signal: call.request.signal,
      send: async (text, leaving) =>
        decodedAnswer(await this.#ask({ ...call, leaving }, upstream, { ...prepared, text })),
    })
  }

  /** The answer that a request continues from, if this gateway gave it, and the request's body without its reference. */
  async #goesOnFrom(
    { caller }: CallRequest,
    body: ClientBody,
    { request }: Provider,
  ): Promise<Continued | undefined> {
    const { key = '' } = request.stored ?? {}
    const id = body.value[key]
    const members = body.outline.members.get(key)
    if (typeof id !== 'string' || members === undefined) return undefined
    const link = await this.#options.chain.find(caller.tenant, id)
    if (link === undefined) return undefined
    const text = withoutMembers(body.text, members)
    return { id, link, body: parseBody(Buffer.from(text), { depth: Infinity, nodes: Infinity }) }
  }

  /**
   * The place of the newest compaction in a history, if this gateway gave it. What is unknown here and cannot be sent as it is, goes as
   * text.
   */
  async #atCompaction(
    { caller }: CallRequest,
    { body, takesCompaction }: ManagedContext,
    provider: Provider,
  ): Promise<{ readonly body: ClientBody; readonly link?: ChainLink | undefined }> {
    // Most requests have none, and their messages are read once.
    if (provider.compaction === undefined || !body.text.includes('"compaction"')) return { body }
    const history = provider.request.history(body.value)
    const read = history && this.#read(history, provider, undefined)
    const key = read && compactionIn(read)
    if (key === undefined) return { body }
    const link = await this.#options.chain.findCompaction(caller.tenant, key)
    if (link !== undefined || takesCompaction) return { body, link }
    return { body: withSummaryAsText(body, provider) ?? body }
  }

  /** When models get the tool for originals: the agent's word, else the gateway's. */
  expandMode({ agent }: RequestSettings): ExpandMode {
    const own = agent?.template.expand
    // Templates come from files: anything else than a word on it is none.
    return typeof own === 'boolean' || own === 'auto' ? own : this.#options.expand
  }

  async settingsOf(
    { url, request, caller }: Pick<CallRequest, 'url' | 'request' | 'caller'>,
    body: ClientBody,
    provider: Provider,
  ): Promise<RequestSettings> {
    const { settings } = this.#options
    const own = policyIn(body.value.oriel)
    const asked = {
      query: queryOf(url),
      headers: request.headers,
      model: modelOf(provider, body.value, url.pathname),
      caller,
      ...(own === undefined ? {} : { body: own }),
    }
    const reading = settings.ready(asked)
    if (reading !== undefined) await reading
    return settings.resolve(asked)
  }

  /** The history; undefined where it is none that Oriel can read: then the upstream says what is wrong with it. */
  #read(
    history: readonly Json[],
    provider: Provider,
    previous: KnownBody | undefined,
  ): ReadHistory | undefined {
    const { name: format } = provider
    try {
      return readHistory(history, { format, previous: previous?.history })
    } catch (error) {
      return this.#foreign(error, provider)
    }
  }

  #foreign(error: unknown, { name: format }: Provider): undefined {
    const isForeign =
      OrielError.is(error, 'invalid-input') || OrielError.is(error, 'cannot-project')
    if (!isForeign) throw error
    const text = `[gateway] Passed on unmanaged: ${error.code}${error.path ? ` at ${error.path}` : ''}.`
    this.#options.telemetry.warn('unmanaged', { code: error.code, route: format }, text)
    return undefined
  }

  /** Undefined where the history cannot be shown: then the upstream says what is wrong with it. */
  async #manage(
    { request, caller }: CallRequest,
    parts: Omit<ManagedInput, 'session'>,
    compacted: ChainLink | undefined,
  ): Promise<Prepared | undefined> {
    const { provider, body, frame, history } = parts
    const { sessions } = this.#options
    try {
      const { tenant } = caller
      const asked = { tenant, headers: request.headers, body: body.value, history, frame }
      const { goesOnFrom } = parts
      const link = goesOnFrom?.link ?? compacted
      const session =
        link === undefined ? await sessions.resolve(asked) : sessions.at(link.thread, asked)
      this.#options.tenants.note(caller.tenant, this.#options.now())
      return await this.#prepare({ ...parts, session }).catch((error) => {
        if (!OrielError.is(error, 'not-found')) throw error
        // What came before is gone here: the provider may have it.
        if (goesOnFrom !== undefined) return undefined
        return this.#prepare({ ...parts, session: sessions.renew(session) })
      })
    } catch (error) {
      return this.#foreign(error, provider)
    }
  }

  async #prepare(input: ManagedInput): Promise<Prepared> {
    const managed = new ManagedCall(input, this.#options)
    const text = await managed.prepare()
    this.#options.sessions.weigh(input.session, input.body.bytes.length)
    return { managed, text }
  }

  /** Asks the upstream; a request that is too long is made smaller and asked once more. */
  async #ask(
    call: CallRequest,
    upstream: Upstream,
    { managed, text }: Prepared,
  ): Promise<UpstreamAnswer> {
    const first = await this.#attempt(call, upstream, { managed, text })
    const asked = (await this.#withoutTool(call, upstream, { managed, first })) ?? first
    const { answer: refused, error } = asked
    if (error === undefined) return refused
    for (const way of ['recover', 'retract'] as const) {
      const isRecovery = way === 'recover'
      const smaller = await (isRecovery ? managed.recover(error) : managed.retractResults())
      if (call.request.signal.aborted) return refused
      if (smaller === undefined) continue
      const again = await this.#attempt(call, upstream, { managed, text: smaller })
      if (again.error === undefined && again.answer.status < 400) {
        refused.cancel()
        const { model, recoveredTokens } = managed
        if (isRecovery && recoveredTokens !== undefined)
          this.#options.learned.learn(upstream.name, model, recoveredTokens)
        return again.answer
      }
      again.answer.cancel()
      if (!refusingStatuses.has(again.answer.status) && again.error === undefined) return refused
    }
    return refused
  }

  /**
   * Asks again without the tool where the upstream seems to refuse a request because of it: not every model takes tools, and the client may
   * have none. What comes then is the answer, whatever it is. Undefined where there is another reason.
   */
  async #withoutTool(
    call: CallRequest,
    upstream: Upstream,
    { managed, first }: { readonly managed: ManagedCall; readonly first: Attempt },
  ): Promise<Attempt | undefined> {
    const { answer, error, refusal = '' } = first
    const isAboutTools = toolStatuses.has(answer.status) && /tool|function/i.test(refusal)
    if (error !== undefined || !isAboutTools || call.request.signal.aborted) return undefined
    const text = await managed.withoutTool()
    if (text === undefined) return undefined
    answer.cancel()
    const again = await this.#attempt(call, upstream, { managed, text })
    if (again.answer.status < 400) this.#toolRefusals.note(upstream.name, managed.model)
    return again
  }

  /** Sends a request once. The error is there only where the upstream refused it as too long, by its status or in its stream. */
  async #attempt(call: CallRequest, upstream: Upstream, prepared: Prepared): Promise<Attempt> {
    const came = await this.#send(call, upstream, prepared)
    if (!refusingStatuses.has(came.status) && !toolStatuses.has(came.status)) {
      const { answer, error } = await openStream(came, prepared.managed.provider)
      const refusal = { status: 400, body: JSON.stringify(error ?? null) }
      return isContextLengthError(refusal) ? { answer, error: refusal } : { answer }
    }
    const bytes = await readWhole(came, maxErrorBytes)
    if (bytes === undefined)
      throw refuse(502, 'upstream-failed', 'The upstream refused with an answer that is too large.')
    const answer = { ...came, body: once(bytes) }
    const coding = codingOf(headerOf(came, 'content-encoding'))
    const plain = decodedBytes(bytes, { coding, maxBytes: maxErrorBytes })
    const error = { status: came.status, body: Buffer.from(plain).toString() }
    const isTooLong = refusingStatuses.has(came.status) && isContextLengthError(error)
    return isTooLong ? { answer, error } : { answer, refusal: error.body }
  }

  async #send(
    call: CallRequest,
    upstream: Upstream,
    { managed, text }: Prepared,
  ): Promise<UpstreamAnswer> {
    try {
      return await upstream.send(this.#outgoing(call, text))
    } catch (error) {
      // Nothing was asked: there is nothing to note for people, and under load nothing to spare for it.
      if (refusalOf(error).code === 'upstream-busy') managed.failed()
      else {
        const isLeft = call.request.signal.aborted
        managed.recordInterrupted(undefined, isLeft ? 'client-left' : 'upstream-broke')
      }
      throw error
    }
  }

  #relay(
    call: CallRequest,
    parts: Prepared & { provider: Provider; settings: RequestSettings; answer: UpstreamAnswer },
  ): RelayedReply {
    const { managed, provider, settings, answer } = parts
    const headers = responseHeaders(answer.headers)
    describe(headers, managed, settings, call)
    const isGood = answer.status >= 200 && answer.status < 300
    if (answer.status >= 400) managed.failed()
    if (hasNoBody(answer.status)) return bare(call, answer, headers)
    const { limits } = this.#options
    const reader = createReader(provider, {
      headers,
      maxBytes: limits.answerBytes,
      reserve: (bytes) => call.room.grow(bytes),
    })
    const isWhole = /^application\/json\b/i.test(headers.get('content-type') ?? '')
    const body = relayBody(answer, {
      limits,
      background: this.#background,
      signal: call.request.signal,
      isWhole,
      // The client does not see the end of an answer before the log has it.
      onChunk(chunk) {
        call.observed?.chunk()
        if (!isGood) return
        const record = (): Promise<void> | undefined =>
          reader.isOver ? managed.record(reader.answer()) : undefined
        const taken = reader.take(chunk)
        return taken === undefined ? record() : taken.then(record)
      },
      onEnd: (ending: Ending) => {
        if (!isGood) return call.observed?.ended(answer.status, ending)
        const record = (): Promise<void> | undefined =>
          this.#ended(call, { managed, reader, ending, status: answer.status })
        if (ending === 'complete') {
          const read = reader.end()
          return read === undefined ? record() : read.then(record)
        }
        reader.close()
        // Where nobody reads on, the relay reports what fails here.
        return record()
      },
    })
    return { status: answer.status, headers, relayed: body, isWhole }
  }

  /** Logs an answer that is over. Resolves when an answer that came whole is kept. */
  #ended(
    call: CallRequest,
    parts: {
      readonly managed: ManagedCall
      readonly reader: AnswerReader
      readonly ending: Ending
      readonly status: number
    },
  ): Promise<void> | undefined {
    const { managed, reader, ending, status } = parts
    const { problem } = reader
    if (problem !== undefined) {
      const text = `[gateway] An answer was passed on, but not logged whole: ${problem}.`
      const fields = { code: problem, thread: managed.thread }
      this.#options.telemetry.warn('answer-truncated', fields, text)
      managed.recordInterrupted(reader.answer(), ending === 'complete' ? problem : ending)
      call.observed?.ended(status, ending)
      return undefined
    }
    // A client that sees its answer cut takes nothing of it, even if only the last mark is missing.
    const isWhole = ending === 'upstream-broke' ? reader.isOver : reader.isComplete
    if (!isWhole) {
      const reason = ending === 'complete' ? 'cut-short' : ending
      managed.recordInterrupted(reader.answer(), reason)
      call.observed?.ended(status, reason)
      return undefined
    }
    const kept = managed.record(reader.answer())
    call.observed?.whole(status, kept)
    return kept
  }

  #unmanaged(call: CallRequest, answer: UpstreamAnswer): RelayedReply {
    const headers = responseHeaders(answer.headers)
    headers.set('x-oriel-managed', 'false')
    call.observed?.unmanaged()
    const { limits } = this.#options
    const { status } = answer
    const quiet = {
      limits,
      background: this.#background,
      signal: call.request.signal,
      onChunk: () => call.observed?.chunk(),
      onEnd: (ending: Ending) => call.observed?.ended(status, ending),
    }
    if (hasNoBody(status) || call.request.method === 'HEAD') return bare(call, answer, headers)
    return { status: answer.status, headers, relayed: relayBody(answer, quiet) }
  }

  #outgoing(
    { request, url, path = url.pathname, caller, leaving, observed, without }: CallRequest,
    body: string | Uint8Array | undefined,
  ): UpstreamRequest {
    // No way leads out of what upstreams are asked for.
    if (!isApiPath(url.pathname)) throw refuse(404, 'not-found', 'There is nothing here.')
    const { via } = this.#options
    const all = requestHeaders(request.headers, { via, keyHeaders: caller.keyHeaders, without })
    // A key that makes a request unrepeatable is for the first round: another one is another request.
    const isLaterRound = leaving !== undefined
    const headers = isLaterRound ? all.filter(([name]) => name !== 'idempotency-key') : all
    return {
      method: request.method,
      path: path + foreignQuery(url),
      headers: observed?.sent(headers) ?? headers,
      body,
      tenant: caller.tenant,
      signal: leaving === undefined ? request.signal : AbortSignal.any([request.signal, leaving]),
    }
  }

  #upstreamFor(model: string | undefined, name: string | undefined): Upstream {
    const { upstreams } = this.#options
    const found = upstreams.find((one) => one.name === name) ?? upstreamFor(upstreams, model ?? '')
    if (found === undefined) throw new RefusedError(noUpstream)
    return found
  }
}

/** What a request continues from. */
interface Continued {
  readonly id: string
  readonly link: ChainLink
  /** The client's body without the reference. */
  readonly body: ClientBody
}

const noUpstream = { status: 503, code: 'no-upstream', message: 'No upstream is configured.' }

/** What came of one request: the answer to pass on, and why the upstream refused it as too long. */
interface Attempt {
  readonly answer: UpstreamAnswer
  readonly error?: { readonly status: number; readonly body: string }
  /** What the upstream said where it refused the request for another reason. */
  readonly refusal?: string
}

interface Prepared {
  readonly managed: ManagedCall
  /** The body to send. */
  readonly text: string | Uint8Array
}

/** Tells the client what was done. */
function describe(
  headers: WritableHeaders,
  managed: ManagedCall,
  settings: RequestSettings,
  { request, url }: CallRequest,
): void {
  const { view, thread } = managed
  headers.set('x-oriel-thread', thread)
  if (managed.deferredCount !== undefined)
    headers.set('x-oriel-tools-deferred', String(managed.deferredCount))
  if (managed.edited !== undefined)
    headers.set('x-oriel-context-edits', String(managed.edited.length))
  if (managed.isCompacted) headers.set('x-oriel-compacted', 'true')
  if (managed.expansions > 0) headers.set('x-oriel-expansions', String(managed.expansions))
  if (view !== undefined) {
    headers.set('x-oriel-epoch', view.epoch.id)
    headers.set('x-oriel-tokens-before', String(view.tokens.before))
    headers.set('x-oriel-tokens-after', String(view.tokens.after))
  }
  if (settings.warnings.length > 0)
    headers.set('x-oriel-warnings', ascii(settings.warnings.join(' ')))
  const isDebugging =
    request.headers.get('x-oriel-debug') === 'true' || queryOf(url).get('debug') === 'true'
  if (isDebugging) headers.set('x-oriel-sources', ascii(JSON.stringify(settings.sources)))
}

/** The policy in a body's own field, which has nothing else. */
function policyIn(oriel: unknown): unknown {
  if (oriel === undefined) return undefined
  const unknown = isObject(oriel) ? Object.keys(oriel).find((name) => name !== 'policy') : ''
  if (isObject(oriel) && unknown === undefined) return oriel.policy
  const what = unknown === '' ? 'oriel must be an object' : `There is no oriel.${unknown}`
  throw refuse(400, 'invalid-setting', `${what.slice(0, 100)}; it takes { policy }.`)
}

/** Headers carry ASCII only. */
function ascii(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?').slice(0, 4000)
}

/** An answer without a body. */
function bare(
  { observed }: CallRequest,
  answer: UpstreamAnswer,
  headers: WritableHeaders,
): RelayedReply {
  answer.cancel()
  observed?.ended(answer.status, 'complete')
  return { status: answer.status, headers, relayed: undefined }
}

/** An answer that was made here, as if an upstream had given it. */
function madeAnswer(answer: WrittenAnswer, isStream: boolean): UpstreamAnswer {
  const type = isStream ? 'text/event-stream; charset=utf-8' : 'application/json'
  const text = isStream ? streamTexts(answer).join('') : JSON.stringify(answer.body)
  return {
    status: 200,
    headers: [['content-type', type]],
    body: once(Buffer.from(text)),
    cancel() {},
  }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}
