// The order by meaning: an embedder's vectors for the passages that words found, and for all other messages of the thread.

import type { MessageEntry } from '../../core/log/entry.ts'
import { excerpt, messageText } from '../../core/search/passages.ts'
import { fuseRanks } from '../../core/search/rank.ts'
import { readableIn, readableMessage } from '../../core/text/readable.ts'
import type { Journal } from '../journal/journal.ts'
import { type Found, namesOf, toolOf } from './found.ts'
import type { SearchOptions } from './search.ts'

/** Vectors for texts, in their order: a model of yours. */
export type Embed = (texts: readonly string[]) => Promise<readonly (readonly number[])[]>

/** Passages found by words whose meaning is compared. */
export const maxEmbedded = 50
/** Newest messages whose meaning is compared though no word of the query is in them. */
const maxByMeaning = 10_000
/** Entries that are read from the store at once. */
const pageSize = 500
/** Texts that an embedder gets at once. */
const batchSize = 128
/** No further texts are given to it after this long: the newest are known, and later searches continue. */
const embeddingMs = 8000
/** A message without a word of the query is found where it is this close to it, as a share of the closest one. */
const leastCloseness = 0.8
/** Messages that are found by their meaning alone. */
const maxFound = 100
/** Characters of a message that was found by its meaning. */
const passageLength = 1200
/** Most characters of a text that an embedder gets. */
const maxEmbeddedText = 2000

/**
 * The order by words and that by meaning, fused. The second one also has messages of the journal that share no word with the query. An
 * embedder that fails leaves the first.
 */
export async function rankByMeaning(
  found: readonly Found[],
  query: string,
  options: SearchOptions,
  journal?: Journal,
): Promise<readonly Found[]> {
  const { embed, signal } = options
  if (embed === undefined) return found
  const [best, rest] = [found.slice(0, maxEmbedded), found.slice(maxEmbedded)]
  const byWords = new Set(found.map(({ id }) => id))
  const others = journal === undefined ? [] : await candidatesOf(journal, options, byWords)
  const vectors = vectorsOf(embed, journal)
  const texts = [query, ...best.map(({ text }) => text), ...others.map(({ text }) => text)]
  const known = await vectors.of(texts, signal)
  const [asked, ...own] = texts.map((text) => known.get(embedded(text)))
  if (asked === undefined) return found
  const measured = [...best, ...others].map((one, at) => ({ one, close: cosine(asked, own[at]) }))
  const closest = measured.reduce((most, { close }) => Math.max(most, close), 0)
  const byMeaning = measured
    .filter(
      ({ one, close }) => !isCandidate(one) || (close > 0 && close >= closest * leastCloseness),
    )
    .sort((a, b) => b.close - a.close)
    .slice(0, maxFound + maxEmbedded)
    .map(({ one }) => one)
  const fused = fuseRanks<Found | Candidate>([best, byMeaning])
  return [...fused.map((one) => (isCandidate(one) ? asFound(one) : one)), ...rest]
}

/** A message that may be found by its meaning alone. */
interface Candidate {
  readonly entry: MessageEntry
  /** As its reader may see it. */
  readonly text: string
  readonly thread: string
  readonly index: number
}

function isCandidate(one: Found | Candidate): one is Candidate {
  return 'entry' in one
}

/** The messages that words did not find, as far as their reader may see them, the newest first. */
async function candidatesOf(
  journal: Journal,
  { audience, role, tool, kind, signal }: SearchOptions,
  known: ReadonlySet<string>,
): Promise<readonly Candidate[]> {
  const { state } = journal
  const { thread } = journal.key
  const readable = readableIn(state)
  const candidates: Candidate[] = []
  if (kind === 'checkpoint' || kind === 'directive') return []
  let index = state.messageCount
  for await (const entry of newestFirst(journal)) {
    if (candidates.length >= maxByMeaning) break
    signal?.throwIfAborted()
    index -= 1
    const isWanted = role === undefined || entry.role === role
    if (known.has(entry.id) || !isWanted || (tool !== undefined && !namesOf(entry).includes(tool)))
      continue
    const shown = audience === 'person' ? entry : readableMessage(readable, entry)
    const text = shown === undefined ? '' : messageText(shown)
    if (text !== '') candidates.push({ entry, text, thread, index })
  }
  return candidates
}

