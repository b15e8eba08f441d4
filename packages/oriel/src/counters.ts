// The token counters that a caller can name, and the check of one that a caller brings.

import { createRequire } from 'node:module'
import { assertNever, OrielError } from './core/log/errors.ts'
import { kindOf, kinds } from './core/tokens/character-kind.ts'
import type { Counter } from './core/tokens/counter.ts'
import { estimate } from './core/tokens/estimate.ts'

/**
 * How tokens are counted: by the estimate, exactly as OpenAI's o200k does, or by a counter of your
 * own.
 */
export type TokensOption = 'estimate' | 'o200k' | Counter

/**
 * The counter that an option names; `estimate` when there is none. The same option always gives the
 * same object. Throws `invalid-option` for anything else.
 */
export function resolveCounter(option: TokensOption | undefined): Counter {
  if (option === undefined || option === 'estimate') return estimate
  if (option === 'o200k') return o200k
  if (isCounter(option)) return option
  throw new OrielError(
    'invalid-option',
    `tokens must be 'estimate', 'o200k' or { name, count }; got ${describe(option)}`,
    { path: 'tokens' },
  )
}

function isCounter(option: unknown): option is Counter {
  if (typeof option !== 'object' || option === null) return false
  const { name, count } = option as Partial<Counter>
  return typeof name === 'string' && name !== '' && typeof count === 'function'
}

function describe(option: unknown): string {
  if (typeof option === 'string') return `the unknown name ${JSON.stringify(option.slice(0, 40))}`
  if (option === null) return 'null'
  return typeof option === 'object' ? 'an object that is no counter' : `a ${typeof option}`
}

/**
 * Counts as OpenAI's o200k encoding does, by gpt-tokenizer, which is loaded at the first count
 * (about 0.3 s, 75 MB).
 *
 * - The names of special tokens (`<|endoftext|>`) are text like any other.
 * - Exact, except inside a run of more than `maxRun` letters, symbols or spaces without a break:
 *   such a run is cut, and each cut may cost a token more or less. Uncut, the time would grow with
 *   the square of the run.
 */
const o200k: Counter = { name: 'o200k', count: createExactCount() }

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
interface Encoding {
  countTokens(text: string, options: { readonly disallowedSpecial: ReadonlySet<string> }): number
  setMergeCacheSize(size: number): void
}

function createExactCount(): (text: string) => number {
  const options = { disallowedSpecial: new Set<string>() }
  let encoding: Encoding | undefined
  return (text) => {
    encoding ??= loadEncoding()
    let tokens = 0
    let from = 0
    for (let to = nextCut(text, 0); to < text.length; to = nextCut(text, to)) {
      tokens += encoding.countTokens(text.slice(from, to), options)
      from = to
    }
    return tokens + encoding.countTokens(text.slice(from), options)
  }
}

/**
 * Synchronous, because `project` is; and the package's CommonJS build loads on every Node that we
 * support.
 */
function loadEncoding(): Encoding {
  const require = createRequire(import.meta.url)
  const encoding = require('gpt-tokenizer/encoding/o200k_base') as Encoding
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
 * What o200k tells apart when it splits. Digits are taken three at a time and never make a long
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
