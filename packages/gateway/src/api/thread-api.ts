// Thread API for pages and scripts. Every thread is looked up in the caller's tenant; a foreign
// thread is indistinguishable from an absent one.

import { setImmediate } from 'node:timers/promises'
import {
  type Block,
  callerView,
  type Entry,
  eraseThread,
  type Json,
  OrielError,
  type Policy,
  parseCallerPolicy,
  type Scope,
  type SearchKind,
  type Store,
  searchThreads,
  type Thread,
  type ThreadInfo,
  type ThreadKey,
  type ThreadSearchResult,
  type TokensOption,
  type WireFormat,
} from 'oriel'
import {
  type BlockRow,
  type Composition,
  compositionIn,
  compositionOf,
  contentsIn,
  effectOf,
  gathered,
  listEdits,
  type NextOptions,
  type OutlineRow,
  OverviewFold,
  plainText,
  RequestFacts,
  type ShownPart,
  threadNumbers,
  viewBlocks,
} from 'oriel/inspect'
import { formatNamed } from 'oriel/providers'
import type { z } from 'zod'
import type { Caller } from '../http/auth.ts'
import { refusalOf, refuse } from '../http/errors.ts'
import { json, jsonBytes, type RouteContext } from '../http/router.ts'
import type { Limits } from '../options.ts'
import type { SettingsResolver } from '../settings/resolve.ts'
import { damageOf } from '../threads/damage.ts'
import type { OpenThreads, UseOptions } from '../threads/open-threads.ts'
import type { Tenants } from '../threads/tenants.ts'
import { cooperativePause, readCooperatively } from './cooperative-read.ts'
import { type Inspection, Inspections } from './inspections.ts'
import { sameEnds } from './outline-diff.ts'
import { readCount, readFormat, readJson, readNumber } from './parameters.ts'
import { ReplayPool } from './replay-pool.ts'
import { differenceOf } from './request-diff.ts'
import { Summaries, summaryIn, type ThreadSummary } from './summary.ts'
import { cursorOf, threadsByAge } from './thread-list.ts'
import { orderedPage, readOrder } from './thread-order.ts'
import type { CompareBody, EffectBody, WhatIfBody } from './thread-routes.ts'

export interface ThreadApiOptions {
  readonly store: Store
  readonly settings: SettingsResolver
  readonly threads: OpenThreads
  readonly tenants: Tenants
  readonly limits: Limits
  /** The counter of all threads. @default the one that a log names */
  readonly tokens?: TokensOption | undefined
  /** Told when a thread was erased, so that calls forget it too. */
  readonly erased: (tenant: string, thread: string) => void
  readonly changed: (tenant: string, thread: string) => void
}

/** Something that a caller does to a thread. */
export interface Action<Body extends z.ZodType> extends UseOptions {
  run(thread: Thread, body: z.infer<Body>, caller: Caller): Promise<unknown>
}

export interface ThreadsQuery {
  readonly limit: number
  /** Empty for all. */
  readonly search: string
  /** Only threads whose newest request went to this model. @default all */
  readonly model?: string
  /** Only threads whose newest request was of this agent. @default all */
  readonly agent?: string
  /** Cursor of the previous page. */
  readonly after: string | null
  /** Aborts the search when the caller disconnects. */
  readonly signal?: AbortSignal
}

export interface FoundThreads {
  readonly threads: readonly FoundThread[]
  readonly cursor?: string
}

export interface FoundThread {
  readonly key: ThreadKey
  readonly summary: ThreadSummary
  /** Cursor for the next page. */
  readonly cursor: string
}

export interface SearchQuery {
  readonly query: string
  /** Only this thread. */
  readonly thread?: string
  /** Only threads of this scope. */
  readonly scope?: Scope
  readonly kind?: SearchKind
  readonly limit: number
  readonly signal?: AbortSignal
}

/** A message that was found; a key that may see every tenant is told whose it is. */
export type FoundMessage = ThreadSearchResult & { readonly tenant?: string }

