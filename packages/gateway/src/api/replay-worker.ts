// Worker thread of a what-if replay: receives log entries, returns the outcome as JSON text.

import { parentPort, workerData } from 'node:worker_threads'
import { type Entry, OrielError } from 'oriel'
import { type WhatIfOptions, whatIf } from './what-if.ts'

export interface ReplayJob extends WhatIfOptions {
  /** The length of the log, for the response. */
  readonly version: number
}

/** `more` requests the next batch. */
export type ReplayReply =
  | 'more'
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
    const outcome = { version, ...(await whatIf(entries.splice(0), options)) }
    const bytes = new TextEncoder().encode(JSON.stringify(outcome))
    reply({ bytes }, [bytes.buffer])
  } catch (error) {
    const { message = 'unknown' } = error instanceof Error ? error : {}
    const { code, path } = OrielError.is(error) ? error : {}
    reply({ message, ...(code && { code }), ...(path && { path }) })
  }
})

function reply(value: ReplayReply, transfer: ArrayBuffer[] = []): void {
  parentPort?.postMessage(value, transfer)
}
