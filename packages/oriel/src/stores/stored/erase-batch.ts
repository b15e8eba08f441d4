// Erasing many threads: how many at once.

import type { ThreadInfo } from '../store.ts'

/** A batch is one transaction of SQLite, for whose time nobody else writes. */
const maxCount = 32
const maxBytes = 16 * 1024 * 1024

/** The first of these threads, up to a bounded number and size; one at least. */
export function eraseBatch<T extends Pick<ThreadInfo, 'bytes'>>(
  threads: readonly T[],
): readonly T[] {
  let bytes = 0
  const end = threads.findIndex((thread, index) => {
    bytes += thread.bytes
    return index >= maxCount || (index > 0 && bytes > maxBytes)
  })
  return end < 0 ? threads : threads.slice(0, end)
}
