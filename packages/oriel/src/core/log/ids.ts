// Entry and block ids: short, deterministic, unique in the thread, with check letters against
// guesses and typos.

import type { BlockId } from './block.ts'
import type { EntryId } from './entry.ts'

/** Salt for `project`, which has no thread. */
export const fixedSalt = 'oriel'

const letters = '0123456789abcdefghjkmnpqrstvwxyz'

/** Id of the entry at `seq`: `e`, the position in base 36, two check letters. */
export function entryId(salt: string, seq: number): EntryId {
  return `e${seq.toString(36)}${check(salt, seq, -1)}` as EntryId
}

/** Id of a block: the entry's id for the first block, with the block index for the others. */
export function blockId(salt: string, seq: number, block: number): BlockId {
  if (block === 0) return entryId(salt, seq) as string as BlockId
  return `e${seq.toString(36)}_${block.toString(36)}${check(salt, seq, block)}` as BlockId
}

/**
 * Parses an id made by `entryId` or `blockId` with the same salt. Returns undefined for anything
 * else.
 */
export function parseId(salt: string, id: string): { seq: number; block: number } | undefined {
  const match = /^e([0-9a-z]{1,10})(?:_([0-9a-z]{1,6}))?([0-9a-z]{2})$/.exec(id)
  if (match === null) return undefined
  const seq = Number.parseInt(match[1] as string, 36)
  const block = match[2] === undefined ? 0 : Number.parseInt(match[2], 36)
  return blockId(salt, seq, block) === id ? { seq, block } : undefined
}

function check(salt: string, seq: number, block: number): string {
  const value = hash53(`${salt}:${seq}:${block}`)
  return `${letters[value % 32]}${letters[Math.floor(value / 32) % 32]}`
}

/** Fast 53-bit non-cryptographic hash (cyrb53). Not for secrets or integrity. */
export function hash53(text: string): number {
  let high = 0xdeadbeef
  let low = 0x41c6ce57
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    high = Math.imul(high ^ unit, 2654435761)
    low = Math.imul(low ^ unit, 1597334677)
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909)
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909)
  return 4294967296 * (2097151 & low) + (high >>> 0)
}
