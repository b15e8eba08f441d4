// Terminal abstraction: streams, environment and clock, replaceable in tests.

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
  /** Milliseconds; used by the progress bar only. */
  now(): number
}

/** Maximum line width, for readability. */
const maxWidth = 100
/** Minimum width for tables; narrower terminals wrap. */
const minWidth = 72

/** The terminal of this process. */
export function processTerminal(): Terminal {
  // A closed pipe (`oriel inspect x | head`) is not a failure.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
  // The reader of a server's log may exit before the server.
  process.stderr.on('error', () => {})
  return {
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    now: () => performance.now(),
  }
}

/** Columns available to the output. */
export function widthOf({ isTTY, columns }: Output): number {
  if (isTTY !== true || columns === undefined) return maxWidth
  return Math.min(maxWidth, Math.max(minWidth, columns))
}

/** Colours for an output: none for files, pipes and dumb terminals, or if NO_COLOR is set. */
export function colorsFor(output: Output, env: Terminal['env']): Colors {
  const isForced = isSet(env.FORCE_COLOR) && env.FORCE_COLOR !== '0'
  const isCapable = output.isTTY === true && env.TERM !== 'dumb'
  return picocolors.createColors(!isSet(env.NO_COLOR) && (isForced || isCapable))
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== ''
}
