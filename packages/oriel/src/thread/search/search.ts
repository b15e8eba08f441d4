// Ranked search over originals: one thread, or all of a tenant.

import type { Role } from '../../core/log/block.ts'
import type { MessageEntry } from '../../core/log/entry.ts'
import { OrielError, wrongOption } from '../../core/log/errors.ts'
import { assertOptions, type OptionNames } from '../../core/log/options.ts'
import { checkScope, isScope, type Scope } from '../../core/log/scope.ts'
import { wordMarker } from '../../core/search/analysis.ts'
import { nearTokens } from '../../core/search/near-words.ts'
import { excerpt, messageText, textAt } from '../../core/search/passages.ts'
import { matchedTokens } from '../../core/search/query.ts'
import type { ScoredPassage } from '../../core/search/rank.ts'
import { shownCheckpointText } from '../../core/text/checkpoint.ts'
import { readableIn, readableMessage } from '../../core/text/readable.ts'
import { finalIn } from '../../core/view/reduction.ts'
import type { Store, StoreMatches, StoreQuery } from '../../stores/store.ts'
import { Journal } from '../journal/journal.ts'
import { type Found, namesOf, toolOf } from './found.ts'
import { type Embed, maxEmbedded, rankByMeaning } from './meaning.ts'

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
  /** Only messages, only those that state a standing instruction, or only checkpoints. @default all of them */
  readonly kind?: SearchKind
  /**
   * What comes first: the best match, or of good ones what the newest view does not show whole, since its reader has the rest.
   * @default 'hidden' for a model, 'best' for a person
   */
  readonly prefer?: 'hidden' | 'best'
  /**
   * Also the other threads of the scope that this one began in. A thread without a scope has no others. @default false
   */
  readonly across?: boolean
  /**
   * Adds a second order by meaning, of the best passages and of all messages of the thread; both are fused. Give the same function each time:
   * its vectors are remembered while the thread is open. @default by words alone
   */
  readonly embed?: Embed
  /** Ends the search. */
  readonly signal?: AbortSignal
}

const searchOptions: OptionNames<SearchOptions> = {
  limit: true,
  role: true,
  tool: true,
  audience: true,
  kind: true,
  prefer: true,
  across: true,
  embed: true,
  signal: true,
}

/** What a result is: a message, one in which the user states a standing instruction, or the checkpoint in force. */
export type SearchKind = 'message' | 'directive' | 'checkpoint'

/** A message next to one that matches. */
export interface Neighbour {
  readonly id: string
  readonly role: Role
  /** Its beginning. */
  readonly text: string
}

/** A message that matches, by its best passage. */
export interface SearchResult {
  /** The thread it stands in, where that is another one of the scope. */
  readonly thread?: string
  /** What `expand` takes. */
  readonly id: string
  /** Index among the messages of the log, from 0. */
  readonly index: number
  readonly seq: number
  readonly at: number
  readonly role: Role
  readonly kind: SearchKind
  readonly tool?: string
  /** The passage in its original words, with some of what stands around it. */
  readonly text: string
  /** Where in it the words of the query stand. */
  readonly marks: readonly (readonly [from: number, to: number])[]
  /** The message before it, which it answers, as far as its reader may see it. */
  readonly previous?: Neighbour
  /** The message after it, which answers it. */
  readonly next?: Neighbour
  /** The larger the better; comparable within one search only. */
  readonly score: number
  /** Further messages with the same passage, which are left out. @default none */
  readonly repeats?: number
}

