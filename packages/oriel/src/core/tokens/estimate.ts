// Token estimate without a tokenizer: splits text like o200k and prices each piece by its shape.

import { kindAt, kindOf, kinds } from './character-kind.ts'
import type { Counter } from './counter.ts'
import type { Word } from './estimate-prices.ts'
import {
  astralTokens,
  controlTokens,
  leadTokens,
  minRow,
  newlineTokens,
  plainWordTokens,
  possessiveTokens,
  randomWordTokens,
  rarePairs,
  rowTokens,
  spaceTokens,
  symbolTokens,
  wideSymbolTokens,
  wordTokens,
} from './estimate-prices.ts'
import type { Cursor } from './estimate-scripts.ts'
import { readIdeographs, readScript } from './estimate-scripts.ts'
import { estimateMargin } from './margin.ts'

/**
 * A token counter that needs no vocabulary.
 *
 * - Models OpenAI's o200k encoding; docs/numbers-estimate.md has the measured errors.
 * - Pure, never throws, linear in the text's length; accepts any string, including lone surrogates.
 * - `count('')` is 0; any other text counts at least 1.
 */
export const estimate: Counter = { name: 'estimate', count, margin: estimateMargin }

function count(text: string): number {
  if (text.length === 0) return 0
  const scan: Scan = {
    text,
    index: 0,
    tokens: 0,
    word: { length: 0, uppers: 0, accents: 0, rarePairs: 0, isAfterSpace: false },
    solid: { from: 0, end: -1, pieces: 0, digits: 0, extraTokens: 0 },
  }
  while (scan.index < text.length) {
    readPlainWords(scan)
    if (scan.index < text.length) readPiece(scan)
  }
  closeSolid(scan)
  return Math.max(1, Math.round(scan.tokens))
}

interface Scan extends Cursor {
  /** The last word. One object is reused for all words. */
  readonly word: Word
  readonly solid: Solid
}

/**
 * The current run of letters, digits and `+/=-_` without whitespace: possibly base64, hex or an id.
 */
interface Solid {
  from: number
  end: number
  pieces: number
  digits: number
  /** Extra cost of its words if the run turns out to be random. */
  extraTokens: number
}

const space = 0x20
const apostrophe = 0x27

/**
 * Fast path for lowercase words with one space before each, which are most of any text. Must give
 * the same counts as the slow path.
 */
function readPlainWords(scan: Scan): void {
  const { text } = scan
  let { index, tokens } = scan
  while (index < text.length && text.charCodeAt(index) === space) {
    let end = index + 1
    let rare = 0
    let previous = 0
    let code = 0
    for (; end < text.length; end++) {
      code = text.charCodeAt(end)
      if (code < 0x61 || code > 0x7a) break
      rare += rarePairs[(previous << 5) + (code & 31)] as number
      previous = code & 31
    }
    const length = end - index - 1
    // Stop before non-ASCII letters and contractions; the slow path handles them.
    if (length === 0 || (end < text.length && (code > 0x7f || code === apostrophe))) break
    tokens += plainWordTokens(length, rare)
    index = end
  }
  scan.index = index
  scan.tokens = tokens
}

function readPiece(scan: Scan): void {
  const kind = kindAt(scan.text, scan.index)
  if (isLatin(kind)) readBareWord(scan, scan.index)
  else if (kind === kinds.blank || kind === kinds.newline) readSpace(scan)
  else if (kind === kinds.digit) readDigits(scan)
  else if (kind === kinds.symbol) readSymbol(scan)
  else if (kind === kinds.ideograph || kind === kinds.kana) readIdeographs(scan)
  else readScript(scan, kind)
}

function isLatin(kind: number): boolean {
  return kind === kinds.lower || kind === kinds.upper || kind === kinds.latin
}

function readBareWord(scan: Scan, from: number): void {
  const tokens = readWord(scan, false)
  noteSolid(scan, from)
  scan.solid.extraTokens += Math.max(0, randomWordTokens(scan.word.length) - tokens)
  readContraction(scan)
}

/**
 * Counts a word: uppercase letters, then lowercase ones. An uppercase letter after a lowercase one
 * starts the next word.
 */
function readWord(scan: Scan, isAfterSpace: boolean): number {
  const { text, word } = scan
  const start = scan.index
  let index = start
  let uppers = 0
  let accents = 0
  let rare = 0
  let previous = 0
  for (; index < text.length; index++) {
    const code = text.charCodeAt(index)
    const kind = kindOf(code)
    if (kind === kinds.upper) {
      if (index - start > uppers) break
      uppers++
    } else if (kind === kinds.latin) accents++
    else if (kind !== kinds.lower) break
    const letter = kind === kinds.latin ? 0 : code & 31
    rare += rarePairs[(previous << 5) + letter] as number
    previous = letter
  }
  word.length = index - start
  word.uppers = uppers
  word.accents = accents
  word.rarePairs = rare
  word.isAfterSpace = isAfterSpace
  const tokens = wordTokens(word)
  scan.index = index
  scan.tokens += tokens
  return tokens
}

function readContraction(scan: Scan): void {
  if (scan.text.charCodeAt(scan.index) !== apostrophe) return
  const next = scan.text.slice(scan.index + 1, scan.index + 3).toLowerCase()
  if (next === 'll' || next === 've' || next === 're') scan.index += 3
  else if (next !== '' && 'sdmt'.includes(next.charAt(0))) scan.index += 2
  if (next.startsWith('s')) scan.tokens += possessiveTokens
}

