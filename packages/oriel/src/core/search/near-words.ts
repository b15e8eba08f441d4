// What is looked for where a query finds nothing: its words with other endings, and as they are written without a slip of the keyboard.

import { matchedTokens, type QueryTerm, termsOf } from './query.ts'

/** Endings of plurals and cases in languages whose words the analysis leaves as they are, and letters, in the form that it gives them. */
const scripts = [
  {
    script: /^\p{Script=Cyrillic}/u,
    endings: 'а я ы и е у ю о ов ев еи ои ом ем ам ям ах ях ами ями ого его ому ему ых их'.split(
      ' ',
    ),
    letters: [...'абвгдежзиклмнопрстуфхцчшщъыьэюяіїєґ'],
  },
  {
    script: /^\p{Script=Greek}/u,
    endings: 'α ας ες η ης ο ος ου ον οι ων ους'.split(' '),
    letters: [...'αβγδεζηθικλμνξοπρσςτυφχψω'],
  },
] as const
const latin = {
  endings: ['en', 'n', 'e', 'er', 'es', 's', 'nen', 'i', 'a', 'x'],
  letters: [...'abcdefghijklmnopqrstuvwxyz'],
} as const
/** Letters that a word keeps at least. */
const shortestBase = 4
const shortestWord = 5
/** Longer words have too many neighbours, and are mostly names of programs. */
const longestWord = 20
const isWord = /^\p{L}+$/u

/** What such a word counts beside the one that was asked for. */
const endingWeight = 0.8
const slipWeight = 0.5
/** Tokens that a database looks for in the place of one. */
const perTerm = 60
/** Words of a query whose neighbours are looked for. */
const mostWords = 4

/** The terms that may stand for those of a query which found nothing. */
export function nearTermsOf(query: string): readonly QueryTerm[] {
  const words = termsOf(query).flatMap(({ token }) => (isNearable(token) ? [token] : []))
  return words.slice(0, mostWords).flatMap(inParts)
}

/** All words that such a query may match. */
export function nearTokens(query: string): ReadonlySet<string> {
  const tokens = new Set(matchedTokens(query))
  for (const { token, related } of nearTermsOf(query)) {
    tokens.add(token)
    for (const other of related.keys()) tokens.add(other)
  }
  return tokens
}

function isNearable(token: string): boolean {
  return token.length >= shortestWord && token.length <= longestWord && isWord.test(token)
}

/** One term is a list of words that is short enough for a database. */
function inParts(word: string): readonly QueryTerm[] {
  const near = [...neighbours(word)]
  const terms: QueryTerm[] = []
  for (let from = 0; from < near.length; from += perTerm) {
    const [first, ...rest] = near.slice(from, from + perTerm)
    if (first !== undefined) terms.push({ token: first[0], related: new Map(rest) })
  }
  return terms
}

/** Words that differ by an ending, and those that differ by one letter, which is not the first: added, missing, another one, or in the wrong place. */
function neighbours(word: string): ReadonlyMap<string, number> {
  const near = new Map<string, number>()
  const { endings, letters } = scripts.find(({ script }) => script.test(word)) ?? latin
  const add = (other: string, weight: number): void => {
    if (other !== word && !near.has(other)) near.set(other, weight)
  }
  for (const ending of endings) {
    if (word.endsWith(ending) && word.length - ending.length >= shortestBase) {
      add(word.slice(0, -ending.length), endingWeight)
    }
    add(word + ending, endingWeight)
  }
  for (let at = 1; at <= word.length; at++) {
    const [before, after] = [word.slice(0, at), word.slice(at + 1)]
    if (at < word.length) {
      add(before + after, slipWeight)
      if (at + 1 < word.length) {
        add(before + word.charAt(at + 1) + word.charAt(at) + word.slice(at + 2), slipWeight)
      }
    }
    for (const letter of letters) {
      if (at < word.length) add(before + letter + after, slipWeight)
      add(before + letter + word.slice(at), slipWeight)
    }
  }
  return near
}
