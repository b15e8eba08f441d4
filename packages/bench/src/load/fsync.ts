// How long the disk takes for a sync, measured while a run goes on: a part of each durable answer's time that no store can take away.

import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'

const page = Buffer.alloc(4096, 1)

/** Milliseconds of each of so many writes of 4 KB with their syncs, to a file in the folder. */
export function measureSyncs(folder: string, count: number): readonly number[] {
  const handle = openSync(join(folder, 'fsync'), 'w')
  const times: number[] = []
  for (let step = 0; step < count; step++) {
    const begun = performance.now()
    writeSync(handle, page, 0, page.length, 0)
    fsyncSync(handle)
    times.push(performance.now() - begun)
  }
  closeSync(handle)
  return times
}
