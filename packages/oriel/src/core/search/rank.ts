// BM25 over the passages that a database gives for the terms of a query, the same for every store.

import { hints, lengthOf, speakerOf } from './hint.ts'
import type { Passage, Speaker } from './passages.ts'
import { isWeak } from './query.ts'

/** A passage as a store gives it back. */
export interface IndexedPassage extends Passage {
  /** Grows in the order in which a store indexes; its last bits are the passage's hint. */
  readonly id: number
  readonly thread: string
}

/** The passages with one term or what stands for it, the newest first, and about how many there are in all. */
export interface TermMatches {
  readonly term: string
  /** Tokens that stand for it, with what each counts. @default none */
  readonly related?: ReadonlyMap<string, number>
  readonly ids: readonly number[]
  readonly count: number
}

export interface ScoredPassage extends IndexedPassage {
  readonly score: number
}

const saturation = 0.8
const lengthShare = 0.75
/** Tokens of a usual passage. A fixed number: the order then does not depend on what else is in the store. */
const usualLength = 60

/** What a word with which people only ask counts, beside one that names something. */
const weakShare = 0.4

/** The weight of a term in a collection of so many passages. */
function weightOf({ term, count }: Pick<TermMatches, 'term' | 'count'>, total: number): number {
  const rarity = Math.log(1 + (Math.max(total, count) - count + 0.5) / (count + 0.5))
  return isWeak(term) ? rarity * weakShare : rarity
}

/**
 * The passages that may score best, by what their ids tell: who says it, how long it is, and which terms it has, each counted once. These are
 * read and scored exactly. The newest first among equals.
 */
export function candidatesOf(
  matches: readonly TermMatches[],
  total: number,
  limit: number,
): readonly number[] {
  const sums = new Map<number, number>()
  for (const match of matches) {
    const weight = weightOf(match, total)
    for (const id of match.ids) sums.set(id, (sums.get(id) ?? 0) + weight)
  }
  const scores = Float64Array.from(sums, ([id, sum]) => sum * (onceByHint[id % hints] ?? 1))
  const least = scores.length <= limit ? 0 : (scores.toSorted()[scores.length - limit] as number)
  const best: { readonly id: number; readonly score: number }[] = []
  let at = 0
  for (const id of sums.keys()) {
    const score = scores[at++] as number
    if (score >= least) best.push({ id, score })
  }
  return best
    .sort((a, b) => b.score - a.score || b.id - a.id)
    .slice(0, limit)
    .map(({ id }) => id)
}

/** Scores passages by the terms in them, the best first. */
export function scorePassages(
  passages: readonly IndexedPassage[],
  matches: readonly TermMatches[],
  total: number,
): readonly ScoredPassage[] {
  const termsIn = new Map(passages.map(({ id }): [number, WeighedTerm[]] => [id, []]))
  for (const match of matches) {
    const forms = [[match.term, 1] as const, ...(match.related ?? [])]
    const term = { weight: weightOf(match, total), forms }
    // Of a common term only the newest passages are known: others may have it too.
    const ids = match.ids.length < match.count ? termsIn.keys() : match.ids
    for (const id of ids) termsIn.get(id)?.push(term)
  }
  const scored: ScoredPassage[] = []
  for (const passage of passages) {
    const score = scoreOf(passage, termsIn.get(passage.id) ?? [])
    if (score > 0) scored.push({ ...passage, score })
  }
  return scored.sort(byScore)
}

interface WeighedTerm {
  readonly weight: number
  readonly forms: readonly (readonly [token: string, share: number])[]
}

/**
 * A user's own words answer most questions about a conversation, and what is to hold from now on is asked for most; an output of a tool is
 * long and says little in each of its lines; what a checkpoint says was said before it.
 */
const speakerWeights: Readonly<Record<Speaker, number>> = {
  directive: 2.6,
  user: 2.5,
  other: 1,
  tool: 0.8,
  checkpoint: 0.5,
}

function scoreOf({ tokens, speaker }: IndexedPassage, terms: readonly WeighedTerm[]): number {
  const text = ` ${tokens} `
  const norm = normOf(countIn(tokens))
  let score = 0
  for (const { weight, forms } of terms) {
    let count = 0
    for (const [token, share] of forms) count += share * occurrences(text, token)
    if (count > 0) score += (weight * count * (saturation + 1)) / (count + norm)
  }
  return score * speakerWeights[speaker]
}

/** How many tokens a passage has. Those with a colon in front, which stand first, name groups of threads. */
function countIn(tokens: string): number {
  let from = 0
  while (tokens.startsWith(':', from)) from = tokens.indexOf(' ', from) + 1
  let count = 1
  for (let at = tokens.indexOf(' ', from); at >= 0; at = tokens.indexOf(' ', at + 1)) count += 1
  return count
}

function normOf(length: number): number {
  return saturation * (1 - lengthShare + (lengthShare * length) / usualLength)
}

/** How often a token stands in tokens between spaces. */
function occurrences(text: string, token: string): number {
  const whole = ` ${token} `
  let count = 0
  // The space behind one is that before the next.
  for (let at = text.indexOf(whole); at >= 0; at = text.indexOf(whole, at + whole.length - 1))
    count += 1
  return count
}

/** What a term counts that a passage with a hint has once. An unknown hint is that of a later version. */
const onceByHint: readonly number[] = Array.from({ length: hints }, (_, hint) => {
  return (speakerWeights[speakerOf(hint)] * (saturation + 1)) / (1 + normOf(lengthOf(hint)))
})

/** One passage for each message, its best; what is added for further ones found fewer answers. */
export function bestPerMessage(scored: readonly ScoredPassage[]): readonly ScoredPassage[] {
  const best = new Map<string, ScoredPassage>()
  for (const passage of scored) {
    const key = `${passage.seq}:${passage.thread}`
    if (!best.has(key)) best.set(key, passage)
  }
  return [...best.values()]
}

/** The best first; among equals the newest. */
function byScore(a: ScoredPassage, b: ScoredPassage): number {
  return b.score - a.score || b.id - a.id
}

/** Two orders of the same things as one, by the reciprocals of their places. */
export function fuseRanks<T>(orders: readonly (readonly T[])[]): readonly T[] {
  const sums = new Map<T, number>()
  for (const order of orders) {
    for (const [place, one] of order.entries())
      sums.set(one, (sums.get(one) ?? 0) + 1 / (fusion + place))
  }
  return [...sums].sort(([, a], [, b]) => b - a).map(([one]) => one)
}

const fusion = 60
