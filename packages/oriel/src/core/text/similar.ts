// How alike two texts are, by the word triples they share, and how to find the like of a text among many without comparing all.

/** Longer texts are judged by their first characters: work per text is bounded. */
const inspectedLength = 20_000
/** Words in a row that count as one feature. */
const shingle = 3
/** Numbers in a sketch, and how many of them make one bucket: texts that are 90 % alike meet in one with near certainty. */
const sketchSize = 32
const bandSize = 4

/** Share of word triples that two texts have in common: 1 for the same words in the same order, 0 for nothing in common. */
export function similarity(a: string, b: string): number {
  if (a === b) return 1
  const [left, right] = [shinglesOf(a), shinglesOf(b)]
  let common = 0
  for (const one of left) if (right.has(one)) common += 1
  const all = left.size + right.size - common
  return all === 0 ? 0 : common / all
}

/** Buckets in which like texts meet. Equal texts have equal buckets. */
export function bucketsOf(text: string): readonly string[] {
  const sketch = new Uint32Array(sketchSize).fill(0xffffffff)
  for (const hash of shinglesOf(text)) {
    for (let index = 0; index < sketchSize; index++) {
      const mixed = mix(hash ^ Math.imul(index + 1, 0x9e3779b1))
      if (mixed < (sketch[index] as number)) sketch[index] = mixed
    }
  }
  const buckets: string[] = []
  for (let from = 0; from < sketchSize; from += bandSize) {
    buckets.push(`${from}:${sketch.slice(from, from + bandSize).join(':')}`)
  }
  return buckets
}

function shinglesOf(text: string): ReadonlySet<number> {
  const words = text.slice(0, inspectedLength).toLowerCase().split(/\s+/)
  const shingles = new Set<number>()
  const hashes = words.map(hashOf)
  for (let index = 0; index < Math.max(1, hashes.length - shingle + 1); index++) {
    let hash = 0
    for (let at = index; at < Math.min(hashes.length, index + shingle); at++) {
      hash = mix(Math.imul(hash, 31) ^ (hashes[at] as number))
    }
    shingles.add(hash)
  }
  return shingles
}

function hashOf(word: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < word.length; index++) {
    hash = Math.imul(hash ^ word.charCodeAt(index), 0x01000193)
  }
  return hash >>> 0
}

/** Spreads every bit of a number over the whole (the well-known murmur3 finish). */
function mix(value: number): number {
  let hash = value >>> 0
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
