// Preloaded into each measured process: reports its event loop lag since the last query.

import { monitorEventLoopDelay } from 'node:perf_hooks'

const delays = monitorEventLoopDelay({ resolution: 10 })
delays.enable()

process.on('message', (message: { readonly probe?: boolean }) => {
  if (message.probe !== true) return
  process.send?.({ probe: { p99Ms: delays.percentile(99) / 1e6, maxMs: delays.max / 1e6 } })
  delays.reset()
})
process.channel?.unref()
