// Token costs of text pieces. Every number is a mean measured against o200k.

// Words in Latin letters. Measured in half of the recorded conversations (the other half is the
// test set), and in code, manuals and configuration files of a development machine.

/** A word in Latin letters. */
export interface Word {
  length: number
  /** Leading uppercase letters. */
  uppers: number
  /** Accented letters. */
  accents: number
  /** Adjacent letter pairs that are rare in words. */
  rarePairs: number
  /**
   * After a space a word is nearly always one token. Bare (after a quote, a digit, a word) it
   * splits sooner.
   */
  isAfterSpace: boolean
}

interface Shape {
  /** Cost beyond the first token, from three letters on. */
  readonly once: number
  /** Per letter after the second. */
  readonly perLetter: number
  /** Additional, per letter after the seventh. */
  readonly perLateLetter: number
}

const bareLower: Shape = { once: 0, perLetter: 0.041, perLateLetter: 0.133 }
const spacedLower: Shape = { once: 0, perLetter: 0, perLateLetter: 0.03 }
const bareCapital: Shape = { once: 0, perLetter: 0.018, perLateLetter: 0.027 }
const spacedCapital: Shape = { once: 0, perLetter: 0.021, perLateLetter: 0.086 }
// o200k has few uppercase words: `SFO` is two tokens.
const bareUpper: Shape = { once: 0.21, perLetter: 0.11, perLateLetter: 0.258 }
const spacedUpper: Shape = { once: 0.033, perLetter: 0.095, perLateLetter: 0.016 }
// `HTMLParser` is one piece in o200k, but seldom one token.
const bareMixed: Shape = { once: 0.39, perLetter: 0.188, perLateLetter: 0 }
const spacedMixed: Shape = { once: 0.39, perLetter: 0.07, perLateLetter: 0 }

/**
 * Per letter after the sixteenth, where it is hardly a word. Runs of one letter cost 0.13 to 0.5
 * per letter.
 */
const perEndlessLetter = 0.15
/** Tokens often end between letters that rarely occur together. */
const rarePairTokens = 0.34
/** Accented words are not English, and o200k has fewer of those. */
const perAccent = 0.1
const perAccentedLetter = 0.28

/** Tokens of a word in Latin letters. */
export function wordTokens(word: Word): number {
  const { length, accents } = word
  if (length < 3) return 1 + accents * perAccent
  const { once, perLetter, perLateLetter } = shapeOf(word)
  let tokens = 1 + once + (length - 2) * perLetter + word.rarePairs * rarePairTokens
  if (length > 7) tokens += (length - 7) * perLateLetter
  if (length > 16) tokens += (length - 16) * perEndlessLetter
  if (accents > 0) tokens += accents * perAccent + (length - 3) * perAccentedLetter
  return tokens
}

/** `wordTokens` for a lowercase ASCII word after a space. */
export function plainWordTokens(length: number, rare: number): number {
  if (length < 3) return 1
  let tokens = 1 + rare * rarePairTokens
  if (length > 7) tokens += (length - 7) * spacedLower.perLateLetter
  if (length > 16) tokens += (length - 16) * perEndlessLetter
  return tokens
}

function shapeOf({ length, uppers, isAfterSpace }: Word): Shape {
  if (uppers === 0) return isAfterSpace ? spacedLower : bareLower
  if (uppers === 1) return isAfterSpace ? spacedCapital : bareCapital
  if (uppers === length) return isAfterSpace ? spacedUpper : bareUpper
  return isAfterSpace ? spacedMixed : bareMixed
}

/**
 * Tokens of a word inside random text such as base64 or hex: measured 1.0 for one letter, 2.3 for
 * four, 4.2 for eight.
 */
export function randomWordTokens(length: number): number {
  return 0.38 + 0.48 * length
}

/**
 * `'s` after a word: 4 of 10 in the conversations are a separate token. `n't`, `'re` and the like
 * are part of the word.
 */
export const possessiveTokens = 0.4

/**
 * For each letter, the letters that follow it in at least 5 of o200k's first 10,000 tokens. All
 * other pairs are rare.
 */
const commonPairs: Readonly<Record<string, string>> = {
  a: 'abcdfgiklmnprstuvwxyz',
  b: 'aeijlorstu',
  c: 'acehiklortuy',
  d: 'adegilorstuy',
  e: 'abcdefghiklmnopqrstuvwxy',
  f: 'aefilortu',
  g: 'aehilnorstu',
  h: 'aeinortu',
  i: 'abcdefgjklmnoprstvxz',
  j: 'aeosu',
  k: 'aeios',
  l: 'adefilostuy',
  m: 'abeimopsu',
  n: 'acdefgiklnostuvy',
  o: 'abcdfgiklmnoprstuvwy',
  p: 'adehiloprstuy',
  q: 'u',
  r: 'acdefgiklmnorstuvy',
  s: 'acefhikopstuwy',
  t: 'acehilmoprstuwy',
  u: 'abcdefgilmnprst',
  v: 'aeio',
  w: 'aehinors',
  x: 'cpt',
  y: 'elnopst',
  z: 'ei',
}