const maxQuery = 2000
const maxResults = 100
/** Tenants that one search of an operator looks into. */
const maxTenants = 200
const maxPage = 200
/** Time budget of one search. */
const searchMs = 3000
const maxLogPage = 1000
const maxTexts = 200
/** Edits in a page. */
const maxEdits = 200
/** Characters of an original in a list. */
const previewChars = 700
/** Pictures up to this size are shown in a list, in base64 characters. */
const maxPicture = 300_000
/** Pictures that run nothing. */
const pictureTypes: ReadonlySet<string> = new Set([
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
])

export class ThreadApi {
  readonly #options: ThreadApiOptions
  readonly #summaries: Summaries
  readonly #replays: ReplayPool
  readonly #inspections: Inspections

  constructor(options: ThreadApiOptions) {
    this.#options = options
    this.#summaries = new Summaries(options.store)
    this.#replays = new ReplayPool(options.limits)
    const { store, tokens, limits } = options
    this.#inspections = new Inspections({ store, tokens, maxBytes: limits.inspectBytes })
  }

  async list({ caller, url, request }: RouteContext): Promise<Response> {
    const limit = readCount(url, 'limit', 50, maxPage)
    const search = (url.searchParams.get('search') ?? '').slice(0, 200)
    const asked: ThreadsQuery = {
      limit,
      search,
      model: url.searchParams.get('model') ?? '',
      agent: url.searchParams.get('agent') ?? '',
      after: url.searchParams.get('after') ?? url.searchParams.get('cursor'),
      signal: request.signal,
    }
    const order = readOrder(url.searchParams.get('sort'))
    const { threads, cursor } =
      order === undefined
        ? await this.threads(caller, asked)
        : orderedPage(await this.#allThreads(caller, asked), order, asked)
    const shown = threads.map(({ key, summary }) =>
      caller.isAdmin ? { ...summary, tenant: key.tenant } : summary,
    )
    return json({ threads: shown, ...(cursor === undefined ? {} : { cursor }) })
  }

  /** As many of the caller's threads as can be read in time, for an order that needs all of them. */
  async #allThreads(caller: Caller, asked: ThreadsQuery): Promise<readonly FoundThread[]> {
    const deadline = performance.now() + searchMs
    const all: FoundThread[] = []
    let after: string | undefined
    do {
      const page = await this.threads(caller, { ...asked, limit: maxPage, after: after ?? null })
      all.push(...page.threads)
      after = page.cursor
    } while (after !== undefined && performance.now() < deadline)
    return all
  }

