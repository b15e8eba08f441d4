// Ids that look like a provider's: unique for a seed, the same in every run.

import { createHash } from 'node:crypto'
import type { MakeId } from 'oriel/providers'

export function createIds(seed: string): MakeId {
  let count = 0
  return (prefix) => {
    count += 1
    const digest = createHash('sha256').update(`${seed}:${count}`).digest('hex')
    return `${prefix}_${digest.slice(0, 24)}`
  }
}
