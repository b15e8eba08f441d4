// Reads a log for a caller: others have their turn meanwhile, and it ends when the caller leaves.

import { setImmediate } from 'node:timers/promises'
import type { Entry } from 'oriel'

/** How much a reader does before others have their turn: stores that have an entry at hand never wait for it. */
const sliceEntries = 64
const sliceMs = 10

export async function* paced(
  entries: AsyncIterable<Entry>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Entry> {
  let since = performance.now()
  let count = 0
  for await (const entry of entries) {
    count += 1
    if (count >= sliceEntries || performance.now() - since > sliceMs) {
      await setImmediate()
      signal?.throwIfAborted()
      since = performance.now()
      count = 0
    }
    yield entry
  }
}