  /** The caller's threads, most recently used first, optionally filtered by text, model and agent. */
  async threads(
    caller: Caller,
    { limit, search: asked, model = '', agent = '', after, signal }: ThreadsQuery,
  ): Promise<FoundThreads> {
    await this.#options.threads.quiet(caller.isAdmin ? undefined : caller.tenant)
    const search = asked.toLowerCase()
    const tenants = await this.#tenantsOf(caller, null)
    const threads: FoundThread[] = []
    const deadline = performance.now() + searchMs
    let last: string | undefined
    for await (const found of threadsByAge(this.#options.store, { tenants, after })) {
      const isFiltered = search !== '' || model !== '' || agent !== ''
      const isOver = isFiltered && last !== undefined && performance.now() > deadline
      if ((threads.length === limit || isOver) && last !== undefined)
        return { threads, cursor: last }
      last = cursorOf(found)
      // Short logs are read synchronously, so yield to the event loop between threads.
      await setImmediate()
      signal?.throwIfAborted()
      const { key, info } = found
      const summary = await this.#summaries.of(key, info)
      if (model !== '' && summary.model !== model) continue
      if (agent !== '' && summary.agent !== agent) continue
      if (search !== '' && !(await this.#contains(key, summary, { search, signal }))) continue
      threads.push({ key, summary, cursor: last })
    }
    return { threads }
  }

  /** `GET /api/search`. */
  async searchRoute({ caller, url, request }: RouteContext): Promise<Response> {
    const query = url.searchParams.get('q') ?? ''
    if (query.trim() === '' || query.length > maxQuery) {
      throw refuse(400, 'invalid-input', `q must be a text of at most ${maxQuery} characters.`)
    }
    const named = (name: string): object => {
      const value = url.searchParams.get(name)
      return value === null || value === '' ? {} : { [name]: value }
    }
    const scope = { ...named('user'), ...named('project') }
    const results = await this.search(caller, {
      query,
      limit: readCount(url, 'limit', 10, maxResults),
      signal: request.signal,
      ...named('thread'),
      ...named('kind'),
      ...(Object.keys(scope).length === 0 ? {} : { scope }),
    })
    return json({ results })
  }

  /** The best messages for a query in the caller's threads, or in one of them: what a model may read. */
  async search(caller: Caller, asked: SearchQuery): Promise<readonly FoundMessage[]> {
    const { query, thread, scope, limit, signal, kind } = asked
    const options = {
      limit,
      ...(signal === undefined ? {} : { signal }),
      ...(kind === undefined ? {} : { kind }),
    }
    if (thread !== undefined) {
      const { key } = await this.locate(caller, thread)
      const found = await this.open(key, (own) => own.search(query, options), { isLong: true })
      return found.map((one) => foundMessage(caller, key.tenant, { ...one, thread: key.thread }))
    }
    await this.#options.threads.quiet(caller.isAdmin ? undefined : caller.tenant)
    const found: { readonly tenant: string; readonly result: ThreadSearchResult }[] = []
    for (const tenant of (await this.#tenantsOf(caller, null)).slice(0, maxTenants)) {
      const own = await searchThreads(this.#options.store, tenant, query, {
        ...options,
        ...(scope === undefined ? {} : { scope }),
      })
      found.push(...own.map((result) => ({ tenant, result })))
    }
    const sorted = found.toSorted((a, b) => b.result.score - a.result.score)
    return sorted.slice(0, limit).map(({ tenant, result }) => foundMessage(caller, tenant, result))
  }

  /** What all threads of the caller add up to. Long lists are read in part: `isPartial` says so. */
  async overview({ caller, request }: RouteContext): Promise<Response> {
    await this.#options.threads.quiet(caller.isAdmin ? undefined : caller.tenant)
    const tenants = await this.#tenantsOf(caller, null)
    const deadline = performance.now() + searchMs
    const sum = new OverviewFold()
    for await (const { key, info } of threadsByAge(this.#options.store, { tenants, after: null })) {
      if (performance.now() > deadline) return json({ ...sum.overview(), isPartial: true })
      await setImmediate()
      request.signal.throwIfAborted()
      const { fold } = await this.#summaries.foldOf(key, info)
      sum.add(fold)
    }
    return json({ ...sum.overview(), isPartial: false })
  }

  /** The log beside a request: the one of a step, the newest one, or the next. */
  async outline(context: RouteContext): Promise<Response> {
    const inspection = await this.#inspect(context)
    const { signal } = context.request
    const asked = context.url.searchParams.get('step')
    const { newestStep, version } = inspection.log
    if (asked === 'next' || (asked === null && newestStep === undefined)) {
      const { rows, ...next } = await this.#nextOutline(context, inspection)
      return json({
        version,
        ...next,
        ...wireRows(inspection, `next.${version}`, rows, context.url),
      })
    }
    const step = asked === null ? (newestStep ?? 0) : readNumber(asked, 'step')
    const found = await inspection.requestAt(step, signal)
    const { request, rows, body, context: filled, exact, change, previousStep } = found
    return json({
      version,
      step,
      at: request.at,
      tokens: tokensOf(rows),
      messages: listOf(body[formatNamed(request.format).fields.messages]).length,
      ...(filled === undefined ? {} : { context: filled }),
      exact,
      ...(previousStep === undefined ? {} : { previousStep }),
      ...(change === undefined ? {} : { change }),
      ...wireRows(inspection, `${step}.${request.seq}`, rows, context.url),
    })
  }

  async #nextOutline(
    context: RouteContext,
    { log }: Inspection,
  ): Promise<{
    readonly tokens: { readonly log: number; readonly view: number }
    readonly context: Composition
    readonly rows: readonly OutlineRow[]
  }> {
    const { key } = await this.#find(context)
    const pause = cooperativePause(context.request.signal)
    const made = await this.open(key, async (thread) => {
      const options = requestOptions(log.entries)
      const view = await thread.view({ ...options, dryRun: true })
      const contextWindow = thread.policy.compaction?.contextWindow
      const { format, model } = options
      const filled = compositionIn(view, { format, model, contextWindow })
      const contents = await gathered(contentsIn(view), pause)
      return { context: filled, contents, trace: view.trace, tokens: view.tokens }
    })
    const { contents, trace, tokens } = made
    const counted = { log: tokens.before, view: tokens.after }
    const rows = await log.outline({ contents, trace }, pause)
    return { tokens: counted, context: made.context, rows }
  }

  /** Originals of the log in a range, each cut: what a list shows of them; with a step also what its request shows of reduced blocks. */
  async texts(context: RouteContext): Promise<Response> {
    const { key } = await this.#find(context)
    const shown = await this.#shownTexts(context)
    const from = readCount(context.url, 'from', 1, Number.MAX_SAFE_INTEGER)
    const limit = readCount(context.url, 'limit', 100, maxTexts)
    const { signal } = context.request
    const entries = await this.#read(key, { from, to: from + limit - 1, signal })
    const texts = entries.flatMap((entry) =>
      entry.type === 'message'
        ? entry.blocks.map((block, index) => {
            const name = `${entry.seq}/${index}`
            const row = shown.get(name)
            const own = previewOf(block)
            return [name, row === undefined ? own : { ...own, ...besideOf(block, row) }] as const
          })
        : [],
    )
    return json({ texts: Object.fromEntries(texts) })
  }

  /** One block in full: its original, and what a request shows of it. */
  async block(context: RouteContext): Promise<Response> {
    const { key } = await this.#find(context)
    const { searchParams } = context.url
    const seq = readNumber(searchParams.get('seq') ?? '', 'seq')
    const index = readNumber(searchParams.get('index') ?? '0', 'index')
    const { signal } = context.request
    const [entry] = await this.#read(key, { from: seq, to: seq, signal })
    const block = entry?.type === 'message' ? entry.blocks[index] : undefined
    if (block === undefined) throw refuse(404, 'not-found', 'There is no such block.')
    const step = searchParams.get('step')
    const contents = await this.#contentsOf(context, step)
    const part = contents.find(
      (one) => one.part === 'block' && one.seq === seq && one.index === index,
    )
    return json({
      original: plainText(block),
      ...(part?.part === 'block' ? { shown: plainText(part.block) } : {}),
      ...pictureIn(block),
    })
  }

  /** The parts of the request of a step, or of the next one. */
  async #contentsOf(context: RouteContext, step: string | null): Promise<readonly ShownPart[]> {
    const inspection = await this.#inspect(context)
    if (step !== null && step !== 'next') {
      const { signal } = context.request
      return (await inspection.requestAt(readNumber(step, 'step'), signal)).contents
    }
    const { key } = await this.#find(context)
    const options = requestOptions(inspection.log.entries)
    return this.open(key, async (thread) => [
      ...contentsIn(await thread.view({ ...options, dryRun: true })),
    ])
  }

  /** What the request of a step shows in the place of reduced blocks. */
  async #shownTexts(context: RouteContext): Promise<ReadonlyMap<string, ShownText>> {
    const name = context.url.searchParams.get('of')
    const sent = name === null ? undefined : (await this.#inspect(context)).sent(name)
    const texts = new Map<string, ShownText>()
    for (const row of sent?.rows ?? []) {
      if (row.type === 'block' && row.text !== undefined) texts.set(`${row.seq}/${row.index}`, row)
    }
    return texts
  }

  /** The log of a thread, up to date. */
  async #inspect(context: RouteContext): Promise<Inspection> {
    const { key, info } = await this.#find(context)
    // A log that is not in memory is loaded for this request, so reserve its size.
    if (!this.#inspections.has(key)) context.room.take(info.bytes)
    return this.#inspections.of(key, info, context.request.signal)
  }

  async summary(context: RouteContext): Promise<Response> {
    const { key, info } = await this.#find(context)
    const { summary, policy } = await this.#summaryOf(context, key, info)
    return json({
      ...summary,
      policy: callerView(policy),
      ...(context.caller.isAdmin ? { tenant: key.tenant } : {}),
    })
  }

  /** The numbers of one thread, from the read that its page needs anyway; of a log that is damaged or not kept, from the list's. */
  async #summaryOf(
    context: RouteContext,
    key: ThreadKey,
    info: ThreadInfo,
  ): Promise<{ readonly summary: ThreadSummary; readonly policy: Policy }> {
    const listed = async () => ({
      summary: await this.#summaries.of(key, info),
      policy: await this.open(key, async (thread) => thread.policy),
    })
    if (this.#inspections.isTooLong(info)) return listed()
    try {
      const { log } = await this.#inspections.of(key, info, context.request.signal)
      return { summary: summaryIn(info, log.numbers()), policy: log.policy() }
    } catch (error) {
      if (damageOf(error) === undefined) throw error
      return listed()
    }
  }

  /** What fills the window now, by category. */
  async context(context: RouteContext): Promise<Response> {
    const { key, info } = await this.#find(context)
    // The thread is loaded into memory, so reserve its size.
    context.room.take(info.bytes)
    return json(await this.open(key, compositionOf, { isLong: true }))
  }

  async log(context: RouteContext): Promise<Response> {
    const { key, info } = await this.#find(context)
    const from = readCount(context.url, 'from', 1, Number.MAX_SAFE_INTEGER)
    const limit = readCount(context.url, 'limit', 200, maxLogPage)
    const entries = await this.#read(key, {
      from,
      to: from + limit - 1,
      signal: context.request.signal,
    })
    const next = from + entries.length
    return json({ entries, version: info.version, ...(next <= info.version ? { next } : {}) })
  }

