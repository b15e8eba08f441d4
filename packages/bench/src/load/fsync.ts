// How long the disk takes for a sync, measured while a run goes on: a part of each durable answer's time that no store can take away.

import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

const page = Buffer.alloc(4096, 1)

/**
 * Milliseconds of each of so many writes of 4 KB with their syncs, to a file in the folder, at the pace of the requests: a disk that
 * rested is slower than one that is asked without a break.
 */
export async function measureSyncs(
  folder: string,
  { count, paceMs }: { readonly count: number; readonly paceMs: number },
): Promise<readonly number[]> {
  const handle = openSync(join(folder, 'fsync'), 'w')
  const times: number[] = []
  for (let step = 0; step < count; step++) {
    await wait(paceMs)
    const begun = performance.now()
    writeSync(handle, page, 0, page.length, 0)
    fsyncSync(handle)
    times.push(performance.now() - begun)
  }
  closeSync(handle)
  return times
}
