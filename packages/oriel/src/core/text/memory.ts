// The memory of facts: of everything that left the view, the lines and values most likely to be needed again. No model, no clock.

import { type Block, textOf } from '../log/block.ts'
import type { MessageEntry } from '../log/entry.ts'
import { isObject, type Json, type JsonObject } from '../log/json.ts'
import type { Counter } from '../tokens/counter.ts'
import { type IsWithdrawn, rowsOf, seqIn } from './digest.ts'

/** Candidates that are kept for the next memory, as a multiple of what this one shows. */
const poolShare = 1.5
/** Steps after which a use, or a sighting, counts half. */
const useHalfLife = 60
const sightHalfLife = 40
/** What the agent itself wrote, it often wrote because it knew it from elsewhere: the other line says more. */
const ownWeight = 0.3
const numberWeight = 0.3
/** What a second value on a line adds, as a share of the best one. */
const companyShare = 0.3
/** Long lines must bring more. */
const lengthPower = 0.8
/** A line whose gain fell below this share since it was ranked is ranked again. */
const staleShare = 0.7
const rankings = 6

interface Line {
  readonly text: string
  readonly values: readonly string[]
  readonly tokens: number
  /** The entry it came from. */
  readonly from: string
  readonly seq: number
  readonly weight: number
}

interface Sighting {
  /** How often the agent wrote it. */
  uses: number
  lastUse: number
  lastSeen: number
  /** The newest message that has it. */
  seq: number
}

export interface MemoryRequest {
  readonly counter: Counter
  /** The current step. */
  readonly step: number
  /** Tokens for lines. */
  readonly lines: number
  /** Tokens for values without their lines. */
  readonly values: number
  /** Values that the view shows anyway. */
  readonly visible: ReadonlySet<string>
}

export interface MemoryText {
  /** Empty when there is nothing to keep. */
  readonly text: string
  /** What the next memory goes on from. */
  readonly data: JsonObject
}

/** Collects what leaves the view, message by message. Its cost is what is added and what it kept, never the log's length. */
export class Memory {
  readonly #lines = new Map<string, Line>()
  readonly #sightings = new Map<string, Sighting>()
  readonly #counter: Counter

  /**
   * Goes on from the data of an earlier memory, without what comes from messages that models may no longer read; anything else in it is
   * ignored.
   */
  constructor(counter: Counter, data?: Json, isWithdrawn: IsWithdrawn = () => false) {
    this.#counter = counter
    if (!isObject(data)) return
    for (const [text, from, at, weight] of rowsOf(data.lines)) {
      const seq = seqIn(at)
      if (typeof text === 'string' && typeof from === 'string' && !isWithdrawn(seq)) {
        this.#keep(text, { from, seq, weight: Number(weight) })
      }
    }
    for (const [value, uses, lastUse, lastSeen, at] of rowsOf(data.values)) {
      const seq = seqIn(at)
      if (typeof value !== 'string' || isWithdrawn(seq)) continue
      const counts = { uses: Number(uses), lastUse: Number(lastUse), lastSeen: Number(lastSeen) }
      this.#sightings.set(value, { ...counts, seq })
    }
  }

  /** Takes in a message that leaves the view, as a model may read it. */
  add(entry: MessageEntry): void {
    const isOwn = entry.role === 'assistant'
    const seen = new Set<string>()
    for (const text of textsOf(entry.blocks)) {
      for (const piece of piecesOf(text)) {
        const values = valuesOf(piece)
        for (const value of values) seen.add(value)
        if (values.length > 0) {
          const weight = isOwn ? ownWeight : 1
          this.#keep(piece, { from: entry.id, seq: entry.seq, weight }, values)
        }
      }
    }
    for (const value of seen) this.#see(value, entry, isOwn)
  }