/**
 * 1 for a rare letter pair, at `(first << 5) + second` with letters from 1 to 26; 0 is not a
 * letter. Doubled letters are not rare: runs of one letter merge well.
 */
export const rarePairs: Uint8Array = makeRarePairs()

function makeRarePairs(): Uint8Array {
  const table = new Uint8Array(32 * 32)
  for (const [first, followers] of Object.entries(commonPairs)) {
    const letter = first.charCodeAt(0) & 31
    const row = letter << 5
    table.fill(1, row + 1, row + 27)
    table[row + letter] = 0
    for (const follower of followers) table[row + (follower.charCodeAt(0) & 31)] = 0
  }
  return table
}

// Symbols. o200k has a token for most pairs of punctuation marks, and for long runs of drawing
// characters.

/** Cost of a symbol before a word: `.name` is mostly one token, `"name` is two. */
export function leadTokens(code: number): number {
  if (code < 128) return asciiLeads[code] as number
  return code === typographicApostrophe ? 0 : wideSymbolTokens(code)
}

const typographicApostrophe = 0x2019
/** Cost of the pair beyond the bare word, measured per symbol and averaged within a group. */
const asciiLeads = asciiTable(0.66, { '(._': 0.02, '-': 0.21, '/': 0.42 })

/** A run of ASCII symbols. An escaped quote (`\"`) counts as one. */
export interface SymbolRun {
  length: number
  quotes: number
  escapes: number
}

/**
 * Tokens of a run of ASCII symbols. Measured: 1.0 for two, 1.3 for three, 1.9 for four, 4.0 for
 * eight. JSON separators between two strings (`","`, `":{"`) are one token.
 */
export function symbolTokens({ length, quotes, escapes }: SymbolRun): number {
  const known = quotes < 2 ? 0 : escapes > 0 ? 1 : 2
  return length - known < 3 ? 1 : 0.52 * (length - known) - 0.2
}

/** Minimum length at which a repeated symbol is priced as a row. */
export const minRow = 3

interface Row {
  readonly code: number
  readonly length: number
}

/** One repeated symbol: a line of `=` is one or two tokens, brackets are one per pair. */
export function rowTokens({ code, length }: Row): number {
  const perToken = code < 128 ? (asciiRows[code] as number) : isDrawn(code) ? 8 : 1
  return Math.max(1, 0.5 + length / perToken)
}

/** Symbols per token, measured in rows of 400. */
const asciiRows = asciiTable(4, { '-=*#_./': 64, '~+%!:;': 20, '<>?@^': 8, '[]{}&`': 2 })

/** Dashes, dots and box-drawing characters. */
function isDrawn(code: number): boolean {
  return (code >= 0x2010 && code < 0x2030) || (code >= 0x2500 && code < 0x25a0)
}

/** A control character, for example the escape before a terminal colour. */
export const controlTokens = 1

/**
 * An emoji or another character outside the BMP. The most common are one token, most two, some
 * three.
 */
export const astralTokens = 2

/** A symbol outside ASCII. */
export function wideSymbolTokens(code: number): number {
  // Quotes, dashes, common signs and box-drawing characters are one token, other drawings one or
  // two.
  if (code < 0x2500) return 1.1
  if (code < 0x2580) return 0.9
  if (code < 0x2c00) return 1.5
  // CJK and full-width punctuation: some merge with the following character.
  if ((code >= 0x3000 && code < 0x3040) || (code >= 0xff00 && code < 0xff66)) return 0.75
  // Variation selectors, the replacement character, and lone surrogates, which become one.
  const isSmall = (code >= 0xd800 && code < 0xe000) || code >= 0xfe00
  return isSmall ? 1 : 2.5
}

/** A lookup table over ASCII. `values` maps strings of characters to their value. */
function asciiTable(fallback: number, values: Readonly<Record<string, number>>): Float64Array {
  const table = new Float64Array(128).fill(fallback)
  for (const [characters, value] of Object.entries(values)) {
    for (const character of characters) table[character.charCodeAt(0)] = value
  }
  return table
}

/** A run of up to 80 spaces is one token; 400 are four. */
export function spaceTokens(length: number): number {
  return length <= 80 ? 1 : 1 + length / 110
}

/** A run of line breaks, with the spaces between them, is one token up to 16; 400 are 25. */
export function newlineTokens(length: number): number {
  return length <= 16 ? 1 : 1 + length / 16
}
