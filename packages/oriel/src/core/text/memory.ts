// Memory of facts: the lines and values of dropped messages that are most likely needed again.
// Deterministic; no model, no clock.

import { type Block, textOf } from '../log/block.ts'
import type { MessageEntry } from '../log/entry.ts'
import { isObject, type Json, type JsonObject } from '../log/json.ts'
import { isCall } from '../state/exchange.ts'
import type { Counter } from '../tokens/counter.ts'
import { type IsWithdrawn, rowsOf, seqIn } from './digest.ts'
import type { SourceName } from './source-name.ts'

/** Size of the candidate pool for the next memory, relative to this one. */
const poolShare = 1.5
/** Half-lives in steps of a use and of a sighting. */
const useHalfLife = 90
const sightHalfLife = 80
/** Weight of the agent's own lines. It often repeats values that another line explains better. */
const ownWeight = 0.3
const numberWeight = 0.15
/** Weight of names that only the agent wrote. */
const madeWeight = 0.3
/** Share of the further values on a line in its score. */
const companyShare = 0.3
/** Exponent of the length penalty. */
const lengthPower = 0.8
/** A line whose gain fell below this share since it was ranked is ranked again. */
const staleShare = 0.7
const rankings = 6
/** Tokens of an id, about. */
const idTokens = 3

interface Line {
  readonly text: string
  readonly values: readonly string[]
  readonly tokens: number
  /** The source entry. */
  readonly from: string
  readonly seq: number
  readonly weight: number
  /** Where it stands among the lines that were read. */
  readonly at: number
  /** What the source is called. @default its id */
  readonly source?: SourceName | undefined
}

interface Sighting {
  /** How often the agent wrote the value. */
  uses: number
  lastUse: number
  lastSeen: number
  /** The newest message that contains it. */
  seq: number
}

export interface MemoryRequest {
  readonly counter: Counter
  /** The current step. */
  readonly step: number
  /** Token budget for lines. */
  readonly lines: number
  /** Token budget for bare values. */
  readonly values: number
  /** Values that the view already shows. */
  readonly visible: ReadonlySet<string>
}

export interface MemoryText {
  /** Empty if there is nothing to keep. */
  readonly text: string
  /** Input of the next memory. */
  readonly data: JsonObject
}

/**
 * Collects messages as they leave the view. The cost depends on what is added and kept, not on the
 * log's length.
 */
export class Memory {
  readonly #lines = new Map<string, Line>()
  readonly #sightings = new Map<string, Sighting>()
  /** Of every value seen its `ends`: most parts of a value are ruled out by theirs, before they are cut out and hashed. */
  readonly #ends = new Set<number>()
  readonly #counter: Counter
  #read = 0

  /**
   * Restores the data of an earlier memory, without content from withdrawn messages. Ignores
   * unknown data.
   */
  constructor(counter: Counter, data?: Json, isWithdrawn: IsWithdrawn = () => false) {
    this.#counter = counter
    if (!isObject(data)) return
    for (const row of rowsOf(data.lines)) {
      const [text, from, at, weight] = row
      const seq = seqIn(at)
      if (typeof text === 'string' && typeof from === 'string' && !isWithdrawn(seq)) {
        const source = sourceIn(row, isWithdrawn)
        this.#keep(text, { from, seq, weight: Number(weight), source }, rowsRead.get(row))
      }
    }
    for (const [value, uses, lastUse, lastSeen, at] of rowsOf(data.values)) {
      const seq = seqIn(at)
      if (typeof value !== 'string' || isWithdrawn(seq)) continue
      const counts = { uses: Number(uses), lastUse: Number(lastUse), lastSeen: Number(lastSeen) }
      this.#setSighting(value, { ...counts, seq })
    }
  }