  /** The memory's text within its budget, and what the next one needs. Deterministic. */
  compose({ step, lines, values, visible }: MemoryRequest): MemoryText {
    const score = this.#scorer(step, visible)
    const chosen = this.#choose(score, lines)
    const shown = new Set(chosen.flatMap((line) => line.values))
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
    { from, seq, weight }: Pick<Line, 'from' | 'seq' | 'weight'>,
    values?: readonly string[],
  ): void {
    const known = this.#lines.get(text)
    // The newest place of a line is where it is looked up; what someone else said counts more than what the agent said.
    if (known !== undefined) {
      this.#lines.set(text, { ...known, from, seq, weight: Math.max(known.weight, weight) })
      return
    }
    const tokens = this.#counter.count(text) + 1
    this.#lines.set(text, { text, values: values ?? valuesOf(text), tokens, from, seq, weight })
  }

  #see(value: string, { step, seq }: MessageEntry, isUse: boolean): void {
    const known = this.#sightings.get(value) ?? { uses: 0, lastUse: -1, lastSeen: -1, seq }
    known.seq = seq
    if (isUse) {
      known.uses += 1
      known.lastUse = Math.max(known.lastUse, step)
    } else known.lastSeen = Math.max(known.lastSeen, step)
    this.#sightings.set(value, known)
  }

  /** How likely a value is needed again: how often and how lately it was used, how lately it was seen. 0 where it is visible. */
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

  /** Lines that together bring most for their tokens: each counts only for values that no better line has. */
  #choose(score: (value: string) => number, budget: number): readonly Line[] {
    const shown = new Set<string>()
    const chosen: Line[] = []
    let left = budget
    let waiting = [...this.#lines.values()]
    for (let round = 0; round < rankings && waiting.length > 0; round++) {
      const ranked = rank(waiting, (line) => gainOf(line, score, shown))
      waiting = []
      for (const { line, gain } of ranked) {
        if (line.tokens > left) continue
        const now = gainOf(line, score, shown)
        if (now === 0) continue
        if (now < gain * staleShare && round < rankings - 1) {
          waiting.push(line)
          continue
        }
        chosen.push(line)
        left -= line.tokens
        for (const value of line.values) shown.add(value)
      }
    }
    return chosen.sort((a, b) => a.seq - b.seq)
  }

  /** The best values that no line shows. */
  #bareValues(
    score: (value: string) => number,
    shown: ReadonlySet<string>,
    budget: number,
  ): readonly string[] {
    const ranked = [...this.#sightings.keys()]
      .filter((value) => !shown.has(value) && score(value) > 0)
      .sort((a, b) => score(b) - score(a) || (a < b ? -1 : 1))
    const bare: string[] = []
    let left = budget
    for (const value of ranked) {
      left -= this.#counter.count(` ${value}`)
      if (left < 0) break
      bare.push(value)
    }
    return bare
  }

  /** What the next memory may choose from: the lines shown, and the best of the others. */
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
      // The lines that the text shows come first.
      shown: chosen.length,
      bare: [...bare],
      lines: pool.map(({ text, from, seq, weight }) => [text, from, seq, weight]),
      values,
    }
  }
}

/** The text of an earlier memory without what comes from messages that models may no longer read. */
export function memoryTextWithout(data: Json | undefined, isWithdrawn: IsWithdrawn): string {
  if (!isObject(data)) return ''
  const { lines, shown, bare, values } = data
  const chosen = rowsOf(lines)
    .slice(0, seqIn(shown))
    .filter(([, , at]) => !isWithdrawn(seqIn(at)))
    .map(([text, from]) => ({ text: String(text), from: String(from) }))
  const sources = new Map(rowsOf(values).map(([value, , , , at]) => [value, seqIn(at)]))
  const named = Array.isArray(bare) ? bare.map(String) : []
  const open = named.filter((value) => !isWithdrawn(sources.get(value) ?? 0))
  return textOfMemory(chosen, open)
}

/** Messages never change, so their values are looked for once. */
const known = new WeakMap<readonly Block[], readonly string[]>()

