// V8 heap tuning for a process that runs only a gateway.

import { setFlagsFromString } from 'node:v8'

/** Heap growth between full collections, in percent of the live size. */
const growthPercent = 100

const flag = '--heap-growing-percent'

/**
 * When requests are rare, V8 runs a full collection for every 8 MB of growth, including buffers.
 * With long bodies that happens up to once per second and takes up to half of the CPU time. Under
 * load V8 allows fourfold growth. A fixed factor lies between the two. An operator may override the
 * flag.
 */
export function tuneHeap(given: readonly string[] = process.execArgv): void {
  // V8 accepts underscores for dashes.
  const isGiven = given.some((text) => text.replaceAll('_', '-').startsWith(flag))
  if (!isGiven) setFlagsFromString(`${flag}=${growthPercent}`)
}
