// Calls of one thread reach the same cache of a provider that has many.

import { hash } from 'node:crypto'

/** A field with a key for the provider's cache, the same for the same thread. Nobody can read the name of the thread from it. */
export function cacheKeyMember(thread: string): string {
  return `"prompt_cache_key":"oriel-${hash('sha256', thread).slice(0, 32)}",`
}
