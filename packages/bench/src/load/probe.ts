// Preloaded into each measured process: reports its event loop lag since the last query, with a histogram.

import { monitorEventLoopDelay } from 'node:perf_hooks'
import { isMainThread } from 'node:worker_threads'
import { lagBounds } from './lag-bounds.ts'

const resolution = 10

// Worker threads load it too; theirs is not the loop that clients wait for.
if (isMainThread) {
  const delays = monitorEventLoopDelay({ resolution })
  delays.enable()
  let counts = lagBounds.map(() => 0)
  let last = performance.now()
  const sample = setInterval(() => {
    const now = performance.now()
    const lateMs = now - last - resolution
    last = now
    const index = lagBounds.findIndex((bound) => lateMs <= bound)
    counts[index] = (counts[index] ?? 0) + 1
  }, resolution)
  sample.unref()

  process.on('message', (message: { readonly probe?: boolean }) => {
    if (message.probe !== true) return
    const probe = { p99Ms: delays.percentile(99) / 1e6, maxMs: delays.max / 1e6, counts }
    process.send?.({ probe })
    delays.reset()
    counts = lagBounds.map(() => 0)
  })
  process.channel?.unref()
}
