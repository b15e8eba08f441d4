// The heap of a process that is a gateway and does nothing else.

import { setFlagsFromString } from 'node:v8'

/** How far the heap may grow beyond what is alive before all of it is collected, in percent. */
const growthPercent = 100

const flag = '--heap-growing-percent'

/**
 * While requests are rare, V8 collects the whole heap each time that it has grown by 8 MB, and buffers count: with long bodies that is
 * up to every second, and up to half of what the process does. Under load it lets it grow up to fourfold. This lies between, and is the same at
 * all times. Whoever starts the process may set the flag to something else.
 */
export function tuneHeap(given: readonly string[] = process.execArgv): void {
  // V8 takes underscores for dashes.
  const isGiven = given.some((text) => text.replaceAll('_', '-').startsWith(flag))
  if (!isGiven) setFlagsFromString(`${flag}=${growthPercent}`)
}
