// Ranked search over originals: one thread, or all of a tenant.

import type { Role } from '../../core/log/block.ts'
import type { MessageEntry } from '../../core/log/entry.ts'
import { OrielError, wrongOption } from '../../core/log/errors.ts'
import { assertOptions, type OptionNames } from '../../core/log/options.ts'
import { textAt } from '../../core/search/passages.ts'
import { fuseRanks, type ScoredPassage } from '../../core/search/rank.ts'
import { readableIn } from '../../core/text/readable.ts'
import { finalIn } from '../../core/view/reduction.ts'
import type { Store, StoreMatches, StoreQuery } from '../../stores/store.ts'
import { Journal } from '../journal/journal.ts'

/** Vectors for texts, in their order: a model of yours. */
export type Embed = (texts: readonly string[]) => Promise<readonly (readonly number[])[]>

export interface SearchOptions {
  /** Messages, at most. @default 10 */
  readonly limit?: number
  /** Only messages of this role. */
  readonly role?: Role
  /** Only results of this tool, and calls of it. */
  readonly tool?: string
  /**
   * Who reads the answer. A person also gets what was excluded and what is for people only. @default 'model'
   */
  readonly audience?: 'model' | 'person'
  /** Adds a second order of the best passages, by their meaning; both are fused. @default by words alone */
  readonly embed?: Embed
  /** Ends the search. */
  readonly signal?: AbortSignal
}

const searchOptions: OptionNames<SearchOptions> = {
  limit: true,
  role: true,
  tool: true,
  audience: true,
  embed: true,
  signal: true,
}

/** A message that matches, by its best passage. */
export interface SearchResult {
  /** What `expand` takes. */
  readonly id: string
  /** Index among the messages of the log, from 0. */
  readonly index: number
  readonly seq: number
  readonly at: number
  readonly role: Role
  readonly tool?: string
  /** The passage in its original words, with some of what stands around it. */
  readonly text: string
  /** The larger the better; comparable within one search only. */
  readonly score: number
  /** Further messages with the same passage, which are left out. @default none */
  readonly repeats?: number
}

export interface ThreadSearchResult extends SearchResult {
  readonly thread: string
}

const maxLimit = 100
/** Characters before and after a passage. */
const around = 80
/** Messages that are looked at for one that is shown: some are excluded, of another role, or repeat others. */
const spare = 10
const mostAsked = 1000
/** Passages whose meaning is compared. */
const maxEmbedded = 50
/** Most characters of a passage that an embedder gets. */
const maxEmbeddedText = 2000

/** Searches the log of one journal, which must be up to date. */
export async function searchJournal(
  journal: Journal,
  query: string,
  options: SearchOptions = {},
): Promise<readonly SearchResult[]> {
  const { tenant, thread } = journal.key
  const matches = await matchesIn(journal.store, { tenant, thread, query }, options)
  const found = await resultsOf(matches.passages, options, async () => journal)
  const ranked = await rankByMeaning(found, query, options)
  return ranked.slice(0, options.limit ?? defaultLimit).map(({ thread: _, ...result }) => result)
}

const defaultLimit = 10

/**
 * Searches all threads of a tenant: the best passages in their original words. A thread that cannot be read is left out.
 */
export async function searchThreads(
  store: Store,
  tenant: string,
  query: string,
  options: SearchOptions = {},
): Promise<readonly ThreadSearchResult[]> {
  const matches = await matchesIn(store, { tenant, query }, options)
  const journals = new Map<string, Promise<Journal | undefined>>()
  const journalOf = (thread: string): Promise<Journal | undefined> => {
    const known = journals.get(thread) ?? openJournal(store, tenant, thread)
    journals.set(thread, known)
    return known
  }
  const found = await resultsOf(matches.passages, options, journalOf)
  const ranked = await rankByMeaning(found, query, options)
  return ranked.slice(0, options.limit ?? defaultLimit)
}

/** The log of a thread as it is; undefined where it is damaged or was erased meanwhile. */
async function openJournal(
  store: Store,
  tenant: string,
  thread: string,
): Promise<Journal | undefined> {
  try {
    const key = { tenant, thread }
    if ((await store.info(key)) === undefined) return undefined
    return await Journal.open({ store, key, tokens: undefined, now: Date.now })
  } catch (error) {
    if (OrielError.is(error)) return undefined
    throw error
  }
}

async function matchesIn(
  store: Store,
  query: StoreQuery,
  options: SearchOptions,
): Promise<StoreMatches> {
  checkSearch(query.query, options)
  if (store.search === undefined) {
    throw new OrielError('invalid-option', `The store ${store.name} cannot search.`)
  }
  const { limit = defaultLimit, signal } = options
  const asked = { ...query, limit: Math.min(mostAsked, limit * spare + 50) }
  return store.search(signal === undefined ? asked : { ...asked, signal })
}

const roles: readonly unknown[] = ['system', 'user', 'assistant', 'tool']

