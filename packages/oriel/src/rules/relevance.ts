// Results that have nothing to do with what came after them (document 001's future work): judged by the words they share.

import { textOf } from '../core/log/block.ts'
import type { Result } from '../core/state/results.ts'
import { type State, startsTurn } from '../core/state/state.ts'
import { readableIn } from '../core/text/readable.ts'
import { lookupOf } from './name-lookup.ts'

interface JudgedResult {
  readonly text: string
  readonly tool: string
}

/** How relevant a result is to what was said recently: 0 not at all, 1 fully; undefined while that is not known. Rules never wait. */
export type Relevance = (result: JudgedResult, recent: string) => number | undefined

/**
 * The host's judge: 0 not at all relevant, 1 fully; NaN keeps the result. One that answers with a promise runs as a job: its answers are
 * kept in the log. Where it fails or takes too long, the score by shared words is used.
 */
export type RelevanceJudge = (
  result: JudgedResult,
  recent: string,
  context: { readonly signal: AbortSignal },
) => number | Promise<number>

export interface RelevanceSettings {
  /** Results below it expire. @default 0.3 */
  readonly threshold?: number | undefined
  /** The tools whose results are judged, by name or pattern, each with its own threshold. @default all tools */
  readonly tools?: Readonly<Record<string, { readonly threshold?: number | undefined }>> | undefined
  /** Judges a result. @default the lexical score */
  readonly judge?: Relevance | undefined
}

export type Irrelevant = Result & { readonly reason: string; readonly since: number }

/** A result is judged when it is this many steps old, and again at each doubling: always against the steps just before. */
const recentSteps = 3
/** Characters of the recent steps, and of a result, that are looked at. */
const inspectedLength = 20_000
/** Shared words from which on a text counts as fully relevant, whatever its length. */
const enough = 12

/**
 * Results that the model has seen and that were found irrelevant. Judged at fixed ages against a fixed part of the log, so that it does
 * not matter how often one looks.
 */
export function expireIrrelevant(
  state: State,
  results: readonly Result[],
  { threshold = 0.3, tools, judge = lexical() }: RelevanceSettings,
): readonly Irrelevant[] {
  const lookup = tools === undefined ? undefined : lookupOf(tools)
  const said = saidBy(state)
  const { steps } = state.clock
  return results.flatMap((result) => {
    const { item, block, tool } = result
    const { seq, step } = item.entry
    if (result.isProtected || state.blockEdit(seq, block)?.rule === 'expiry') return []
    const own = lookup === undefined ? {} : lookup.find(tool)
    if (own === undefined) return []
    const { threshold: least = threshold } = own
    const id = state.blockIdAt({ seq, block })
    for (let age = recentSteps; state.step - step > age; age *= 2) {
      // Filled in when it is known; a judge may take its time.
      const known = state.derive(
        `relevant:${id}:${age}`,
        (): { score?: number | undefined } => ({}),
      )
      if (known.score === undefined) {
        const recent = said(step + age)
        const text = textOf(result.content.content)
        known.score = recent === '' ? Number.NaN : judge({ text, tool }, recent)
      }
      const { score } = known
      // A later judgment must not come first: the result would not expire when it should have.
      if (score === undefined) return []
      if (!(score < least)) continue
      const reason = `little to do with the steps after it (${score.toFixed(2)})`
      return [
        { ...result, reason, since: Math.max(steps.get(step + age) ?? 0, result.seenAt ?? 0) },
      ]
    }
    return []
  })
}

/** What users and the model said in the steps up to one, and the user's request that was open then. Results say nothing here. */
function saidBy(state: State): (step: number) => string {
  const bySteps = new Map<number, string[]>()
  const requests = new Map<number, string>()
  let request = ''
  const readable = readableIn(state)
  for (const { entry } of state.visible) {
    if (entry.role !== 'assistant' && entry.role !== 'user') continue
    const words = readable(entry).flatMap(({ block }) => {
      if (block.type === 'text') return [block.text]
      return block.type === 'tool-call' ? [block.arguments] : []
    })
    if (startsTurn(entry)) request = words.join('\n')
    requests.set(entry.step, request)
    bySteps.set(entry.step, [...(bySteps.get(entry.step) ?? []), ...words])
  }
  return (step) => {
    const recent = Array.from(
      { length: recentSteps },
      (_, index) => bySteps.get(step - index) ?? [],
    )
    const text = [requests.get(step) ?? '', ...recent.flat()].join('\n').trim()
    return text.slice(0, inspectedLength)
  }
}

/** Words that say nothing about a subject. */
const stopWords: ReadonlySet<string> = new Set(
  'the and for are was with that this from have has not you your can will but all any out use into about what when which there their then than them they would could should please now just like also more some only over here how why who its our let get got did does done been were'.split(
    ' ',
  ),
)

/** The share of recent words that a result has, ids and paths counting threefold; a dozen of them is enough. */
export const lexicalRelevance: Relevance = ({ text }, recent) =>
  scoreOf(termsOf(text), termsOf(recent))

/** The same for many results: the terms of each text are found once, however often it is compared. */
function lexical(): Relevance {
  const known = new Map<string, ReadonlyMap<string, number>>()
  const terms = (text: string): ReadonlyMap<string, number> => {
    const own = known.get(text) ?? termsOf(text)
    known.set(text, own)
    if (known.size > rememberedTerms) known.delete(known.keys().next().value ?? '')
    return own
  }
  return ({ text }, recent) => scoreOf(terms(text), terms(recent))
}

/** Texts whose terms are kept at the same time. */
const rememberedTerms = 64

function scoreOf(found: ReadonlyMap<string, number>, asked: ReadonlyMap<string, number>): number {
  let shared = 0
  for (const [term, weight] of asked) if (found.has(term)) shared += weight
  const most = Math.min(enough, weightOf(asked), weightOf(found))
  return most === 0 ? 1 : Math.min(1, shared / most)
}

function termsOf(text: string): ReadonlyMap<string, number> {
  const terms = new Map<string, number>()
  for (const [word] of text
    .slice(0, inspectedLength)
    .toLowerCase()
    .matchAll(/[\p{L}\p{N}][\p{L}\p{N}_./#-]{2,60}/gu)) {
    const term = word.replace(/[./#-]+$/, '')
    if (stopWords.has(term)) continue
    terms.set(term, /[\d_/#]|\.\w/.test(term) ? 3 : 1)
    for (const part of term.split(/[_./#-]/)) {
      if (part.length > 2 && part !== term && !stopWords.has(part))
        terms.set(part, terms.get(part) ?? 1)
    }
  }
  return terms
}

function weightOf(terms: ReadonlyMap<string, number>): number {
  let sum = 0
  for (const weight of terms.values()) sum += weight
  return sum
}
