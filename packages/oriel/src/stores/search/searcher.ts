// Search over any backend: indexes what is new, asks the database for the passages of each term, and ranks them here, so that every store
// gives the same order.

import { setImmediate } from 'node:timers/promises'
import type { Entry } from '../../core/log/entry.ts'
import { OrielError } from '../../core/log/errors.ts'
import { isScope } from '../../core/log/scope.ts'
import { settings } from '../../core/log/settings.ts'
import { hints } from '../../core/search/hint.ts'
import { nearTermsOf } from '../../core/search/near-words.ts'
import { type Passage, passagesOf } from '../../core/search/passages.ts'
import { type QueryTerm, termsOf } from '../../core/search/query.ts'
import {
  bestPerMessage,
  candidatesOf,
  scorePassages,
  type TermMatches,
} from '../../core/search/rank.ts'
import type { IndexBatch, IndexProgress, LogBackend, SearchIndex, SearchScope } from '../backend.ts'
import type { StoreMatches, StoreQuery, ThreadKey } from '../store.ts'
import { entriesOf, ownRow } from '../stored/rows.ts'
import { MemoryIndex } from './memory-index.ts'
import { groupTokens } from './scope-tokens.ts'

/** Passages with a term that are looked at: a term that more have tells little. */
const maxMatches = 1000
/** Passages that are read and scored exactly: with fewer, messages are missed that scoring all would find. */
const minCandidates = 100
const maxCandidates = 300
/** Time for one search; what is not indexed by then is missing from its answer, which says so. */
const searchMs = 10_000
/** Characters that are analysed at once: some 10 ms of the event loop. */
const batchCharacters = 40_000
/** Terms that the database looks for at once. */
const termsAtOnce = 8
/** Threads that are looked up at once. */
const threadsAtOnce = 100
const defaultLimit = 100
/** Entries of the newest logs that are read where a backend has no index. */
const maxScanned = 50_000

/** When nothing was appended for this long, what grew is indexed in the background: appends that follow each other do not wait for it. */
const idleMs = 1000
/** Where appends never pause, it is indexed after this long all the same. */
const longestMs = 10_000

export class Searcher {
  readonly #backend: LogBackend
  readonly #isClosed: () => boolean
  /** Tenants with threads that grew since they were indexed. */
  readonly #grown = new Map<string, Set<string>>()
  /** Threads that are being indexed. */
  readonly #indexing = new Map<string, Promise<boolean>>()
  #timer: NodeJS.Timeout | undefined
  /** When the first of those grew that wait. */
  #grownAt = 0
  #working: Promise<void> = Promise.resolve()

  constructor(backend: LogBackend, isClosed: () => boolean) {
    this.#backend = backend
    this.#isClosed = isClosed
  }

  /** A thread grew: it is indexed when there is time, or when somebody searches. */
  grew({ tenant, thread }: ThreadKey): void {
    if (this.#backend.search === undefined) return
    const threads = this.#grown.get(tenant) ?? new Set<string>()
    this.#grown.set(tenant, threads)
    threads.add(thread)
    if (this.#timer !== undefined) {
      if (performance.now() - this.#grownAt < longestMs - idleMs) this.#timer.refresh()
      return
    }
    this.#grownAt = performance.now()
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#working = this.#indexGrown()
    }, idleMs)
    this.#timer.unref()
  }

  /** Ends what is done in the background. */
  async close(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#working
  }

