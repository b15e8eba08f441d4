// Telemetry of one model call: collects its events in order, for metrics, span and log.

import type { Attributes } from '@opentelemetry/api'
import { type JsonObject, readUsage, type ThreadEvent, type Usage, type View } from 'oriel'
import { dollarsOfBreak, dollarsSaved } from 'oriel/inspect'
import { type Answer, modelOf, type Provider, type ResponseFacts } from 'oriel/providers'
import { isObject } from '../call/rewrite.ts'
import { boundedOutline, pathOf } from '../http/request.ts'
import { defaultLimits } from '../options.ts'
import { CallSpan, hostTracer, nameLike } from './call-span.ts'
import type { RouteName } from './definitions.ts'
import type { Meters } from './meters.ts'

export interface CallStart {
  readonly request: Request
  readonly provider: Provider
  readonly meters: Meters
  /** Called when the call has ended and everything is recorded. */
  readonly over: (call: ObservedCall) => void
}

/**
 * How an answer ended. `refused`: the gateway rejected the call; `unlogged`: it was aborted because
 * the store failed.
 */
export type CallEnding = 'complete' | 'refused' | Broken

type Broken = 'client-left' | 'upstream-broke' | 'cut-short' | 'unlogged'

export interface ViewedFacts {
  readonly thread: string
  /** The layer that the policy came from. */
  readonly policySource: string
  readonly ms: number
  /** The previous view was answered, and this one continues it. */
  readonly isNextRound: boolean
}

export class ObservedCall {
  readonly format: RouteName
  /** The request id, if assigned. */
  id: string | undefined
  /** Key of the call's tenant and thread. */
  place = ''
  readonly #start: CallStart
  readonly #startedAt = Date.now()
  readonly #started = performance.now()
  #span: CallSpan | undefined
  #model = 'other'
  #isStream = false
  #thread = ''
  #view: View | undefined
  #sentAt = 0
  #rounds = 0
  #firstMs: number | undefined
  #usage: Usage | undefined
  #details: JsonObject | undefined
  #response: ResponseFacts = {}
  #expansions = 0
  #break: string | undefined
  #pending = 0
  #end: { readonly ms: number; readonly status: number; readonly errorType?: string } | undefined

  constructor(start: CallStart) {
    this.#start = start
    this.format = start.provider.name
    start.meters.refresh()
    start.meters.record('active', 1)
  }

  /** True if the worker thread tells everything of it. */
  isDelegated = false

  /** The worker thread answers it. */
  delegate(): void {
    this.isDelegated = true
    this.#start.meters.record('active', -1)
  }

  get thread(): string {
    return this.#thread
  }

  get ms(): number {
    return this.#end?.ms ?? 0
  }

  get status(): number {
    return this.#end?.status ?? 0
  }

  get errorType(): string | undefined {
    return this.#end?.errorType
  }

  get tokens(): View['tokens'] | undefined {
    return this.#view?.tokens
  }