  async view(context: RouteContext): Promise<Response> {
    const { key, info } = await this.#find(context)
    // The thread is loaded into memory, so reserve its size.
    context.room.take(info.bytes)
    const { searchParams } = context.url
    const format = readFormat(searchParams.get('format'))
    const step = searchParams.get('step')
    if (step !== null) return this.#viewAt(key, readNumber(step, 'step'), context.request.signal)
    const budget = searchParams.get('budget')
    const options = budget === null ? {} : { budget: readNumber(budget, 'budget') }
    return json(await this.#viewOf(key, format, { options, signal: context.request.signal }))
  }

  /** The view under another policy. Writes nothing to the log or the disk. */
  async whatIf(context: RouteContext, schema: WhatIfBody): Promise<Response> {
    const { key, info } = await this.#find(context)
    const { store, limits } = this.#options
    const body = await readJson(context, schema, limits)
    const { format = 'openai-chat', budget, from = 'now' } = body
    const policy = parseCallerPolicy(body.policy)
    const limit = budget === undefined ? {} : { budget }
    // The thread is loaded into memory, so reserve its size.
    context.room.take(info.bytes)
    const { version } = info
    const { signal } = context.request
    if (from === 'now') {
      const options = { policy, ...limit }
      return json({ version, ...(await this.#viewOf(key, format, { options, signal })) })
    }
    const job = { policy, format, budget, version }
    const entries = readCooperatively(store.read(key, { to: version }), signal)
    const bytes = await this.#replays.run(job, entries, { tenant: context.caller.tenant, signal })
    return jsonBytes(bytes)
  }

  /** Several policies on the thread from its first message on: a line of JSON for each progress, the last one with the result. */
  async compare(context: RouteContext, schema: CompareBody): Promise<Response> {
    const { key, info } = await this.#find(context)
    const { store, limits } = this.#options
    const body = await readJson(context, schema, limits)
    const policies = body.policies.map((policy, at) => parseCallerPolicy(policy, `policies[${at}]`))
    context.room.take(info.bytes)
    const { version } = info
    const left = new AbortController()
    const signal = AbortSignal.any([context.request.signal, left.signal])
    const job = { policies, format: body.format ?? 'openai-chat', version }
    const entries = readCooperatively(store.read(key, { to: version }), signal)
    const { tenant } = context.caller
    return linesOf(
      (write) =>
        this.#replays.run(job, entries, {
          ...{ tenant, signal },
          onProgress: (progress) => write({ progress }),
        }),
      () => left.abort(),
    )
  }

  /** Validates a policy that the caller wants to set on a thread. */
  policyFor(input: unknown, caller: Caller): Policy {
    return this.#options.settings.forThread(input, caller)
  }

  /** A view of the head that commits nothing. */
  async #viewOf(
    key: ThreadKey,
    format: WireFormat,
    { options, signal }: { readonly options: object; readonly signal: AbortSignal },
  ): Promise<object> {
    const view = await this.open(key, (thread) => thread.view({ ...options, format, dryRun: true }))
    const entries = await this.#read(key, { signal })
    return {
      ...view,
      trace: view.trace,
      format,
      ...options,
      blocks: viewBlocks(entries, { trace: view.trace, format, messages: view.messages }),
    }
  }

  async #viewAt(key: ThreadKey, step: number, signal: AbortSignal): Promise<Response> {
    const found = await this.open(key, (thread) => thread.requestAt(step), { isLong: true })
    const { request, body, trace, exact } = found
    const entries = await this.#read(key, { to: request.seq - 1, signal })
    const { name: format, fields } = formatNamed(request.format)
    const { [fields.messages]: messages, [fields.system]: system } = body
    return json({
      id: request.view,
      format,
      messages,
      ...(system === undefined ? {} : { system }),
      trace,
      exact,
      tokens: { before: threadNumbers(entries).tokens.log, after: request.details?.tokens ?? 0 },
      blocks: viewBlocks(entries, { trace, format, messages: listOf(messages) }),
    })
  }