/** How the threads of a tenant are searched. */
export interface ThreadsSearchOptions extends Omit<SearchOptions, 'across' | 'prefer'> {
  /** Only threads that began in this scope. @default all of the tenant's */
  readonly scope?: Scope
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

/** What a message that the view shows counts beside one that it does not. */
const shownShare = 0.3
/** What an answer that the view does not show gets of the score of its question, which it shows. */
const questionShare = 0.15

/** Whether the newest view shows a message whole. */
export type IsShown = (seq: number) => boolean

/** Searches the log of one journal, which must be up to date. */
export async function searchJournal(
  journal: Journal,
  query: string,
  options: SearchOptions = {},
  isShown?: IsShown,
): Promise<readonly SearchResult[]> {
  const { best, journalOf } = await findPlaces(journal, query, options, isShown)
  const complete = await withSurroundings(best, { query, options, journalOf })
  return complete.map(({ thread, ...result }) =>
    thread === journal.key.thread ? result : { thread, ...result },
  )
}

/** The best matches in a thread, or over the threads of its scope, with where their passages stand. */
export async function findPlaces(
  journal: Journal,
  query: string,
  options: SearchOptions,
  isShown: IsShown | undefined,
): Promise<{ readonly best: readonly Found[]; readonly journalOf: JournalOf }> {
  const { tenant, thread } = journal.key
  const { scope } = journal.header
  const where = options.across === true && isScope(scope) ? { scope } : { thread }
  const matches = await matchesIn(journal.store, { tenant, ...where, query }, options)
  const others = journalsOf(journal.store, tenant)
  const journalOf: JournalOf = async (id) => (id === thread ? journal : others(id))
  const isShownHere = isShown && ((one: ScoredPassage) => one.thread === thread && isShown(one.seq))
  const passages = hiddenFirst(matches.passages, options, isShownHere)
  const found = await resultsOf(passages, options, journalOf)
  const ranked = await rankByMeaning(found, query, options, journal)
  return { best: ranked.slice(0, options.limit ?? defaultLimit), journalOf }
}

/** The log of a thread; undefined where it cannot be read. */
export type JournalOf = (thread: string) => Promise<Journal | undefined>

/** Opens the logs of a tenant, each once. */
export function journalsOf(store: Store, tenant: string): JournalOf {
  const journals = new Map<string, Promise<Journal | undefined>>()
  return (thread) => {
    const known = journals.get(thread) ?? openJournal(store, tenant, thread)
    journals.set(thread, known)
    return known
  }
}

const defaultLimit = 10

function hiddenFirst(
  passages: readonly ScoredPassage[],
  { audience = 'model', prefer = audience === 'model' ? 'hidden' : 'best' }: SearchOptions,
  isShown: ((passage: ScoredPassage) => boolean) | undefined,
): readonly ScoredPassage[] {
  if (isShown === undefined || prefer === 'best') return passages
  const places = new Map(passages.map((one) => [`${one.index} ${one.thread}`, one]))
  const weighed = passages.map((one) => {
    if (one.speaker === 'checkpoint' || isShown(one))
      return { ...one, score: one.score * shownShare }
    const before = one.speaker === 'other' && places.get(`${one.index - 1} ${one.thread}`)
    if (!before || !isQuestion(before) || !isShown(before)) return one
    return { ...one, score: one.score + before.score * questionShare }
  })
  return weighed.sort((a, b) => b.score - a.score || b.id - a.id)
}

function isQuestion({ speaker }: ScoredPassage): boolean {
  return speaker === 'user' || speaker === 'directive'
}

/**
 * Searches all threads of a tenant: the best passages in their original words. A thread that cannot be read is left out.
 */
export async function searchThreads(
  store: Store,
  tenant: string,
  query: string,
  { scope, ...options }: ThreadsSearchOptions = {},
): Promise<readonly ThreadSearchResult[]> {
  const within = scope === undefined ? {} : { scope: checkScope(scope) }
  const matches = await matchesIn(store, { tenant, query, ...within }, options)
  const journalOf = journalsOf(store, tenant)
  const found = await resultsOf(matches.passages, options, journalOf)
  const ranked = await rankByMeaning(found, query, options)
  const best = ranked.slice(0, options.limit ?? defaultLimit)
  return withSurroundings(best, { query, options, journalOf })
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
  const asked = { ...query, limit: Math.min(mostAsked, limit * spare) }
  return store.search(signal === undefined ? asked : { ...asked, signal })
}

const roles: readonly unknown[] = ['system', 'user', 'assistant', 'tool']

function checkSearch(query: unknown, options: SearchOptions): void {
  assertOptions(options, searchOptions, 'search')
  const { limit = defaultLimit, audience = 'model', embed, kind, prefer = 'best' } = options
  if (typeof query !== 'string') throw wrongOption('query', 'a text')
  if (kind !== undefined && !['message', 'directive', 'checkpoint'].includes(kind))
    throw wrongOption('kind', "'message', 'directive' or 'checkpoint'")
  if (prefer !== 'hidden' && prefer !== 'best') throw wrongOption('prefer', "'hidden' or 'best'")
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
): Promise<readonly Found[]> {
  const { limit = defaultLimit, embed, signal, kind } = options
  const wanted = embed === undefined ? limit : Math.max(limit, maxEmbedded)
  const found = new Map<string, Found>()
  for (const passage of passages) {
    if (found.size >= wanted) break
    signal?.throwIfAborted()
    if (!passage.isOpen && options.audience !== 'person') continue
    if (kind !== undefined && kind !== kindOf(passage)) continue
    const journal = await journalOf(passage.thread)
    const result = journal && (await resultOf(journal, passage, options))
    if (result === undefined) continue
    const same = result.text.replaceAll(/\s+/g, ' ').toLowerCase()
    const known = found.get(same)
    if (known === undefined) found.set(same, result)
    else found.set(same, { ...known, repeats: (known.repeats ?? 0) + 1 })
  }
  return [...found.values()]
}

function kindOf({ speaker }: ScoredPassage): SearchKind {
  return speaker === 'checkpoint' || speaker === 'directive' ? speaker : 'message'
}

async function resultOf(
  journal: Journal,
  passage: ScoredPassage,
  options: SearchOptions,
): Promise<Found | undefined> {
  const about = {
    ...{ thread: passage.thread, index: passage.index, kind: kindOf(passage), place: passage },
    score: Math.round(passage.score * 1000) / 1000,
  }
  if (passage.speaker === 'checkpoint') return checkpointResult(journal, passage, options, about)
  const { role, tool, audience } = options
  const entry = await journal.message(passage.seq)
  if (entry === undefined || (role !== undefined && entry.role !== role)) return undefined
  const name = toolOf(entry)
  if (tool !== undefined && !namesOf(entry).includes(tool)) return undefined
  if (audience !== 'person' && !isReadable(journal, entry, passage.block)) return undefined
  const text = textAt(entry, passage, around)
  if (text === undefined) return undefined
  const { id, seq, at } = entry
  return {
    ...{ ...about, id, seq, at, role: entry.role, text },
    ...(name === undefined ? {} : { tool: name }),
  }
}

/** The checkpoint in force, as it is shown now: never one that holds what was withdrawn since. */
function checkpointResult(
  { state }: Journal,
  passage: ScoredPassage,
  { role, tool }: SearchOptions,
  about: Pick<Found, 'thread' | 'index' | 'kind' | 'score' | 'place'>,
): Found | undefined {
  const { checkpoint } = state
  if (checkpoint?.seq !== passage.seq || checkpoint.text === undefined) return undefined
  if (tool !== undefined || (role !== undefined && role !== 'user')) return undefined
  if (shownCheckpointText(state, checkpoint) !== checkpoint.text) return undefined
  const text = excerpt(checkpoint.text, passage, around)
  if (text === undefined) return undefined
  const { id, seq, at } = checkpoint
  return { ...about, id, seq, at, role: 'user', text }
}

/** Characters of a message beside one that matches. */
const neighbourLength = 200
/** Entries that are looked at for the next message: requests, edits and numbers stand between. */
const maxGap = 6

interface Surrounding {
  readonly query: string
  readonly options: SearchOptions
  readonly journalOf: (thread: string) => Promise<Journal | undefined>
}

/** Results with the messages beside them, and with where the words of the query stand. */
async function withSurroundings(
  found: readonly Found[],
  { query, options, journalOf }: Surrounding,
): Promise<readonly ThreadSearchResult[]> {
  const exactMarks = wordMarker(matchedTokens(query))
  let nearMarks: typeof exactMarks | undefined
  const marksIn = (text: string): SearchResult['marks'] => {
    const marks = exactMarks(text)
    if (marks.length > 0) return marks
    nearMarks ??= wordMarker(nearTokens(query))
    return nearMarks(text)
  }
  const results: ThreadSearchResult[] = []
  for (const { place: _, ...result } of found) {
    options.signal?.throwIfAborted()
    const journal = result.kind === 'checkpoint' ? undefined : await journalOf(result.thread)
    const [previous, next] =
      journal === undefined
        ? []
        : [
            await neighbourOf(journal, result.seq, -1, options),
            await neighbourOf(journal, result.seq, 1, options),
          ]
    results.push({
      ...result,
      marks: marksIn(result.text),
      ...(previous === undefined ? {} : { previous }),
      ...(next === undefined ? {} : { next }),
    })
  }
  return results
}

async function neighbourOf(
  journal: Journal,
  seq: number,
  step: 1 | -1,
  { audience }: SearchOptions,
): Promise<Neighbour | undefined> {
  const { state } = journal
  for (let at = seq + step; at >= 1 && at <= state.version; at += step) {
    if (Math.abs(at - seq) > maxGap) return undefined
    const entry = await journal.message(at)
    if (entry === undefined) continue
    const isOpen = audience === 'person'
    const shown = isOpen ? entry : readableMessage(readableIn(state), entry)
    const text = shown === undefined ? '' : messageText(shown)
    if (text === '') return undefined
    return { id: entry.id, role: entry.role, text: beginning(text) }
  }
  return undefined
}

function beginning(text: string): string {
  if (text.length <= neighbourLength) return text
  return `${text.slice(0, neighbourLength).toWellFormed().trim()} ...`
}

/** Whether a model may read a block in its original words now. */
export function isReadable(
  { state }: Pick<Journal, 'state'>,
  entry: MessageEntry,
  block: number,
): boolean {
  if (finalIn(state)(entry.seq, block)) return false
  return readableIn(state)(entry).some(({ position }) => position === block)
}
