// Work that no operation waits for: snapshots, leases, summaries and checkpoints behind a view.

import { OrielError } from '../core/log/errors.ts'

/** What a thread does in the background. The event `job-failed` has the name as its `id`. */
export const backgroundTasks = ['checkpoint', 'summary', 'snapshot', 'lease', 'memory'] as const

export type BackgroundTask = (typeof backgroundTasks)[number]

/** Runs work in the background. Never throws and never rejects: what `work` throws or rejects with goes to `onFailed`. */
export async function inBackground(
  work: () => unknown,
  onFailed: (error: unknown) => void,
): Promise<void> {
  try {
    await work()
  } catch (error) {
    try {
      onFailed(error)
    } catch {
      // A reporter that fails has nobody to report to.
    }
  }
}

/** A code for an error of anybody: never its words, which may hold content. */
export function codeOf(error: unknown): string {
  if (OrielError.is(error)) return error.code
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (typeof code === 'string' && /^[\w-]{1,40}$/.test(code)) return code
  const name = error instanceof Error ? error.name : ''
  return /^\w{1,40}$/.test(name) ? name : 'unknown'
}
