// Text similarity by shared word shingles (Jaccard), with MinHash and locality-sensitive hashing to
// find candidates.

/** Only this prefix is compared, to bound the work per text. */
const inspectedLength = 20_000
/** Words per shingle. */
const shingle = 3
/**
 * MinHash sketch size, and values per LSH band. Texts that are 90 % similar share a bucket with
 * near certainty.
 */
const sketchSize = 32
const bandSize = 4

/**
 * Jaccard similarity of the shingle sets: 1 for the same words in the same order, 0 for nothing in
 * common.
 */
export function similarity(a: string, b: string): number {
  if (a === b) return 1
  const [left, right] = [shinglesOf(a), shinglesOf(b)]
  let common = 0
  for (const one of left) if (right.has(one)) common += 1
  const all = left.size + right.size - common
  return all === 0 ? 0 : common / all
}

/** LSH buckets. Similar texts share at least one with high probability; equal texts share all. */
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

/** Murmur3 finalizer. */
function mix(value: number): number {
  let hash = value >>> 0
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
