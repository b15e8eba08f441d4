// Calls of one thread reach the same cache of a provider that has many.

import { hash } from 'node:crypto'

/** A body with a key for the provider's cache, the same for the same thread. Nobody can read the name of the thread from it. */
export function withCacheKey(bytes: Uint8Array, thread: string): Uint8Array {
  const field = `"prompt_cache_key":"oriel-${hash('sha256', thread).slice(0, 32)}",`
  const inside = bytes.indexOf(0x7b) + 1
  return Buffer.concat([bytes.subarray(0, inside), Buffer.from(field), bytes.subarray(inside)])
}