function readDigits(scan: Scan): void {
  const start = scan.index
  let index = start + 1
  while (kindAt(scan.text, index) === kinds.digit) index++
  scan.index = index
  // Three digits are one token.
  scan.tokens += Math.ceil((index - start) / 3)
  noteSolid(scan, start)
  scan.solid.digits++
}

/** Shorter runs are priced as words: they have too few pieces to classify. */
const minSolid = 16
/**
 * Longer runs are classified in parts, so that appended text cannot change the price of the whole
 * run.
 */
const maxSolid = 64
/** Pieces per character: camelCase names have about 0.2, base64 0.43, hex 0.47. */
const randomDensity = 0.3

/** Adds the piece that ends here to the solid run, or starts a new run. */
function noteSolid(scan: Scan, from: number): void {
  const { solid } = scan
  if (from !== solid.end || solid.end - solid.from >= maxSolid) {
    if (solid.end - solid.from >= minSolid) closeSolid(scan)
    solid.from = from
    solid.pieces = 0
    solid.digits = 0
    solid.extraTokens = 0
  }
  solid.end = scan.index
  solid.pieces++
}

function closeSolid(scan: Scan): void {
  const { from, end, pieces, digits, extraTokens } = scan.solid
  const length = end - from
  const isRandom = length >= minSolid && digits > 0 && pieces >= length * randomDensity
  if (isRandom) scan.tokens += extraTokens
}

/** Counts a run of whitespace. Its last space belongs to the following word or symbol. */
function readSpace(scan: Scan): void {
  const { text } = scan
  const start = scan.index
  let index = start
  let indentStart = start
  for (; index < text.length; index++) {
    const kind = kindOf(text.charCodeAt(index))
    if (kind === kinds.newline) indentStart = index + 1
    else if (kind !== kinds.blank) break
  }
  scan.index = index
  // Everything up to the last line break is one piece.
  if (indentStart > start) scan.tokens += newlineTokens(indentStart - start)
  const indent = index - indentStart
  if (indent === 0) return
  if (index === text.length) {
    scan.tokens += spaceTokens(indent)
    return
  }
  if (indent > 1) scan.tokens += spaceTokens(indent - 1)
  const next = kindAt(text, index)
  if (isLatin(next)) {
    readWord(scan, true)
    readContraction(scan)
  } else if (next === kinds.symbol && text.charCodeAt(index - 1) === space) readSymbols(scan)
  else if (!mergesWithSpace(next)) scan.tokens += 1
}

/**
 * True if a word of this class merges with the preceding space. Digits, symbols and ideographs do
 * not.
 */
function mergesWithSpace(kind: number): boolean {
  const isApart = kind === kinds.digit || kind === kinds.symbol
  return !isApart && kind !== kinds.ideograph && kind !== kinds.kana
}

function readSymbol(scan: Scan): void {
  const next = kindAt(scan.text, scan.index + 1)
  if (!isLatin(next)) readSymbols(scan)
  else if (scan.text.charCodeAt(scan.index) === backslash) readEscape(scan)
  else readLedWord(scan)
}

/**
 * Counts escapes such as `
 * ` and `\u` in JSON and code: one token each, whatever word follows.
 */
function readEscape(scan: Scan): void {
  scan.tokens += 1
  scan.index += isEscaped(scan.text, scan.index + 1) ? 2 : 1
}

/** Counts a word together with the symbol before it. */
function readLedWord(scan: Scan): void {
  const start = scan.index++
  const isSolid = '+/=-_'.includes(scan.text.charAt(start))
  readBareWord(scan, isSolid ? start : scan.index)
  // A symbol with a single letter is nearly always one token.
  if (scan.word.length > 1) scan.tokens += leadTokens(scan.text.charCodeAt(start))
}

const dot = 0x2e
const quote = 0x22
const backslash = 0x5c

/** Counts a run of symbols, including the line breaks directly after it. */
function readSymbols(scan: Scan): void {
  const { text } = scan
  const run = { length: 0, quotes: 0, escapes: 0 }
  let index = scan.index
  while (kindAt(text, index) === kinds.symbol) {
    const code = text.charCodeAt(index)
    const length = sameFrom(text, index)
    if (code === dot && text.startsWith('../', index)) {
      // A sequence of `../` is about one token, whatever its length.
      run.length++
      index += 3
    } else if (code === backslash && text.charCodeAt(index + 1) === quote) {
      run.escapes++
      index++
    } else if (code > 0x7f && isPair(text, index)) {
      scan.tokens += astralTokens
      index += 2
    } else {
      if (length >= minRow) scan.tokens += rowTokens({ code, length })
      else if (code < 32) scan.tokens += length * controlTokens
      else if (code >= 128) scan.tokens += length * wideSymbolTokens(code)
      else run.length += length
      if (code === quote) run.quotes++
      index += length
    }
  }
  if (run.length > 0) scan.tokens += symbolTokens(run)
  // In JSON, the letter of an escape is separate from the following word.
  if (text.charCodeAt(index - 1) === backslash && isEscaped(text, index)) {
    scan.tokens += 1
    index++
  }
  while (kindAt(text, index) === kinds.newline) index++
  scan.index = index
}

/** Length of the run of equal characters at an index. */
function sameFrom(text: string, index: number): number {
  const code = text.charCodeAt(index)
  let end = index + 1
  while (end < text.length && text.charCodeAt(end) === code) end++
  return end - index
}

function isEscaped(text: string, index: number): boolean {
  return index < text.length && 'ntrux'.includes(text.charAt(index))
}

function isPair(text: string, index: number): boolean {
  const code = text.codePointAt(index)
  return code !== undefined && code > 0xffff
}
