// A progress bar on standard error, for people who wait longer than a second.

import { Presets, SingleBar } from 'cli-progress'
import type { Terminal } from './terminal.ts'

/** Reading runs ahead of the work on what was read: the bar shows the work. */
export interface Progress {
  /** More bytes have been read. */
  read(bytes: number): void
  /** This part of what has been read is done; 1 is all of it. */
  work(share: number): void
  stop(): void
}

/** Work that is done sooner needs no bar. */
const patienceMs = 1000

/** A bar that appears late, only in a terminal, and leaves nothing behind. */
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
          // The bar asks for a stream, and uses of it what an output has.
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
