// Exact counting with the encoding o200k of gpt-tokenizer, guarded against runs that would take it minutes.

import { assertNever } from '../log/errors.ts'
import { kindOf, kinds } from './character-kind.ts'
import type { Counter } from './counter.ts'

/**
 * Counts as OpenAI's o200k encoding does, by gpt-tokenizer, which is loaded at the first count
 * (about 0.3 s, 75 MB).
 *
 * - The names of special tokens (`<|endoftext|>`) are text like any other.
 * - Exact, except inside a run of more than `maxRun` letters, symbols or spaces without a break:
 *   such a run is cut, and each cut may cost a token more or less. Uncut, the time would grow with
 *   the square of the run.
 */
export function exactCounter(load: () => Encoding): Counter {
  return { name: 'o200k', count: countWith(load) }
}

/**
 * Longer than words, lines and indents are in real text, and short enough: a megabyte of random
 * letters takes about two seconds, of one letter 50 ms.
 */
const maxRun = 256

/**
 * How many words gpt-tokenizer keeps in its cache. Its own default is 100,000, with which each
 * further use of a cached word costs up to 80 us: it moves the word to the end of a Map, and V8
 * leaves the old place in the chain. A megabyte of one rare word then takes seconds. With 1000 the
 * recorded conversations are counted as fast, and nothing stalls.
 */
const cachedWords = 1000

/** What we use of gpt-tokenizer. */
export interface Encoding {
  countTokens(text: string, options: { readonly disallowedSpecial: Set<string> }): number
  setMergeCacheSize(size: number): void
}

function countWith(load: () => Encoding): (text: string) => number {
  const options = { disallowedSpecial: new Set<string>() }
  let encoding: Encoding | undefined
  return (text) => {
    encoding ??= prepared(load())
    let tokens = 0
    let from = 0
    for (let to = nextCut(text, 0); to < text.length; to = nextCut(text, to)) {
      tokens += encoding.countTokens(text.slice(from, to), options)
      from = to
    }
    return tokens + encoding.countTokens(text.slice(from), options)
  }
}

function prepared(encoding: Encoding): Encoding {
  encoding.setMergeCacheSize(cachedWords)
  return encoding
}

/**
 * Where the text must be cut next: behind the first `maxRun` characters that o200k would take as
 * one piece, or at the text's end. Follows o200k's own splitting, so that nothing is cut without
 * need.
 */
function nextCut(text: string, from: number): number {
  let run: Run = 'digits'
  let start = from
  let previous = 0
  let index = from
  while (index < text.length) {
    const code = text.codePointAt(index) as number
    const group = groupOf(code)
    if (!joins({ group, run, code, previous })) {
      run = runOf(group)
      start = index
    }
    index += code > 0xffff ? 2 : 1
    if (index - start >= maxRun && run !== 'digits') return index
    previous = code
  }
  return text.length
}

/**
 * What o200k distinguishes when it splits. Digits are taken three at a time and never make a long
 * piece.
 */
type Group = 'letter' | 'mark' | 'symbol' | 'newline' | 'blank' | 'digit'
type Run = 'letters' | 'symbols' | 'spaces' | 'digits'

function groupOf(code: number): Group {
  if (code >= 128) return wideGroupOf(code)
  const kind = kindOf(code)
  if (kind === kinds.lower || kind === kinds.upper) return 'letter'
  if (kind === kinds.blank) return 'blank'
  if (kind === kinds.newline) return 'newline'
  return kind === kinds.digit ? 'digit' : 'symbol'
}

function wideGroupOf(code: number): Group {
  if (code >= 0x4e00 && code <= 0x9fff) return 'letter'
  const character = String.fromCodePoint(code)
  if (/\p{L}/u.test(character)) return 'letter'
  if (/\p{M}/u.test(character)) return 'mark'
  if (/\s/u.test(character)) return 'blank'
  return /\p{N}/u.test(character) ? 'digit' : 'symbol'
}

function runOf(group: Group): Run {
  if (group === 'letter' || group === 'mark') return 'letters'
  if (group === 'symbol') return 'symbols'
  return group === 'digit' ? 'digits' : 'spaces'
}

interface Place {
  readonly group: Group
  readonly run: Run
  readonly code: number
  readonly previous: number
}

function joins({ group, run, code, previous }: Place): boolean {
  switch (group) {
    case 'letter':
      return run === 'letters' && !(isLower(previous) && kindOf(code) === kinds.upper)
    case 'mark':
      return run === 'letters' || run === 'symbols'
    case 'symbol':
      // Line breaks and slashes trail a run of symbols; any other symbol behind a line break begins
      // the next.
      return run === 'symbols' && (code === slash || !isNewline(previous))
    case 'newline':
      return run === 'spaces' || run === 'symbols'
    case 'blank':
      return run === 'spaces'
    case 'digit':
      return false
    default:
      return assertNever(group)
  }
}

const slash = 0x2f

function isLower(code: number): boolean {
  return kindOf(code) === kinds.lower
}

function isNewline(code: number): boolean {
  return kindOf(code) === kinds.newline
}