/** The values that messages show as they are. */
export function valuesShown(blocks: readonly Block[]): readonly string[] {
  const found = known.get(blocks)
  if (found !== undefined) return found
  const values = new Set<string>()
  for (const text of textsOf(blocks)) {
    for (const piece of piecesOf(text)) for (const value of valuesOf(piece)) values.add(value)
  }
  const all = [...values]
  known.set(blocks, all)
  return all
}

function likelihood(value: string, sighting: Sighting | undefined, step: number): number {
  const { uses = 0, lastUse = -1, lastSeen = -1 } = sighting ?? {}
  const recency = (last: number, halfLife: number): number =>
    last < 0 ? 0 : 2 ** (-Math.max(0, step - last) / halfLife)
  const score =
    Math.log2(1 + uses) +
    2 * recency(lastUse, useHalfLife) +
    2 * recency(lastSeen, sightHalfLife) +
    0.2
  return isNumber(value) ? score * numberWeight : score
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

function textOfMemory(
  lines: readonly Pick<Line, 'text' | 'from'>[],
  values: readonly string[],
): string {
  const parts: string[] = []
  let from = ''
  for (const line of lines) {
    if (line.from !== from) parts.push(`${line.from}:`)
    from = line.from
    parts.push(line.text)
  }
  if (values.length > 0) parts.push(`Also seen: ${values.join(' ')}`)
  return parts.join('\n')
}

/** What a message says: its text, the arguments of its calls, the text of its results. */
function textsOf(blocks: readonly Block[]): readonly string[] {
  return blocks.flatMap((block) => {
    if (block.type === 'text') return [block.text]
    if (block.type === 'tool-call') return [block.arguments.replaceAll('\\n', '\n')]
    return block.type === 'tool-result' ? [textOf(block.content)] : []
  })
}

/** Lines are looked at in pieces of this many characters, so that no text can make a pattern slow. */
const pieceLength = 200
/** How much of one text is looked at: a memory must cost the same for 200 KB and for 20 MB. */
const readLength = 200_000

const shortest = 4
const longest = 80

/** Addresses, paths, names (also dotted ones), ids and numbers. */
const pattern =
  /[\w.+-]+@[\w-]+\.[\w.]+|[\w.@~+-]*(?:\/[\w.@~+-]+)+|[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)+|#?[A-Za-z0-9-]*\d[\w-]*|[A-Za-z_$][\w$]*/g
/** Where something is defined: agents look for these lines as a whole. */
const definition =
  /\b(?:class|const|def|enum|fn|func|function|interface|struct|trait|type)\s+[A-Za-z_$][\w$]*/g
/** What programs say, and what is said about them. */
const quoted = /"([^"]{6,60})"|'([^']{6,60})'|`([^`]{6,60})`/g

/** The different values of one piece, in order. */
export function valuesOf(piece: string): readonly string[] {
  const found = new Set<string>()
  for (const [value] of piece.matchAll(pattern)) {
    if (value.length >= shortest && value.length <= longest && isTelling(value)) found.add(value)
  }
  for (const [value] of piece.matchAll(definition)) found.add(value)
  for (const [, double, single, back] of piece.matchAll(quoted)) {
    const phrase = (double ?? single ?? back ?? '').trim()
    if (phrase.includes(' ')) found.add(phrase)
  }
  return [...found]
}

/** Plain words tell nothing. */
function isTelling(value: string): boolean {
  return /[\d_$@/.]|[a-z][A-Z]/.test(value)
}

/** Whether a value is a bare number: agents need those again far less often than names. */
function isNumber(value: string): boolean {
  return /^[\d.,-]+$/.test(value)
}

/** A text as short pieces with blanks collapsed: its lines, long ones cut where they may be cut. */
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

/** Where a long line is cut: behind a separator, else behind a blank, else anywhere but inside a character. */
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
  return piece.replaceAll(/\s+/g, ' ').trim()
}