  async search(asked: StoreQuery): Promise<StoreMatches> {
    const { tenant, thread, query, limit = defaultLimit } = asked
    const groups = groupTokens(tenant, asked.scope)
    const scope = {
      ...(thread === undefined ? { tenant } : { tenant, thread }),
      ...(groups.length === 0 ? {} : { groups }),
    }
    const terms = termsOf(query)
    if (terms.length === 0) return { passages: [], isComplete: true }
    const budget = new Budget(asked.signal, this.#isClosed)
    const { index, isComplete } = await this.#ready(scope, budget)
    const total = await index.count(scope)
    const exact = await matchesOf(index, { scope, terms, total, budget })
    const matches =
      exact.length > 0
        ? exact
        : await matchesOf(index, { scope, terms: nearTermsOf(query), total, budget })
    const ids = candidatesOf(
      matches,
      total,
      Math.min(maxCandidates, Math.max(minCandidates, limit)),
    )
    const passages = ids.length === 0 ? [] : await index.passages(tenant, ids)
    const own = passages.filter((one) => thread === undefined || one.thread === thread)
    const best = bestPerMessage(scorePassages(own, matches, total))
    return { passages: best.slice(0, limit), isComplete }
  }

  /** An index that knows what was appended before. */
  async #ready(scope: SearchScope, budget: Budget): Promise<ReadyIndex> {
    const index = this.#backend.search
    if (index === undefined) return this.#scan(scope, budget)
    return { index, isComplete: await this.#catchUp(index, scope, budget) }
  }

  /** Indexes what was appended and is not indexed. False where the time is over before. */
  async #catchUp(index: SearchIndex, scope: SearchScope, budget: Budget): Promise<boolean> {
    const skipped = new Set<string>()
    for (;;) {
      const behind = await index.unindexed(scope, threadsAtOnce + skipped.size)
      const left = behind.filter(({ thread }) => !skipped.has(thread))
      if (left.length === 0) return skipped.size === 0
      for (const progress of left) {
        if (budget.isOver) return false
        // A thread that cannot be read must not keep the others from being found.
        if (!(await this.#indexThread(index, scope.tenant, progress, budget)))
          skipped.add(progress.thread)
      }
    }
  }

  /** Indexes a thread, one at a time: who comes meanwhile waits for it. */
  async #indexThread(
    index: SearchIndex,
    tenant: string,
    progress: IndexProgress,
    budget: Budget,
  ): Promise<boolean> {
    const name = `${tenant}\0${progress.thread}`
    const begun = this.#indexing.get(name)
    if (begun !== undefined) return begun
    const work = this.#indexBatches(index, tenant, progress, budget)
    this.#indexing.set(name, work)
    try {
      return await work
    } finally {
      this.#indexing.delete(name)
    }
  }

  /** Whether a thread is indexed as far as it can be. */
  async #indexBatches(
    index: SearchIndex,
    tenant: string,
    progress: IndexProgress,
    budget: Budget,
  ): Promise<boolean> {
    const key = { tenant, thread: progress.thread }
    try {
      for await (const batch of this.#batches(key, progress)) {
        budget.check()
        if (!(await index.index(batch))) return true
        if (budget.isOver) return true
      }
      return true
    } catch (error) {
      const isDamage =
        OrielError.is(error, 'corrupt-entry') || OrielError.is(error, 'log-truncated')
      if (isDamage || OrielError.is(error, 'not-found')) return false
      throw error
    }
  }

  /** The passages of a part of a log, in pieces that are written at once. */
  async *#batches(
    key: ThreadKey,
    { indexed, version, messages: before }: Omit<IndexProgress, 'thread'>,
  ): AsyncGenerator<IndexBatch> {
    const groups = await this.#groupsOf(key)
    let start = indexed
    let messages = before
    let passages: Passage[] = []
    let characters = 0
    for await (const entry of this.#entries(key, indexed + 1, version)) {
      const own = passagesOf(entry, messages)
      if (entry.type === 'message') messages += 1
      passages.push(...own.map((passage) => inGroups(passage, groups)))
      characters += own.reduce((sum, one) => sum + one.to - one.from, 50)
      if (characters < batchCharacters && entry.seq < version) continue
      yield { key, from: start, to: entry.seq, messages, passages }
      start = entry.seq
      passages = []
      characters = 0
      await setImmediate()
    }
  }

  /** The tokens of the scope that a thread began in. Its first entry says it. */
  async #groupsOf(key: ThreadKey): Promise<readonly string[]> {
    for await (const entry of this.#entries(key, 1, 1)) {
      const scope = settings.header.find(entry)?.scope
      return groupTokens(key.tenant, isScope(scope) ? scope : undefined)
    }
    return []
  }

  async *#entries(key: ThreadKey, from: number, to: number): AsyncGenerator<Entry> {
    for (let next = from; next <= to; ) {
      const page = await this.#backend.page(key, next, to)
      // Erased meanwhile: what it said is gone from the index too.
      if (page === undefined || ownRow(key, page.thread).salt === undefined) return
      const entries = entriesOf(page, next)
      yield* entries
      next += entries.length
    }
  }

  /** An index of the newest logs for one search, where the database has none. */
  async #scan({ tenant, thread }: SearchScope, budget: Budget): Promise<ReadyIndex> {
    const found = new MemoryIndex()
    const after = { updatedAt: Number.MAX_SAFE_INTEGER, thread: '' }
    const listed =
      thread === undefined
        ? await this.#backend.threads({ by: 'age', tenant, after, limit: threadsAtOnce })
        : [await this.#backend.thread({ tenant, thread })]
    let room = maxScanned
    let isComplete = listed.length < threadsAtOnce
    for (const row of listed) {
      if (row?.salt === undefined) continue
      const key = { tenant, thread: ownRow({ tenant, thread: row.thread }, row).thread }
      // From the beginning: what stands there has no number otherwise.
      const version = Math.min(row.version, room)
      if (version < row.version) isComplete = false
      for await (const batch of this.#batches(key, { indexed: 0, version, messages: 0 })) {
        budget.check()
        found.add(batch)
        if (budget.isOver) return { index: asIndex(found), isComplete: false }
      }
      room -= version
    }
    return { index: asIndex(found), isComplete }
  }

  async #indexGrown(): Promise<void> {
    const index = this.#backend.search
    if (index === undefined) return
    for (const [tenant, threads] of this.#grown) {
      this.#grown.delete(tenant)
      for (const thread of threads) {
        if (this.#isClosed()) return
        try {
          await this.#catchUp(index, { tenant, thread }, new Budget(undefined, this.#isClosed))
        } catch {
          // A search indexes what is missing, and has the error.
        }
      }
    }
  }
}

