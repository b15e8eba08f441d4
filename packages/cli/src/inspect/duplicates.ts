// Duplicate tool results: identical or nearly so (MinHash), such as a file that was read, edited
// and read again.

/** A tool result, for duplicate detection. */
export interface Repeatable {
  /** Index of its message. */
  readonly index: number
  readonly tool: string
  readonly tokens: number
  readonly text: string
}

export interface Repeat {
  readonly tool: string
  /** Number of occurrences. */
  readonly times: number
  readonly isIdentical: boolean
  /** Tokens of all but the newest copy. */
  readonly wastedTokens: number
  /** Index of each message, oldest first. */
  readonly indexes: readonly number[]
}

/** Shorter results ("ok") repeat often and cost nothing. */
const minTokens = 20
/** Minimum resemblance of near-duplicates. */
const similarity = 0.9
/** Words per shingle. */
const phraseWords = 3
/** Sketch size: enough to tell 0.9 from 0.8. */
const sketchSize = 256
/** Lookup keys per text: near-duplicates almost surely share one of their smallest shingles. */
const keyCount = 4
/** Maximum candidates compared per key, so that a common shingle does not cost n squared. */
const maxCandidates = 8

/** Groups of duplicates, most wasted tokens first. Compares results of the same tool only. */
export function findRepeats(results: readonly Repeatable[]): readonly Repeat[] {
  const groups = new Groups()
  for (const result of results) if (result.tokens >= minTokens) groups.add(result)
  return groups
    .all()
    .filter((group) => group.length > 1)
    .map(toRepeat)
    .sort((a, b) => b.wastedTokens - a.wastedTokens || firstOf(a) - firstOf(b))
}

type Group = Repeatable[]

interface Known {
  readonly sketch: Sketch
  readonly group: Group
}

class Groups {
  readonly #all: Group[] = []
  readonly #byText = new Map<string, Group>()
  readonly #byKey = new Map<string, Known[]>()

  add(result: Repeatable): void {
    const exact = `${result.tool}\n${result.text}`
    const same = this.#byText.get(exact)
    if (same !== undefined) {
      same.push(result)
      return
    }
    const sketch = sketchOf(result.text)
    const keys = sketch.slice(0, keyCount).map((phrase) => `${result.tool}\n${phrase}`)
    const group = this.#similar(keys, sketch) ?? []
    if (group.length === 0) this.#all.push(group)
    group.push(result)
    this.#byText.set(exact, group)
    for (const key of keys) this.#remember(key, { sketch, group })
  }

  all(): readonly Group[] {
    return this.#all
  }

  #similar(keys: readonly string[], sketch: Sketch): Group | undefined {
    for (const key of keys) {
      const match = this.#byKey
        .get(key)
        ?.find((known) => resemblance(known.sketch, sketch) >= similarity)
      if (match !== undefined) return match.group
    }
    return undefined
  }

  #remember(key: string, known: Known): void {
    const others = this.#byKey.get(key) ?? []
    this.#byKey.set(key, [known, ...others].slice(0, maxCandidates))
  }
}

/** The smallest shingle hashes of a text, sorted: a consistent sample. */
type Sketch = readonly number[]

function sketchOf(text: string): Sketch {
  const hashes = new Set<number>()
  const recent: number[] = []
  for (const word of wordHashes(text)) {
    recent.push(word)
    if (recent.length > phraseWords) recent.shift()
    if (recent.length === phraseWords) hashes.add(mix(recent))
  }
  if (hashes.size === 0) hashes.add(mix(recent))
  return [...hashes].sort((a, b) => a - b).slice(0, sketchSize)
}

/**
 * FNV-1a hash of each word. Symbols, and characters of scripts without spaces, are separate words.
 * Hand-written because it reads every character of every result: a regular expression takes several
 * times as long.
 */
function wordHashes(text: string): readonly number[] {
  const hashes: number[] = []
  let hash = emptyHash
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (isLetter(code)) {
      hash = Math.imul(hash ^ code, 0x01000193)
      continue
    }
    if (hash !== emptyHash) hashes.push(hash)
    hash = emptyHash
    if (code > 0x20) hashes.push(code)
  }
  if (hash !== emptyHash) hashes.push(hash)
  return hashes
}

const emptyHash = 0x811c9dc5 | 0

function isLetter(code: number): boolean {
  if (code < 0x80) {
    return (
      (code >= 0x61 && code <= 0x7a) ||
      (code >= 0x41 && code <= 0x5a) ||
      (code >= 0x30 && code <= 0x39)
    )
  }
  return code >= 0xc0 && code < 0x2000
}

/** Mixes several hashes into one, well distributed, so that the smallest ones are a fair sample. */
function mix(hashes: readonly number[]): number {
  let mixed = 0
  for (const hash of hashes) mixed = Math.imul(mixed ^ hash, 0x9e3779b1) + 0x7f4a7c15
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}

/** Estimated Jaccard similarity of two texts, from the smallest hashes of their union. */
function resemblance(a: Sketch, b: Sketch): number {
  let left = 0
  let right = 0
  let both = 0
  let seen = 0
  while (seen < sketchSize && (left < a.length || right < b.length)) {
    const x = a[left] ?? Number.POSITIVE_INFINITY
    const y = b[right] ?? Number.POSITIVE_INFINITY
    if (x === y) both += 1
    if (x <= y) left += 1
    if (y <= x) right += 1
    seen += 1
  }
  return seen === 0 ? 0 : both / seen
}

function toRepeat(group: Group): Repeat {
  const newest = group.at(-1) as Repeatable
  const tokens = group.reduce((sum, result) => sum + result.tokens, 0)
  return {
    tool: newest.tool,
    times: group.length,
    isIdentical: group.every((result) => result.text === newest.text),
    wastedTokens: tokens - newest.tokens,
    indexes: group.map((result) => result.index),
  }
}

function firstOf({ indexes }: Repeat): number {
  return indexes[0] ?? 0
}