  /** Adds a message that leaves the view, as a model may read it, under the name of its source. */
  add(entry: MessageEntry, source?: SourceName): void {
    const isOwn = entry.role === 'assistant'
    const seen = new Set<string>()
    const weight = isOwn ? ownWeight : 1
    for (const { text, values } of chunksOf(entry.blocks)) {
      for (const value of values) seen.add(value)
      if (/\p{L}/u.test(text)) {
        this.#keep(text, { from: entry.id, seq: entry.seq, weight, source }, { values })
      }
    }
    // It has left the view: its values are not asked for again.
    known.delete(entry.blocks)
    // What an answer tells the user is known to both; what stands around calls is the agent's own work.
    const isTold = isOwn && !entry.blocks.some(isCall)
    for (const value of seen) this.#see(value, entry, { isUsed: isOwn, isSeen: !isOwn || isTold })
  }

  /** Composes the text within its budget, and the input of the next memory. Deterministic. */
  compose({ step, lines, values, visible }: MemoryRequest): MemoryText {
    const score = this.#scorer(step, this.#within(visible))
    const chosen = this.#choose(score, lines)
    const shown = this.#within(
      chosen.flatMap((line) => [...line.values, ...valuesOf(nameOf(line))]),
    )
    const bare = this.#bareValues(score, shown, values)
    return {
      text: textOfMemory(chosen, bare),
      data: this.#data(
        chosen,
        this.#pool(chosen, shown, { step, tokens: lines * poolShare }),
        bare,
      ),
    }
  }

  #keep(
    text: string,
    { from, seq, weight, source }: Pick<Line, 'from' | 'seq' | 'weight' | 'source'>,
    { values = valuesOf(text), counter, tokens }: Partial<ReadRow> = {},
  ): void {
    const known = this.#lines.get(text)
    const at = this.#read++
    // Keep the newest position for lookup and the higher weight.
    if (known !== undefined) {
      const heavier = Math.max(known.weight, weight)
      this.#lines.set(text, { ...known, from, seq, at, source, weight: heavier })
      return
    }
    const isCounted = tokens !== undefined && counter === this.#counter
    const line = {
      ...{ text, values, from, seq, at, weight, source },
      tokens: isCounted ? tokens : this.#counter.count(text) + 1,
    }
    this.#lines.set(text, line)
  }

  #see(
    value: string,
    { step, seq }: MessageEntry,
    { isUsed, isSeen }: { readonly isUsed: boolean; readonly isSeen: boolean },
  ): void {
    const known = this.#sightings.get(value) ?? { uses: 0, lastUse: -1, lastSeen: -1, seq }
    known.seq = seq
    if (isUsed) {
      known.uses += 1
      known.lastUse = Math.max(known.lastUse, step)
    }
    if (isSeen) known.lastSeen = Math.max(known.lastSeen, step)
    this.#setSighting(value, known)
  }

  #setSighting(value: string, sighting: Sighting): void {
    this.#sightings.set(value, sighting)
    this.#ends.add(endsOf(value, 0, value.length))
  }

  /** The values that stand inside a value and begin and end with a word: `models/query.py` and `query` in `db/models/query.py`. */
  #valuesInside(value: string): readonly string[] {
    const inside: string[] = []
    const words = wordsIn(value)
    if (words.length > 2 * mostWords) return inside
    for (let first = 0; first < words.length; first += 2) {
      const from = words[first] as number
      for (let last = first + 1; last < words.length; last += 2) {
        const to = words[last] as number
        if (to - from < value.length && to - from >= shortest) {
          this.#addIfSeen(inside, value, { from, to })
        }
        // A path inside a path may begin with its slash.
        if (from > 1 && value[from - 1] === '/') {
          this.#addIfSeen(inside, value, { from: from - 1, to })
        }
      }
    }
    return inside
  }

  #addIfSeen(
    inside: string[],
    value: string,
    { from, to }: { readonly from: number; readonly to: number },
  ): void {
    if (!this.#ends.has(endsOf(value, from, to))) return
    const part = value.slice(from, to)
    if (this.#sightings.has(part)) inside.push(part)
  }

  /** These values, and those of this memory that stand inside them: who reads the longer one reads them too. */
  #within(values: Iterable<string>): ReadonlySet<string> {
    const all = new Set<string>()
    for (const value of values) {
      all.add(value)
      for (const part of this.#valuesInside(value)) all.add(part)
    }
    return all
  }

  /** Score: how likely a value is needed again, by use count and recency. 0 if it is visible. */
  #scorer(step: number, visible: ReadonlySet<string>): (value: string) => number {
    const scores = new Map<string, number>()
    return (value) => {
      let score = scores.get(value)
      if (score !== undefined) return score
      score = visible.has(value) ? 0 : likelihood(value, this.#sightings.get(value), step)
      scores.set(value, score)
      return score
    }
  }

  /**
   * Greedy selection of lines by gain per token. A line scores only for values that no chosen line
   * has.
   */
  #choose(score: (value: string) => number, budget: number): readonly Line[] {
    const shown = new Set<string>()
    const chosen: Line[] = []
    const named = new Set<string>()
    let left = budget
    let waiting = [...this.#lines.values()]
    for (let round = 0; round < rankings && waiting.length > 0; round++) {
      const ranked = rank(waiting, (line) => gainOf(line, score, shown))
      waiting = []
      for (const { line, gain } of ranked) {
        const tokens = line.tokens + (named.has(nameOf(line)) ? 0 : this.#nameTokens(line))
        if (tokens > left) continue
        const now = gainOf(line, score, shown)
        if (now === 0) continue
        if (now < gain * staleShare && round < rankings - 1) {
          waiting.push(line)
          continue
        }
        chosen.push(line)
        named.add(nameOf(line))
        left -= tokens
        for (const value of line.values) shown.add(value)
      }
    }
    return chosen.sort((a, b) => a.seq - b.seq || a.at - b.at)
  }

  /** Tokens of a source's name beyond those of an id, which are not counted. */
  #nameTokens({ source }: Line): number {
    return source === undefined ? 0 : Math.max(0, this.#counter.count(source.name) - idTokens)
  }

  /** The best values that no line shows, without those that stand inside another one. */
  #bareValues(
    score: (value: string) => number,
    shown: ReadonlySet<string>,
    budget: number,
  ): readonly string[] {
    // Most values share their score with many others.
    const byScore = new Map<number, string[]>()
    for (const value of this.#sightings.keys()) {
      const own = shown.has(value) ? 0 : score(value)
      if (own <= 0) continue
      const alike = byScore.get(own)
      if (alike === undefined) byScore.set(own, [value])
      else alike.push(value)
    }
    const bare: string[] = []
    const inner = new Set<string>()
    let left = budget
    for (const own of [...byScore.keys()].sort((a, b) => b - a)) {
      for (const value of byScore.get(own)?.sort() ?? []) {
        if (inner.has(value)) continue
        left -= this.#counter.count(` ${value}`)
        if (left < 0) return bare.filter((one) => !inner.has(one))
        bare.push(value)
        for (const part of this.#valuesInside(value)) inner.add(part)
      }
    }
    return bare.filter((value) => !inner.has(value))
  }

  /** Candidates for the next memory: the lines shown, and the best of the others. */
  #pool(
    chosen: readonly Line[],
    shown: ReadonlySet<string>,
    { step, tokens }: { readonly step: number; readonly tokens: number },
  ): readonly Line[] {
    const pool = [...chosen]
    const known = new Set(shown)
    const isChosen = new Set(chosen)
    const score = this.#scorer(step, new Set())
    let left = tokens - chosen.reduce((sum, line) => sum + line.tokens, 0)
    const others = [...this.#lines.values()].filter((line) => !isChosen.has(line))
    for (const { line } of rank(others, (other) => gainOf(other, score, new Set()))) {
      if (left <= 0) break
      if (line.values.every((value) => known.has(value))) continue
      for (const value of line.values) known.add(value)
      pool.push(line)
      left -= line.tokens
    }
    return pool
  }

  #data(chosen: readonly Line[], pool: readonly Line[], bare: readonly string[]): JsonObject {
    const kept = new Set([...pool.flatMap((line) => line.values), ...bare])
    const values: Json[] = []
    for (const [value, { uses, lastUse, lastSeen, seq }] of this.#sightings) {
      if (kept.has(value)) values.push([value, uses, lastUse, lastSeen, seq])
    }
    return {
      // Shown lines come first.
      shown: chosen.length,
      bare: [...bare],
      lines: pool.map((line) => this.#rowOf(line)),
      values,
    }
  }

  #rowOf({ text, from, seq, weight, source, values, tokens }: Line): Json[] {
    const row = [text, from, seq, weight]
    const named = source === undefined ? row : [...row, source.name, source.seq]
    rowsRead.set(named, { values, tokens, counter: this.#counter })
    return named
  }
}

/** What a row of data says, as it was read when the row was made. */
interface ReadRow extends Pick<Line, 'values' | 'tokens'> {
  readonly counter: Counter
}

/** Cache: the next memory of the same process gets the same rows. */
const rowsRead = new WeakMap<readonly unknown[], ReadRow>()

/** The text of an earlier memory without content from withdrawn messages. */
export function memoryTextWithout(data: Json | undefined, isWithdrawn: IsWithdrawn): string {
  if (!isObject(data)) return ''
  const { lines, shown, bare, values } = data
  const chosen = rowsOf(lines)
    .slice(0, seqIn(shown))
    .filter(([, , at]) => !isWithdrawn(seqIn(at)))
    .map((row) => ({
      text: String(row[0]),
      from: String(row[1]),
      source: sourceIn(row, isWithdrawn),
    }))
  const sources = new Map(rowsOf(values).map(([value, , , , at]) => [value, seqIn(at)]))
  const named = Array.isArray(bare) ? bare.map(String) : []
  const open = named.filter((value) => !isWithdrawn(sources.get(value) ?? 0))
  return textOfMemory(chosen, open)
}

/** A chunk of text that has values. */
interface Chunk {
  readonly text: string
  readonly values: readonly string[]
}

/** Cache: messages are immutable, and each is read at every fold while the view shows it, and once when it leaves. */
const known = new WeakMap<readonly Block[], readonly Chunk[]>()

function chunksOf(blocks: readonly Block[]): readonly Chunk[] {
  const read = known.get(blocks)
  if (read !== undefined) return read
  const chunks: Chunk[] = []
  for (const text of textsOf(blocks)) {
    for (const piece of piecesOf(text)) {
      const values = valuesOf(piece)
      if (values.length > 0) chunks.push({ text: piece, values })
    }
  }
  known.set(blocks, chunks)
  return chunks
}

/** The values in the given blocks, some more than once. */
export function valuesShown(blocks: readonly Block[]): readonly string[] {
  return chunksOf(blocks).flatMap(({ values }) => values)
}

function likelihood(value: string, sighting: Sighting | undefined, step: number): number {
  const { uses = 0, lastUse = -1, lastSeen = -1 } = sighting ?? {}
  if (lastSeen < 0 && !isMade(value, uses)) return 0
  const weight = (isNumber(value) ? numberWeight : 1) * (lastSeen < 0 ? madeWeight : 1)
  const recency = (last: number, halfLife: number): number =>
    last < 0 ? 0 : 2 ** (-Math.max(0, step - last) / halfLife)
  const score =
    Math.log2(1 + uses) +
    2 * recency(lastUse, useHalfLife) +
    2 * recency(lastSeen, sightHalfLife) +
    0.2
  return score * weight
}

/** True for what the agent made and may come back to: a file, or a name that it wrote more than once. Other words of its own are its wording. */
function isMade(value: string, uses: number): boolean {
  return isName(value) && (uses > 1 || /\/|\.(?:[a-z]{1,3}|html|java|json|toml|yaml)$/.test(value))
}

function gainOf(line: Line, score: (value: string) => number, shown: ReadonlySet<string>): number {
  let best = 0
  let sum = 0
  for (const value of line.values) {
    if (shown.has(value)) continue
    const own = score(value)
    sum += own
    if (own > best) best = own
  }
  return ((best + companyShare * (sum - best)) * line.weight) / line.tokens ** lengthPower
}

function rank(
  lines: readonly Line[],
  gain: (line: Line) => number,
): readonly { readonly line: Line; readonly gain: number }[] {
  return lines
    .map((line) => ({ line, gain: gain(line) }))
    .filter((ranked) => ranked.gain > 0)
    .sort((a, b) => b.gain - a.gain || b.line.seq - a.line.seq)
}

function nameOf({ from, source }: Pick<Line, 'from' | 'source'>): string {
  return source?.name ?? from
}

/** The name of a line's source, unless it is from a withdrawn message. */
function sourceIn(row: readonly unknown[], isWithdrawn: IsWithdrawn): SourceName | undefined {
  const [, , , , name, at] = row
  const seq = seqIn(at)
  return typeof name === 'string' && !isWithdrawn(seq) ? { name, seq } : undefined
}

/** The lines under the names of their sources, in the order in which these came first; then single values. */
function textOfMemory(
  lines: readonly Pick<Line, 'text' | 'from' | 'source'>[],
  values: readonly string[],
): string {
  const groups = new Map<string, string[]>()
  for (const { text, from, source } of lines) {
    const name = nameOf({ from, source })
    const group = groups.get(name)
    if (group === undefined) groups.set(name, [text])
    else group.push(text)
  }
  const parts = [...groups].flatMap(([name, texts]) => [`${name}:`, ...inOrder(texts)])
  return [...parts, ...textOfValues(values)].join('\n')
}

/** Lines with their numbers in the order of the file, then the others as they came. */
function inOrder(texts: readonly string[]): readonly string[] {
  const numberOf = (text: string): number => Number(/^\d+(?=[-:\s])/.exec(text)?.[0] ?? Infinity)
  return [...texts].sort((a, b) => {
    const [first, second] = [numberOf(a), numberOf(b)]
    return first === second ? 0 : first - second
  })
}

/** Values without their lines: names and paths, phrases in quotation marks, numbers. */
function textOfValues(values: readonly string[]): readonly string[] {
  if (values.length === 0) return []
  const phrases = values.filter((value) => !isName(value)).map((phrase) => `"${phrase}"`)
  const names = values.filter((value) => isName(value) && !isNumber(value))
  const numbers = rangesOf(values.filter(isNumber))
  return [`Also seen: ${[...names, ...phrases, ...numbers].join(' ')}`]
}

/** Fewer numbers in a row are written one by one. */
const shortestRange = 4

/** Numbers in ascending order, those in a row as a range: tools print the numbers of lines. */
function rangesOf(numbers: readonly string[]): readonly string[] {
  const isCount = (text: string): boolean => /^[1-9]\d{0,5}$/.test(text)
  const counts = numbers.filter(isCount).sort((a, b) => Number(a) - Number(b))
  const written: string[] = []
  let row: string[] = []
  for (const [index, text] of counts.entries()) {
    row.push(text)
    if (Number(counts[index + 1]) === Number(text) + 1) continue
    written.push(...(row.length < shortestRange ? row : [`${row[0]}-${row.at(-1)}`]))
    row = []
  }
  return [...written, ...numbers.filter((text) => !isCount(text))]
}

/** Texts of a message: its text, call arguments, result texts. */
function textsOf(blocks: readonly Block[]): readonly string[] {
  return blocks.flatMap((block) => {
    if (block.type === 'text') return [block.text]
    if (block.type === 'tool-call') return [block.arguments.replaceAll('\\n', '\n')]
    return block.type === 'tool-result' ? [textOf(block.content)] : []
  })
}

/** Chunk size for regular expressions, so that no text can make them slow. */
const pieceLength = 200
/** Maximum characters read from one text, so that the cost is bounded. */
const readLength = 200_000

const shortest = 4
const longest = 80

/** Email addresses, paths, identifiers (also dotted), ids and numbers. */
const pattern =
  /[\w.+-]+@[\w-]+\.[\w.]+|[\w.@~+-]*(?:\/[\w.@~+-]+)+|[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)+|\d+(?:\.\d+)+(?![\w.])|#?[A-Za-z0-9-]*\d[\w-]*|[A-Za-z_$][\w$]*/g
/** Definitions: agents search for these lines as a whole. */
const definition =
  /\b(?:class|const|def|enum|fn|func|function|interface|struct|trait|type)\s+[A-Za-z_$][\w$]*/g
/** Quoted phrases, patterns and names: all but plain words. */
const quoted = /"([^"]{6,60})"|'([^']{6,60})'|`([^`]{6,60})`/g

/** The distinct values of one chunk, in order. */
export function valuesOf(piece: string): readonly string[] {
  const found = new Set<string>()
  for (const match of piece.match(pattern) ?? []) {
    // Tools that print lines with their numbers put a mark behind these.
    const value = match.includes('-') ? match.replaceAll(/^-+|-+$/g, '') : match
    if (value.length >= shortest && value.length <= longest && isSignificant(value))
      found.add(value)
  }
  for (const value of piece.match(definition) ?? []) found.add(value)
  if (!/["'`]/.test(piece)) return [...found]
  for (const [, double, single, back] of piece.matchAll(quoted)) {
    const phrase = (double ?? single ?? back ?? '').trim()
    if (/\W|[A-Z]/.test(phrase)) found.add(phrase)
  }
  return [...found]
}

/** False for plain words. */
function isSignificant(value: string): boolean {
  return /[\d_$@/.]|[a-z][A-Z]/.test(value)
}

/** True for a bare number. Agents need numbers again far less often than names; long ones are ids. */
function isNumber(value: string): boolean {
  return /^[\d.,-]+$/.test(value) && !/^\d{6,}$/.test(value)
}

/** True for a name, an id, a path or an address; false for a phrase. */
function isName(value: string): boolean {
  return /^[\w.$@/~+#-]+$/.test(value)
}

/** A value with more words than this is not taken apart. */
const mostWords = 12

/** Where each word begins and ends, one after the other. */
function wordsIn(value: string): readonly number[] {
  const words: number[] = []
  let isInside = false
  for (let index = 0; index < value.length; index++) {
    if (isWordUnit(value.charCodeAt(index)) === isInside) continue
    words.push(index)
    isInside = !isInside
  }
  if (isInside) words.push(value.length)
  return words
}

/** Letters of ASCII, digits and the underscore. */
function isWordUnit(unit: number): boolean {
  const lower = unit | 0x20
  return (lower >= 0x61 && lower <= 0x7a) || (unit >= 0x30 && unit <= 0x39) || unit === 0x5f
}

/** Length, first and last unit of a part, in one number. */
function endsOf(value: string, from: number, to: number): number {
  return ((to - from) << 14) ^ (value.charCodeAt(from) << 7) ^ value.charCodeAt(to - 1)
}

/**
 * Splits a text into short chunks with collapsed whitespace: its lines, long ones cut at
 * separators.
 */
export function* piecesOf(text: string): Generator<string> {
  const read = text.length > readLength ? text.slice(0, readLength) : text
  for (const line of read.split('\n')) {
    let rest = line.length > pieceLength ? line : line.trim()
    while (rest.length > pieceLength) {
      const at = cutOf(rest)
      const piece = collapse(rest.slice(0, at))
      if (piece !== '') yield piece
      rest = rest.slice(at)
    }
    const piece = collapse(rest)
    if (piece !== '') yield piece
  }
}

/**
 * Where to cut a long line: after a separator, else after a space, else anywhere but inside a
 * surrogate pair.
 */
function cutOf(line: string): number {
  const window = line.slice(0, pieceLength)
  for (const separator of [', ', '; ', '. ', ',', ' ']) {
    const at = window.lastIndexOf(separator)
    if (at > pieceLength / 2) return at + separator.length
  }
  const unit = line.charCodeAt(pieceLength - 1)
  return unit >= 0xd800 && unit <= 0xdbff ? pieceLength - 1 : pieceLength
}

function collapse(piece: string): string {
  const isCollapsed = !/\s\s|[^\S ]/.test(piece)
  return (isCollapsed ? piece : piece.replaceAll(/\s+/g, ' ')).trim()
}