function checkSearch(query: unknown, options: SearchOptions): void {
  assertOptions(options, searchOptions, 'search')
  const { limit = defaultLimit, audience = 'model', embed } = options
  if (typeof query !== 'string') throw wrongOption('query', 'a text')
  if (!(Number.isInteger(limit) && limit >= 1 && limit <= maxLimit))
    throw wrongOption('limit', `a whole number from 1 to ${maxLimit}`)
  if (audience !== 'model' && audience !== 'person')
    throw wrongOption('audience', "'model' or 'person'")
  const { role, tool } = options
  if (role !== undefined && !roles.includes(role)) throw wrongOption('role', roles.join(', '))
  if (tool !== undefined && typeof tool !== 'string') throw wrongOption('tool', "a tool's name")
  if (embed !== undefined && typeof embed !== 'function') throw wrongOption('embed', 'a function')
}

/** Messages in their words, as many as are needed. What a reader may not see, is of another role, or repeats a better one is left out. */
async function resultsOf(
  passages: readonly ScoredPassage[],
  options: SearchOptions,
  journalOf: (thread: string) => Promise<Journal | undefined>,
): Promise<readonly ThreadSearchResult[]> {
  const { limit = defaultLimit, embed, signal } = options
  const wanted = embed === undefined ? limit : Math.max(limit, maxEmbedded)
  const found = new Map<string, ThreadSearchResult>()
  for (const passage of passages) {
    if (found.size >= wanted) break
    signal?.throwIfAborted()
    if (!passage.isOpen && options.audience !== 'person') continue
    const journal = await journalOf(passage.thread)
    const result = journal && (await resultOf(journal, passage, options))
    if (result === undefined) continue
    const known = found.get(result.text)
    if (known === undefined) found.set(result.text, result)
    else found.set(result.text, { ...known, repeats: (known.repeats ?? 0) + 1 })
  }
  return [...found.values()]
}

async function resultOf(
  journal: Journal,
  passage: ScoredPassage,
  { role, tool, audience }: SearchOptions,
): Promise<ThreadSearchResult | undefined> {
  const entry = await journal.message(passage.seq)
  if (entry === undefined || (role !== undefined && entry.role !== role)) return undefined
  const name = toolOf(entry)
  if (tool !== undefined && !namesOf(entry).includes(tool)) return undefined
  if (audience !== 'person' && !isReadable(journal, entry, passage.block)) return undefined
  const text = textAt(entry, passage, around)
  if (text === undefined) return undefined
  const { id, seq, at } = entry
  return {
    ...{ thread: passage.thread, id, index: passage.index, seq, at, role: entry.role },
    ...(name === undefined ? {} : { tool: name }),
    ...{ text, score: Math.round(passage.score * 1000) / 1000 },
  }
}

/** Whether a model may read a block in its original words now. */
function isReadable({ state }: Journal, entry: MessageEntry, block: number): boolean {
  if (finalIn(state)(entry.seq, block)) return false
  return readableIn(state)(entry).some(({ position }) => position === block)
}

function toolOf(entry: MessageEntry): string | undefined {
  if (entry.tool !== undefined) return entry.tool
  const result = entry.blocks.find(({ type }) => type === 'tool-result')
  return result?.type === 'tool-result' ? result.name : undefined
}

/** The tools that a message has results or calls of. */
function namesOf(entry: MessageEntry): readonly string[] {
  const called = entry.blocks.flatMap((block) =>
    block.type === 'tool-call' || block.type === 'tool-result' ? (block.name ?? []) : [],
  )
  return entry.tool === undefined ? called : [entry.tool, ...called]
}

/** The order by words and that by meaning, fused. An embedder that fails leaves the first. */
async function rankByMeaning(
  found: readonly ThreadSearchResult[],
  query: string,
  { embed, signal }: SearchOptions,
): Promise<readonly ThreadSearchResult[]> {
  if (embed === undefined || found.length < 2) return found
  const [best, rest] = [found.slice(0, maxEmbedded), found.slice(maxEmbedded)]
  const texts = best.map(({ text }) => text.slice(0, maxEmbeddedText))
  const vectors = await embed([query.slice(0, maxEmbeddedText), ...texts]).catch(() => [])
  signal?.throwIfAborted()
  const [asked, ...own] = vectors
  if (asked === undefined || own.length !== best.length) return found
  const closeness = new Map(best.map((result, index) => [result, cosine(asked, own[index] ?? [])]))
  const byMeaning = best.toSorted((a, b) => (closeness.get(b) ?? 0) - (closeness.get(a) ?? 0))
  return [...fuseRanks([best, byMeaning]), ...rest]
}

function cosine(a: readonly number[], b: readonly number[]): number {
  let [product, left, right] = [0, 0, 0]
  for (const [index, value] of a.entries()) {
    const other = b[index] ?? 0
    product += value * other
    left += value * value
    right += other * other
  }
  const size = Math.sqrt(left * right)
  return size > 0 && Number.isFinite(product) ? product / size : 0
}