  async requests(context: RouteContext): Promise<Response> {
    const { key } = await this.#find(context)
    const requests = []
    const entries = this.#options.store.read(key)
    for await (const entry of readCooperatively(entries, context.request.signal)) {
      if (entry.type !== 'request') continue
      const { details = {}, type: _type, ...request } = entry
      requests.push({ ...request, ...details })
    }
    return json({ requests })
  }

  async request(context: RouteContext): Promise<Response> {
    const { key } = await this.#find(context)
    const step = readNumber(context.param('step'), 'step')
    const find = (thread: Thread) => differenceOf(thread, step)
    return json(await this.open(key, find, { isLong: true }))
  }

  async timeline(context: RouteContext): Promise<Response> {
    const { log } = await this.#inspect(context)
    const since = readCount(context.url, 'since', 0, Number.MAX_SAFE_INTEGER)
    return json({ version: log.version, ...log.timeline({ since }) })
  }

  /** All edits; with a limit, a page of them without their texts, newest first. */
  async edits(context: RouteContext): Promise<Response> {
    const { log } = await this.#inspect(context)
    if (!context.url.searchParams.has('limit')) return json({ edits: listEdits(log.entries) })
    const limit = readCount(context.url, 'limit', maxEdits, maxEdits)
    const before = readCount(context.url, 'before', Infinity, Infinity)
    return json({ version: log.version, ...log.edits({ before, limit }) })
  }