/** All messages of a log. What the state no longer holds is read from the store, a page at a time. */
async function* newestFirst({ state, store, key }: Journal): AsyncGenerator<MessageEntry> {
  for (let to = state.version; to >= 1; to -= pageSize) {
    const from = Math.max(1, to - pageSize + 1)
    const page: MessageEntry[] = []
    if (state.isPartial) {
      for await (const entry of store.read(key, { from, to }))
        if (entry.type === 'message') page.push(entry)
    } else {
      for (let seq = from; seq <= to; seq++) {
        const entry = state.item(seq)?.entry
        if (entry !== undefined) page.push(entry)
      }
    }
    yield* page.reverse()
  }
}

function asFound({ entry, text, thread, index }: Candidate): Found {
  const { id, seq, at, role } = entry
  const shown = excerpt(text, { from: 0, to: passageLength }, 0) ?? ''
  const place = { seq, index, block: 0, from: 0, to: Math.min(text.length, passageLength) }
  const name = toolOf(entry)
  return {
    ...{ thread, id, index, seq, at, role, kind: 'message', text: shown, score: 0, place },
    ...(name === undefined ? {} : { tool: name }),
  }
}

/**
 * The vectors that an embedder gave for texts of one thread. They live in memory, as long as the thread is open, and only for what the
 * newest search could show: what was excluded or erased since leaves no vector.
 */
class Vectors {
  readonly #embed: Embed
  #remembered: ReadonlyMap<string, Float32Array> = new Map()

  constructor(embed: Embed) {
    this.#embed = embed
  }

  /** Vectors by text. Asks for what is not known, in their order, until the time is over or the embedder fails. */
  async of(
    all: readonly string[],
    signal: AbortSignal | undefined,
  ): Promise<ReadonlyMap<string, Float32Array>> {
    const texts = new Set(all.map(embedded))
    const known = new Map([...this.#remembered].filter(([text]) => texts.has(text)))
    const missing = [...texts].filter((text) => !known.has(text))
    this.#remembered = known
    const end = performance.now() + embeddingMs
    for (let from = 0; from < missing.length; from += batchSize) {
      if (from > 0 && performance.now() > end) break
      signal?.throwIfAborted()
      const batch = missing.slice(from, from + batchSize)
      const vectors = await this.#ask(batch)
      if (vectors === undefined) break
      for (const [at, text] of batch.entries())
        known.set(text, Float32Array.from(vectors[at] ?? []))
    }
    signal?.throwIfAborted()
    return known
  }

  async #ask(texts: readonly string[]): Promise<readonly (readonly number[])[] | undefined> {
    try {
      const vectors = await this.#embed(texts)
      return vectors.length === texts.length ? vectors : undefined
    } catch {
      return undefined
    }
  }
}

function embedded(text: string): string {
  return text.slice(0, maxEmbeddedText)
}

const remembered = new WeakMap<Journal, WeakMap<Embed, Vectors>>()

function vectorsOf(embed: Embed, journal: Journal | undefined): Vectors {
  if (journal === undefined) return new Vectors(embed)
  const own = remembered.get(journal) ?? new WeakMap<Embed, Vectors>()
  remembered.set(journal, own)
  const vectors = own.get(embed) ?? new Vectors(embed)
  own.set(embed, vectors)
  return vectors
}

/** No closeness to what is not known. */
function cosine(a: Float32Array, b: Float32Array | undefined): number {
  let [product, left, right] = [0, 0, 0]
  for (const [index, value] of a.entries()) {
    const other = b?.[index] ?? 0
    product += value * other
    left += value * value
    right += other * other
  }
  const size = Math.sqrt(left * right)
  return size > 0 && Number.isFinite(product) ? product / size : 0
}
