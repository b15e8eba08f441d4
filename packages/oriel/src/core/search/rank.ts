// BM25 over the passages that a database gives for the terms of a query, the same for every store.

import { isWeak } from './analysis.ts'
import type { Passage, Speaker } from './passages.ts'

/** A passage as a store gives it back. */
export interface IndexedPassage extends Passage {
  /** Grows in the order in which a store indexes. */
  readonly id: number
  readonly thread: string
}

/** The passages with one term, the newest first, and about how many there are in all. */
export interface TermMatches {
  readonly term: string
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

/** The passages that have the most telling terms: what is read and scored exactly. The newest first among equals. */
export function candidatesOf(
  matches: readonly TermMatches[],
  total: number,
  limit: number,
): readonly number[] {
  const weights = new Map<number, number>()
  for (const match of matches) {
    const weight = weightOf(match, total)
    for (const id of match.ids) weights.set(id, (weights.get(id) ?? 0) + weight)
  }
  const sorted = [...weights].sort(([a, left], [b, right]) => right - left || b - a)
  return sorted.slice(0, limit).map(([id]) => id)
}

/** Scores passages by the terms in them, the best first. */
export function scorePassages(
  passages: readonly IndexedPassage[],
  matches: readonly TermMatches[],
  total: number,
): readonly ScoredPassage[] {
  const weights = new Map(matches.map((match) => [match.term, weightOf(match, total)]))
  const scored = passages.map((passage) => ({ ...passage, score: scoreOf(passage, weights) }))
  return scored.filter(({ score }) => score > 0).sort(byScore)
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

function scoreOf(
  { tokens, speaker }: IndexedPassage,
  weights: ReadonlyMap<string, number>,
): number {
  // Tokens with a colon in front name groups of threads.
  const all = tokens.split(' ').filter((token) => !token.startsWith(':'))
  const counts = new Map<string, number>()
  for (const token of all) {
    if (weights.has(token)) counts.set(token, (counts.get(token) ?? 0) + 1)
  }
  const norm = saturation * (1 - lengthShare + (lengthShare * all.length) / usualLength)
  let score = 0
  for (const [token, count] of counts) {
    score += ((weights.get(token) ?? 0) * count * (saturation + 1)) / (count + norm)
  }
  return score * speakerWeights[speaker]
}

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