  /** The body was parsed. */
  asked(body: JsonObject, upstream: string): void {
    const { provider, request } = this.#start
    const path = pathOf(request)
    const model = nameLike(modelOf(provider, body, path))
    this.#model = model ?? 'other'
    this.#isStream = provider.request.isStreaming(body, path)
    if (hostTracer() === undefined) return
    const maxTokens = provider.request.maxTokens(body)
    this.#span = this.#open({
      ...(model === undefined ? {} : { 'gen_ai.request.model': model }),
      ...(typeof maxTokens === 'number' ? { 'gen_ai.request.max_tokens': maxTokens } : {}),
      ...(this.#isStream ? { 'gen_ai.request.stream': true } : {}),
      'oriel.upstream': upstream,
    })
  }

  /** The history is not managed. */
  unmanaged(): void {
    this.#span?.set({ 'oriel.managed': false })
  }

  /** An unmanaged call. Its body is parsed only for a trace. */
  passed(bytes: Uint8Array, upstream: string): void {
    this.asked(hostTracer() === undefined ? {} : readObject(bytes), upstream)
  }

  /**
   * A view was built: initially, again after a context length error, and for each round of an
   * expansion.
   */
  viewed(view: View, { thread, policySource, ms, isNextRound }: ViewedFacts): void {
    const { meters } = this.#start
    if (isNextRound) this.#count()
    const { tokens, epoch } = view
    this.#thread = thread
    this.#view = view
    meters.record('projection', ms / 1000)
    if (epoch.applied > 0) {
      meters.record('epochs', 1, [epoch.cause])
      meters.record('edits', epoch.applied)
    }
    const span = this.#span
    if (span?.isRecording !== true) return
    // Content that was never for the model has 0 tokens and is not missing.
    const isCompacted = view.trace.some(
      ({ form, tokensBefore }) => form !== 'full' && tokensBefore > 0,
    )
    span.set({
      'gen_ai.conversation.id': thread,
      // By convention: true or absent.
      ...(isCompacted ? { 'gen_ai.conversation.compacted': true } : {}),
      'oriel.managed': true,
      'oriel.tokens.before': tokens.before,
      'oriel.tokens.after': tokens.after,
      ...(epoch.id === '' ? {} : { 'oriel.epoch.id': epoch.id }),
      'oriel.epoch.applied': epoch.applied,
      'oriel.epoch.cause': epoch.cause,
      'oriel.projection.duration_ms': ms,
      'oriel.policy.source': policySource,
    })
  }

  /** A request is sent upstream with these headers. */
  sent(headers: readonly (readonly [string, string])[]): readonly (readonly [string, string])[] {
    this.#sentAt = performance.now()
    this.#rounds += 1
    if (this.#rounds === 1) {
      this.#start.meters.record('overhead', (this.#sentAt - this.#started) / 1000, [this.format])
    }
    return this.#span?.inject(headers) ?? headers
  }

  /** A chunk of the answer arrived. */
  chunk(): void {
    this.#firstMs ??= performance.now() - this.#sentAt
  }

  /** The parsed answer, complete or not. */
  answered({ usage, response }: Answer): void {
    this.#response = response ?? {}
    this.#details = usage
    try {
      this.#usage = usage === undefined ? undefined : readUsage(usage)
    } catch {
      // Ignore usage in an unknown shape.
    }
  }

  /** Something is still being recorded. Call the returned function when it is done. */
  pending(): () => void {
    this.#pending += 1
    return () => {
      this.#pending -= 1
      this.#finish()
    }
  }

  /** An event in the thread of this call. */
  happened({ type, reason, tokensLost = 0 }: ThreadEvent): void {
    if (type === 'message-expanded') this.#expansions += 1
    if (type !== 'cache-broken') return
    this.#break = reason
    if (reason !== 'edit') return
    const dollars = dollarsOfBreak(tokensLost, this.#model)
    if (dollars !== undefined) this.#start.meters.record('costOfBreaks', dollars, [this.#label])
  }

  /** The answer is complete. The call ends once it is stored. */
  whole(status: number, kept: Promise<void>): void {
    kept.then(
      () => this.ended(status, 'complete'),
      () => this.ended(status, 'unlogged'),
    )
  }

  /** The call has ended. `code` is set if the gateway rejected it. */
  ended(status: number, ending: CallEnding, code?: string): void {
    if (this.#end !== undefined) return
    const ms = performance.now() - this.#started
    const errorType = errorTypeOf(status, ending, code)
    this.#end = { ms, status, ...(errorType === undefined ? {} : { errorType }) }
    this.#measure(ms, status, ending)
    this.#finish()
  }

  #measure(ms: number, status: number, ending: CallEnding): void {
    const { meters } = this.#start
    if (status > 0 && status < 400) meters.models.answered(this.#model)
    const labels = ['chat', this.#provider, this.#label]
    meters.record('active', -1)
    meters.record('duration', ms / 1000, [...labels, errorLabel(status, ending)])
    if (ending !== 'complete' && ending !== 'refused') meters.record('interrupted', 1, [ending])
    if (this.#isStream && this.#firstMs !== undefined) {
      meters.record('firstChunk', this.#firstMs / 1000, labels)
    }
    if (this.#usage !== undefined) {
      meters.record('usage', inputOf(this.#usage), [...labels, 'input'])
      meters.record('usage', this.#usage.output, [...labels, 'output'])
    }
    if (status < 400) this.#count()
  }

  /** The model's label in metrics. */
  get #label(): string {
    return this.#start.meters.models.labelOf(this.#model)
  }

  /** Counts the savings of the newest view, once it is answered. */
  #count(): void {
    if (this.#view === undefined) return
    const { meters } = this.#start
    meters.models.answered(this.#model)
    const { before, after } = this.#view.tokens
    const saved = Math.max(0, before - after)
    meters.record('tokensSent', after, [this.#label])
    meters.record('tokensSaved', saved, [this.#label])
    const dollars = saved === 0 ? undefined : dollarsSaved(saved, this.#model)
    if (dollars !== undefined) meters.record('costSaved', dollars, [this.#label])
  }

  #finish(): void {
    if (this.#pending > 0 || this.#end === undefined) return
    const { ms, errorType } = this.#end
    // A call rejected before its body was parsed has a span, too.
    const span = this.#span ?? this.#open({})
    if (span?.isRecording === true) span.set(this.#results())
    span?.end(this.#startedAt + ms, errorType)
    this.#start.over(this)
  }

  #results(): Attributes {
    const { id, model, finish } = this.#response
    const [responseId, responseModel] = [nameLike(id, 200), nameLike(model)]
    const reason = this.#end?.errorType === undefined ? nameLike(finish) : 'error'
    const usage = this.#usage
    const { provider } = this.#start
    const reasoning = this.#details && provider.usage.reasoning(this.#details)
    return {
      ...(this.#end === undefined || this.#end.status === 0
        ? {}
        : { 'http.response.status_code': this.#end.status }),
      ...(responseId === undefined ? {} : { 'gen_ai.response.id': responseId }),
      ...(responseModel === undefined ? {} : { 'gen_ai.response.model': responseModel }),
      ...(reason === undefined ? {} : { 'gen_ai.response.finish_reasons': [reason] }),
      ...(this.#isStream && this.#firstMs !== undefined
        ? { 'gen_ai.response.time_to_first_chunk': this.#firstMs / 1000 }
        : {}),
      ...(usage === undefined
        ? {}
        : {
            'gen_ai.usage.input_tokens': inputOf(usage),
            'gen_ai.usage.output_tokens': usage.output,
            'gen_ai.usage.cache_read.input_tokens': usage.cacheRead,
            // The name in the published constants, and the newer one in the conventions.
            'gen_ai.usage.cache_creation.input_tokens': usage.cacheWrite,
            'gen_ai.usage.cache_write.input_tokens': usage.cacheWrite,
          }),
      ...(reasoning === undefined ? {} : { 'gen_ai.usage.reasoning.output_tokens': reasoning }),
      ...(this.#break === undefined ? {} : { 'oriel.cache.break': this.#break }),
      'oriel.expansions': this.#expansions,
      'oriel.rounds': this.#rounds,
    }
  }

  get #provider(): string {
    return this.#start.provider.vendor
  }

  #open(attributes: Attributes): CallSpan | undefined {
    const tracer = hostTracer()
    if (tracer === undefined) return undefined
    const own = { 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': this.#provider }
    const { headers } = this.#start.request
    return new CallSpan(tracer, {
      headers,
      attributes: { ...own, 'oriel.format': this.format, ...attributes },
      startTime: this.#startedAt,
    })
  }
}

function readObject(bytes: Uint8Array): JsonObject {
  try {
    const text = Buffer.from(bytes).toString()
    boundedOutline(text, defaultLimits)
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}

function inputOf({ uncached, cacheRead, cacheWrite }: Usage): number {
  return uncached + cacheRead + cacheWrite
}

function errorTypeOf(
  status: number,
  ending: CallEnding,
  code: string | undefined,
): string | undefined {
  if (code !== undefined) return code
  if (status >= 400) return String(status)
  return ending === 'complete' ? undefined : ending
}

function errorLabel(status: number, ending: CallEnding): string {
  if (status >= 500) return '5xx'
  if (status >= 400) return '4xx'
  return ending === 'complete' ? '' : ending
}
