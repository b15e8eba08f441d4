// Disk sync times during a run: a part of each durable answer's time that no store can avoid.

import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

const page = Buffer.alloc(4096, 1)

/**
 * Milliseconds of each 4 KB write with sync, at the request rate: an idle disk is slower than a
 * busy one.
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
