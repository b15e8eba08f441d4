// What a process that serves a gateway does with errors that nobody caught. See docs/decisions/0010-errors-nobody-caught.md.

import { framesOf } from './background.ts'
import type { Gateway } from './gateway.ts'

export interface ProcessErrorsOptions {
  /** Called once, at the first exception after which the state of the process cannot be trusted: stop accepting, drain, close. */
  readonly stop: () => void
  /** Ends the process where it did not end by itself. @default process.exit */
  readonly exit?: (code: number) => void
}

/** Longer than the server needs to drain and to close. */
const maxStopMs = 20_000

/**
 * Reports every error that nobody caught. The process goes on after an unhandled rejection, and after an error that a socket or stream
 * emitted without a listener; after any other exception `stop` is called. Returns a function that ends this.
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
 * Whether an exception is an error of the operating system that Node emitted by itself: `ECONNRESET` of a socket that nobody listens
 * to. All its frames are Node's own, so that no function of ours, and no function of a package, was left half-way.
 */
function interruptedNothing(error: unknown): boolean {
  if (!(error instanceof Error) || !('syscall' in error)) return false
  const frames = framesOf(error)
  // A stack that was cut off, or that is missing, proves nothing.
  if (frames.length === 0 || frames.length >= Error.stackTraceLimit) return false
  return frames.every((frame) => /\(node:[\w/:]+\)$|^node:[\w/:]+$/.test(frame))
}
