// What a query looks for: its telling words, in their forms and with words that say nearly the same.

import { analyse, wordsIn } from './analysis.ts'
import { relatedTo } from './related-words.ts'

const maxQuery = 2000
const maxTerms = 32

/** The tokens of a query: each once, without words that are in every text, unless there is nothing else. */
export function analyseQuery(query: string): readonly string[] {
  const all = [...new Set(analyse(query.slice(0, maxQuery)))]
  const telling = all.filter((token) => !stopWords.has(token))
  return (telling.length === 0 ? all : telling).slice(0, maxTerms)
}

/** A token to look for, and others that may stand in its place. */
export interface QueryTerm {
  readonly token: string
  /** Its other forms and tokens that say nearly the same, with what each counts beside it. */
  readonly related: ReadonlyMap<string, number>
  /** The identifier that it is a part of: a part is looked for only where the whole is not found. */
  readonly within?: string
}

/** The terms of a query, identifiers before their parts. */
export function termsOf(query: string): readonly QueryTerm[] {
  const identifiers = identifiersIn(query.slice(0, maxQuery))
  const terms = analyseQuery(query).map((token): QueryTerm => {
    const within = identifiers.get(token)
    const term = { token, related: relatedTo(token) }
    return within === undefined ? term : { ...term, within }
  })
  return [
    ...terms.filter(({ within }) => within === undefined),
    ...terms.filter(({ within }) => within !== undefined),
  ]
}

/** All tokens that a query may match. */
export function matchedTokens(query: string): ReadonlySet<string> {
  return new Set(termsOf(query).flatMap(({ token, related }) => [token, ...related.keys()]))
}

/** Words with digits, capitals or marks inside, and paths: names of one thing. "and/or" and "must-read" are prose. */
const isIdentifier = /\p{L}\p{N}|\p{N}\p{L}|[\p{L}\p{N}][_.:@#\\]+[\p{L}\p{N}]|\p{Ll}\p{Lu}|\/.*\//u

/** The identifiers in a query, by their parts. A part that also stands alone is a word of its own. */
function identifiersIn(query: string): ReadonlyMap<string, string> {
  const wholes = new Map<string, string>()
  const alone = new Set<string>()
  for (const { word } of wordsIn(query.normalize('NFKC'))) {
    const tokens = analyse(word)
    const whole = tokens.reduce((longest, one) => (one.length > longest.length ? one : longest), '')
    const isOne = tokens.length > 1 && isIdentifier.test(word)
    for (const token of tokens) {
      if (isOne && token !== whole) wholes.set(token, whole)
      else alone.add(token)
    }
  }
  for (const token of alone) wholes.delete(token)
  return wholes
}

/** Whether a word asks for something rather than names it: it counts, but little. */
export function isWeak(token: string): boolean {
  return weakWords.has(token)
}

/** Words that tell nothing about what is looked for, in their stems. */
const stopWords: ReadonlySet<string> = new Set(
  `a an the and or but if then than that this these those there here of in on at to for from by with about as into is are was were be been being am do doe did done
  have has had having i you he she it we they me him her us them my your his its our their mine what which who whom whose when where why how can could will would
  shall should may might must not no nor so too very just also any some all such only own same other more most again please tell me did you remember mention
  der die das und oder aber ist sind war ein eine einer eines den dem des ich du er sie es wir ihr nicht mit von zu im auf für wie wann wo wer
  le la les un une des et ou est sont de du dans que qui je tu il elle nous vous ne pas el los las una y o es son en que no se`
    .split(/\s+/)
    .flatMap((word) => analyse(word)),
)

/** Words with which people ask about a conversation, in their stems: what they look for was said without them. */
const weakWords: ReadonlySet<string> = new Set(
  `many much long often number total different time kind type thing recommend suggest mention said say talk discuss conversation chat previous earlier remind look back go
  want need help know get got use give provide list across session order walk through comprehensive summary summarize bring brought aspect throughout make made ask plan
  consider work way specific`
    .split(/\s+/)
    .flatMap((word) => analyse(word)),
)