  async directives(context: RouteContext): Promise<Response> {
    const { key, info } = await this.#find(context)
    // The thread is loaded into memory, so reserve its size.
    context.room.take(info.bytes)
    const view = await this.open(key, (thread) => thread.view({ dryRun: true }))
    return json({ directives: view.directives })
  }

  async export(context: RouteContext): Promise<Response> {
    const { key } = await this.#find(context)
    const read = readCooperatively(this.#options.store.read(key), context.request.signal)
    const entries = read[Symbol.asyncIterator]()
    const encoder = new TextEncoder()
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const { done, value } = await entries.next()
        if (done) controller.close()
        else controller.enqueue(encoder.encode(`${JSON.stringify(value)}\n`))
      },
      async cancel() {
        await entries.return(undefined)
      },
    })
    return new Response(body, {
      headers: { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' },
    })
  }

  async act<Body extends z.ZodType>(
    context: RouteContext,
    schema: Body,
    { run, isLong = false }: Action<Body>,
  ): Promise<Response> {
    const { key } = await this.#find(context)
    const body = await readJson(context, schema, this.#options.limits)
    const act = (thread: Thread) => run(thread, body, context.caller)
    const result = await this.open(key, act, { isLong })
    this.#options.changed(key.tenant, key.thread)
    const info = await this.#options.store.info(key)
    return json({ version: info?.version, ...(typeof result === 'object' ? result : {}) })
  }

  /** What an action would do to the next request, as the library rehearses it. */
  async effect(context: RouteContext, schema: EffectBody): Promise<Response> {
    const { key, info } = await this.#find(context)
    const action = await readJson(context, schema, this.#options.limits)
    // The thread is loaded into memory, so reserve its size.
    context.room.take(info.bytes)
    const { log } = await this.#inspect(context)
    const rehearsal = await this.open(key, (thread) =>
      thread.rehearse(action, requestOptions(log.entries)),
    )
    return json(rehearsal.ok ? { ok: true, ...effectOf(rehearsal) } : rehearsal)
  }

  async erase(context: RouteContext): Promise<Response> {
    const { key } = await this.#find(context)
    const { store, changed, erased } = this.#options
    // Its forks hold what it said, too.
    const { threads } = await eraseThread({ store, tenant: key.tenant, id: key.thread })
    for (const thread of threads) {
      this.forget({ tenant: key.tenant, thread })
      erased(key.tenant, thread)
      changed(key.tenant, thread)
    }
    return new Response(null, { status: 204 })
  }

  /** Forgets a thread: it was erased. */
  forget(key: ThreadKey): void {
    this.#summaries.forget(key)
    this.#inspections.forget(key)
  }

  #find({ caller, param, url }: RouteContext): Promise<{ key: ThreadKey; info: ThreadInfo }> {
    // Ids such as `..` or with a slash do not fit in a path, so accept a query parameter.
    const id = url.searchParams.get('thread') ?? param('id')
    return this.locate(caller, id, url.searchParams.get('tenant'))
  }

  /** Finds a thread of the caller. The error is the same for a foreign and an absent thread. */
  async locate(
    caller: Caller,
    thread: string,
    tenant: string | null = null,
  ): Promise<{ key: ThreadKey; info: ThreadInfo }> {
    await this.#options.threads.quiet(caller.isAdmin ? undefined : caller.tenant)
    const tenants = await this.#tenantsOf(caller, tenant)
    for (const own of tenants) {
      const key = { tenant: own, thread }
      const info = await this.#options.store.info(key).catch(absent)
      if (info !== undefined) return { key, info }
    }
    throw refuse(404, 'not-found', 'There is no such thread.')
  }

  async #tenantsOf(caller: Caller, asked: string | null): Promise<readonly string[]> {
    if (!caller.isAdmin) return [caller.tenant]
    const all = [caller.tenant, ...(await this.#options.tenants.all())]
    return [...new Set(all)].filter((tenant) => asked === null || tenant === asked)
  }

  async #contains(
    key: ThreadKey,
    summary: ThreadSummary,
    { search, signal }: { readonly search: string; readonly signal: AbortSignal | undefined },
  ): Promise<boolean> {
    if (summary.id.toLowerCase().includes(search) || summary.title.toLowerCase().includes(search))
      return true
    // Search for the text in its JSON-escaped form.
    const written = JSON.stringify(search).slice(1, -1)
    try {
      for await (const entry of readCooperatively(this.#options.store.read(key), signal)) {
        if (entry.type !== 'message') continue
        if (JSON.stringify(entry.blocks).toLowerCase().includes(written)) return true
      }
    } catch (error) {
      if (damageOf(error) === undefined) throw error
    }
    return false
  }

  async #read(
    key: ThreadKey,
    { signal, ...range }: { from?: number; to?: number; signal: AbortSignal },
  ): Promise<readonly Entry[]> {
    const entries: Entry[] = []
    for await (const entry of readCooperatively(this.#options.store.read(key, range), signal)) {
      entries.push(entry)
    }
    return entries
  }

  /** Does something with a thread, after what was asked of it before. */
  open<T>(
    { tenant, thread }: ThreadKey,
    task: (thread: Thread) => Promise<T>,
    options: UseOptions = {},
  ): Promise<T> {
    return this.#options.threads.use(tenant, thread, task, options)
  }
}

/** A response of JSON lines: what `run` writes, then its result or its error. A reader that leaves ends it. */
function linesOf(
  run: (write: (line: object) => void) => Promise<Uint8Array>,
  leave: () => void,
): Response {
  const encoder = new TextEncoder()
  let isLeft = false
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      // A worker may tell of its progress until it has ended.
      const write = (line: object): void => {
        if (!isLeft) controller.enqueue(encoder.encode(`${JSON.stringify(line)}\n`))
      }
      try {
        const result = await run(write)
        controller.enqueue(encoder.encode('{"result":'))
        controller.enqueue(result)
        controller.enqueue(encoder.encode('}\n'))
        controller.close()
      } catch (error) {
        try {
          const { code, message } = refusalOf(error)
          write({ error: { code, message } })
          controller.close()
        } catch {
          // The reader has left.
        }
      }
    },
    cancel: () => {
      isLeft = true
      leave()
    },
  })
  return new Response(body, {
    headers: { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' },
  })
}

