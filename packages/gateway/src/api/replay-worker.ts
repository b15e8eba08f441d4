// Worker thread of a what-if replay: receives log entries, returns the outcome as JSON text.

import { parentPort, workerData } from 'node:worker_threads'
import { type Entry, OrielError } from 'oriel'
import { type CompareOptions, compare } from './compare.ts'
import { type WhatIfOptions, whatIf } from './what-if.ts'

/** A what-if, or the comparison of several policies. */
export type ReplayJob = (WhatIfOptions | CompareOptions) & {
  /** The length of the log, for the response. */
  readonly version: number
}

/** `more` requests the next batch. */
export type ReplayReply =
  | 'more'
  /** The share of the work that is done. */
  | { readonly progress: number }
  | { readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly message: string; readonly code?: string; readonly path?: string }

const entries: Entry[] = []

parentPort?.on('message', async (message: readonly Entry[] | 'end') => {
  if (message !== 'end') {
    entries.push(...message)
    reply('more')
    return
  }
  try {
    const { version, ...options } = workerData as ReplayJob
    const log = entries.splice(0)
    const made =
      'policies' in options ? await compare(log, options, report) : await whatIf(log, options)
    const outcome = { version, ...made }
    const bytes = new TextEncoder().encode(JSON.stringify(outcome))
    reply({ bytes }, [bytes.buffer])
  } catch (error) {
    const { message = 'unknown' } = error instanceof Error ? error : {}
    const { code, path } = OrielError.is(error) ? error : {}
    reply({ message, ...(code && { code }), ...(path && { path }) })
  }
})

let reported = 0

/** Not more often than a page can show. */
function report(progress: number): void {
  if (progress - reported < 0.01) return
  reported = progress
  reply({ progress })
}

function reply(value: ReplayReply, transfer: ArrayBuffer[] = []): void {
  parentPort?.postMessage(value, transfer)
}
