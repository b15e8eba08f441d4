// What the command needs of the world around it, so that tests can hand in their own.

import picocolors from 'picocolors'

export type Colors = ReturnType<typeof picocolors.createColors>

export interface Output {
  write(text: string): unknown
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
}

export interface Terminal {
  readonly stdin: AsyncIterable<Uint8Array>
  readonly stdout: Output
  readonly stderr: Output
  readonly env: Readonly<Record<string, string | undefined>>
  /** A clock in milliseconds; only the progress bar looks at it. */
  now(): number
}

/** Lines are never wider: longer ones are hard to read, and hard to paste. */
const maxWidth = 100
/** Narrower terminals wrap lines; tables need at least this much. */
const minWidth = 72

/** The terminal of this process. */
export function processTerminal(): Terminal {
  // A reader that has seen enough (`oriel inspect x | head`) is no failure.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
  // Who read the log of a server may end before the server does.
  process.stderr.on('error', () => {})
  return {
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    now: () => performance.now(),
  }
}

/** Columns that the output may use. */
export function widthOf({ isTTY, columns }: Output): number {
  if (isTTY !== true || columns === undefined) return maxWidth
  return Math.min(maxWidth, Math.max(minWidth, columns))
}

/** Colours for an output: none for files, pipes and dumb terminals, nor where NO_COLOR is set. */
export function colorsFor(output: Output, env: Terminal['env']): Colors {
  const isForced = isSet(env.FORCE_COLOR) && env.FORCE_COLOR !== '0'
  const isCapable = output.isTTY === true && env.TERM !== 'dumb'
  return picocolors.createColors(!isSet(env.NO_COLOR) && (isForced || isCapable))
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== ''
}