/** The newest passages of each term. The parts of an identifier that is found whole are not looked for. */
async function matchesOf(
  index: SearchIndex,
  {
    scope,
    terms,
    total,
    budget,
  }: {
    readonly scope: SearchScope
    readonly terms: readonly QueryTerm[]
    readonly total: number
    readonly budget: Budget
  },
): Promise<readonly TermMatches[]> {
  const matches: TermMatches[] = []
  const look = async (asked: readonly QueryTerm[]): Promise<void> => {
    for (let from = 0; from < asked.length; from += termsAtOnce) {
      budget.check()
      const some = asked.slice(from, from + termsAtOnce)
      const tokens = some.map(({ token, related }) => [token, ...related.keys()])
      const found = await index.find(scope, tokens, maxMatches)
      for (const [at, { token: term, related }] of some.entries()) {
        const ids = found[at] ?? []
        if (ids.length > 0) matches.push({ term, related, ids, count: countOf(ids, total) })
      }
      await budget.turn()
    }
  }
  await look(terms.filter(({ within }) => within === undefined))
  const found = new Set(matches.map(({ term }) => term))
  await look(terms.filter(({ within }) => within !== undefined && !found.has(within)))
  return matches
}

function inGroups(passage: Passage, groups: readonly string[]): Passage {
  if (groups.length === 0) return passage
  return { ...passage, tokens: `${groups.join(' ')} ${passage.tokens}` }
}

interface ReadyIndex {
  readonly index: SearchIndex
  readonly isComplete: boolean
}

/** How long a search holds the event loop, about. */
const heldMs = 10

/** What a search may take. */
class Budget {
  readonly #end = performance.now() + searchMs
  #turn = performance.now()
  readonly #signal: AbortSignal | undefined
  readonly #isClosed: () => boolean

  constructor(signal: AbortSignal | undefined, isClosed: () => boolean) {
    this.#signal = signal
    this.#isClosed = isClosed
  }

  get isOver(): boolean {
    return performance.now() > this.#end || this.#isClosed()
  }

  check(): void {
    this.#signal?.throwIfAborted()
  }

  /** Lets others continue, where this search has held the event loop for a while. */
  async turn(): Promise<void> {
    if (performance.now() - this.#turn < heldMs) return
    await setImmediate()
    this.#turn = performance.now()
  }
}

/** About how many passages have a term of which only the newest were counted: as many as their share of the newest lets expect. */
function countOf(ids: readonly number[], total: number): number {
  if (ids.length < maxMatches) return ids.length
  const span = Math.floor(((ids[0] as number) - (ids.at(-1) as number)) / hints) + 1
  return Math.min(total, Math.max(ids.length, Math.round((total * ids.length) / span)))
}

function asIndex(index: MemoryIndex): SearchIndex {
  return {
    index: async () => false,
    unindexed: async () => [],
    count: async (scope) => index.count(scope),
    find: async (scope, terms, limit) => terms.map((tokens) => index.find(scope, tokens, limit)),
    passages: async (_, ids) => index.passages(ids),
  }
}
