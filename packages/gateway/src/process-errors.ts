// Handling of uncaught errors in a gateway process. See
// docs/decisions/0010-errors-nobody-caught.md.

import { framesOf } from './background.ts'
import type { Gateway } from './gateway.ts'

export interface ProcessErrorsOptions {
  /**
   * Called once, at the first exception after which the process state cannot be trusted: stop
   * accepting, drain, close.
   */
  readonly stop: () => void
  /** Exits if the process did not end by itself. @default process.exit */
  readonly exit?: (code: number) => void
}

/** Longer than the server needs to drain and close. */
const maxStopMs = 20_000

/**
 * Reports every uncaught error. The process continues after an unhandled rejection, and after an
 * error that a socket or stream emitted without a listener; after any other exception it calls
 * `stop`. Returns a function that removes the handlers.
 */
export function watchProcess(
  gateway: Pick<Gateway, 'failed'>,
  { stop, exit = (code) => process.exit(code) }: ProcessErrorsOptions,
): () => void {
  let timer: NodeJS.Timeout | undefined
  const rejected = (reason: unknown): void => gateway.failed('process', reason)
  const thrown = (error: unknown): void => {
    gateway.failed('process', error)
    if (interruptedNothing(error) || timer !== undefined) return
    timer = setTimeout(() => exit(1), maxStopMs).unref()
    stop()
  }
  process.on('unhandledRejection', rejected)
  process.on('uncaughtException', thrown)
  return () => {
    clearTimeout(timer)
    process.off('unhandledRejection', rejected)
    process.off('uncaughtException', thrown)
  }
}

/**
 * True for a system error that Node emitted by itself, such as `ECONNRESET` of a socket without a
 * listener. All its frames are Node's own, so no function of ours or of a package was interrupted.
 */
function interruptedNothing(error: unknown): boolean {
  if (!(error instanceof Error) || !('syscall' in error)) return false
  const frames = framesOf(error)
  // A truncated or missing stack proves nothing.
  if (frames.length === 0 || frames.length >= Error.stackTraceLimit) return false
  return frames.every((frame) => /\(node:[\w/:]+\)$|^node:[\w/:]+$/.test(frame))
}
