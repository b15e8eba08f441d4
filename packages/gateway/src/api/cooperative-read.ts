// Cooperative log reading: yields to the event loop regularly, and aborts when the caller disconnects.

import { setImmediate } from 'node:timers/promises'
import type { Entry } from 'oriel'

/** Work between two yields. Stores that have entries in memory never yield by themselves. */
const sliceEntries = 64
const sliceMs = 10

export async function* readCooperatively(
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

/** A pause for long computations: yields to the event loop when a slice is over, and throws when the caller has disconnected. */
export function cooperativePause(signal: AbortSignal): () => Promise<void> {
  let since = performance.now()
  return async () => {
    if (performance.now() - since < sliceMs) return
    await setImmediate()
    signal.throwIfAborted()
    since = performance.now()
  }
}