/** Tokens of all rows: of the log, and of the request. */
function tokensOf(rows: readonly OutlineRow[]): { readonly log: number; readonly view: number } {
  let [log, view] = [0, 0]
  for (const { tokens, shown } of rows) {
    log += tokens
    view += shown
  }
  return { log, view }
}

/** How the next request comes, if it comes like the newest one. */
function requestOptions(entries: readonly Entry[]): NextOptions {
  const facts = new RequestFacts()
  for (const entry of entries) facts.take(entry)
  return facts.options
}

/**
 * Rows as they are sent: under a name, and only what differs from the rows that the page has under another name (`have`). What is inside a
 * run comes when it is asked for, by the run's first seq, and texts come for the rows in sight.
 */
function wireRows(
  inspection: Inspection,
  name: string,
  rows: readonly OutlineRow[],
  { searchParams }: URL,
): object {
  const run = searchParams.get('run')
  if (run !== null) {
    const from = readNumber(run, 'run')
    const found = rows.find((row) => row.type === 'folded' && row.from === from)
    return { rows: found?.type === 'folded' ? found.rows : [] }
  }
  const have = searchParams.get('have')
  const before = have === null ? undefined : inspection.sent(have)
  inspection.keep({ name, rows })
  if (before === undefined) return { name, rows: rows.map(wireRow) }
  const { start, end } = sameEnds(before.rows, rows)
  const changed = rows.slice(start, rows.length - end)
  return { name, base: { name: before.name, start, end }, rows: changed.map(wireRow) }
}

