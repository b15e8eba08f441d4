// Progress bar on standard error, shown after one second.

import { Presets, SingleBar } from 'cli-progress'
import type { Terminal } from './terminal.ts'

/** Shows progress of the work, which lags behind reading. */
export interface Progress {
  /** More bytes were read. */
  read(bytes: number): void
  /** Fraction of the bytes read so far that is done, from 0 to 1. */
  work(share: number): void
  stop(): void
}

/** Shorter work shows no bar. */
const patienceMs = 1000

/** A delayed bar, only in a terminal, that is erased at the end. */
export function createProgress({ stderr, now }: Terminal, totalBytes: number): Progress {
  const start = now()
  let open = 0
  let done = 0
  let share = 0
  let bar: SingleBar | undefined
  const show = (): void => {
    if (stderr.isTTY !== true || totalBytes === 0 || now() - start < patienceMs) return
    if (bar === undefined) {
      bar = new SingleBar(
        {
          format: '  {bar} {percentage}%',
          barsize: 40,
          clearOnComplete: true,
          hideCursor: true,
          // The bar uses only what an output has.
          stream: stderr as NodeJS.WriteStream,
        },
        Presets.shades_classic,
      )
      bar.start(totalBytes, 0)
    }
    bar.update(Math.min(totalBytes, Math.round(done + open * share)))
  }
  return {
    read(bytes) {
      open += bytes
      show()
    },
    work(more) {
      share = Math.min(1, share + more)
      if (more >= 1) {
        done += open
        open = 0
        share = 0
      }
      show()
    },
    stop() {
      bar?.stop()
    },
  }
}