function wireRow(row: OutlineRow): OutlineRow {
  if (row.type === 'folded') return { ...row, rows: [] }
  if (row.type !== 'block' || row.text === undefined) return row
  const { text: _text, ...rest } = row
  return rest
}

interface Preview {
  readonly text: string
  /** Characters of the whole. */
  readonly length: number
  readonly picture?: string
  /** What the request shows in its place. */
  readonly shown?: string
  /** The original behind the lines that are shown as they were said. */
  readonly rest?: { readonly text: string; readonly length: number }
}

type ShownText = Pick<BlockRow, 'text' | 'same'>

function previewOf(block: Block): Preview {
  const text = plainText(block)
  return { text: text.slice(0, previewChars), length: text.length, ...pictureIn(block) }
}

/** What a request shows of a reduced block, and its original behind the lines that both share. */
function besideOf(block: Block, { text, same = 0 }: ShownText): Partial<Preview> {
  const shown = text === undefined ? {} : { shown: text }
  if (same === 0) return shown
  const whole = plainText(block)
  const rest = whole.slice(endOfLine(whole, same))
  return { ...shown, rest: { text: rest.slice(0, previewChars), length: rest.length } }
}

/** Where so many lines end. */
function endOfLine(text: string, lines: number): number {
  let end = 0
  for (let line = 0; line < lines; line++) end = text.indexOf('\n', end) + 1
  return end
}

/** A picture as a data URL, where it is one that is safe to show; a result may hold one. */
function pictureIn(block: Block): { readonly picture?: string } {
  if (block.type === 'tool-result' && typeof block.content !== 'string') {
    const inside = block.content.find(({ type }) => type === 'image')
    return inside === undefined ? {} : pictureIn(inside)
  }
  if (block.type !== 'image') return {}
  const { data, mediaType = '', url = '' } = block
  const written = data === undefined ? url : `data:${mediaType};base64,${data}`
  const type = /^data:([\w/+.-]+);base64,[\w+/=]+$/.exec(written)?.[1] ?? ''
  return pictureTypes.has(type) && written.length <= maxPicture ? { picture: written } : {}
}

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : []
}

/** A name that no thread can have belongs to none. */
function absent(error: unknown): undefined {
  if (OrielError.is(error, 'invalid-input')) return undefined
  throw error
}

function foundMessage(caller: Caller, tenant: string, result: ThreadSearchResult): FoundMessage {
  return caller.isAdmin ? { ...result, tenant } : result
}
