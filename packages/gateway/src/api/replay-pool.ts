// Replay pool: runs what-if replays in worker threads with a deadline and a heap limit each, so
// that the event loop stays free and an oversized replay fails alone. Bounded per tenant and in
// total; a caller that disconnects aborts its replay.

import { Worker } from 'node:worker_threads'
import { type Entry, type ErrorCode, OrielError } from 'oriel'
import { RefusedError, refuse } from '../http/errors.ts'
import type { Limits } from '../options.ts'
import type { ReplayJob, ReplayReply } from './replay-worker.ts'

export interface ReplayOptions {
  readonly tenant: string
  /** Aborts the replay with the caller's request. */
  readonly signal: AbortSignal
  /** Told the share of the work that is done. @default nobody is */
  readonly onProgress?: (share: number) => void
}

/** Concurrent replays. Each takes a core. */
const maxRunning = 2
/** Queue length. */
const maxWaiting = 16
/** Replays per tenant, running or queued: the studio compares two policies. */
const maxOfTenant = 2
/** Entries per message to the worker. */
const batchSize = 64

export class ReplayPool {
  readonly #limits: Pick<Limits, 'replayMs' | 'replayBytes'>
  readonly #tenants = new Map<string, number>()
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(limits: Pick<Limits, 'replayMs' | 'replayBytes'>) {
    this.#limits = limits
  }

  /** Runs a replay. Resolves with the outcome as JSON text. */
  async run(
    job: ReplayJob,
    entries: AsyncIterable<Entry>,
    { tenant, signal, onProgress = () => undefined }: ReplayOptions,
  ): Promise<Uint8Array<ArrayBuffer>> {
    const own = this.#tenants.get(tenant) ?? 0
    if (own >= maxOfTenant) throw busy(429, 'busy')
    if (this.#running >= maxRunning && this.#waiting.length >= maxWaiting) {
      throw busy(503, 'overloaded')
    }
    this.#tenants.set(tenant, own + 1)
    const deadline = AbortSignal.timeout(this.#limits.replayMs)
    const ending = AbortSignal.any([signal, deadline])
    try {
      await this.#turn(ending)
      try {
        return await this.#replay(job, entries, { ending, onProgress })
      } finally {
        this.#next()
      }
    } catch (error) {
      if (deadline.aborted && !signal.aborted) throw tooSlow(this.#limits.replayMs)
      throw error
    } finally {
      const left = (this.#tenants.get(tenant) ?? 1) - 1
      if (left === 0) this.#tenants.delete(tenant)
      else this.#tenants.set(tenant, left)
    }
  }

  async #turn(ending: AbortSignal): Promise<void> {
    if (this.#running < maxRunning) {
      this.#running += 1
      return
    }
    await new Promise<void>((resolve, reject) => {
      const begin = (): void => {
        ending.removeEventListener('abort', leave)
        resolve()
      }
      const leave = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(begin), 1)
        reject(left())
      }
      this.#waiting.push(begin)
      ending.addEventListener('abort', leave, { once: true })
    })
  }

  /** Starts the next queued replay (FIFO). */
  #next(): void {
    const begin = this.#waiting.shift()
    if (begin === undefined) this.#running -= 1
    else begin()
  }

  async #replay(
    job: ReplayJob,
    entries: AsyncIterable<Entry>,
    {
      ending,
      onProgress,
    }: { readonly ending: AbortSignal; readonly onProgress: (share: number) => void },
  ): Promise<Uint8Array<ArrayBuffer>> {
    const maxOldGenerationSizeMb = Math.ceil(this.#limits.replayBytes / 2 ** 20)
    const worker = new Worker(workerFile(), {
      name: 'oriel-replay',
      workerData: job,
      resourceLimits: { maxOldGenerationSizeMb },
    })
    const ended = Promise.withResolvers<Uint8Array<ArrayBuffer>>()
    ended.promise.catch(() => undefined)
    const leave = (): void => ended.reject(left())
    ending.addEventListener('abort', leave, { once: true })
    if (ending.aborted) leave()
    let onMore: (() => void) | undefined
    worker.on('message', (reply: ReplayReply) => {
      if (reply === 'more') onMore?.()
      else if ('progress' in reply) onProgress(reply.progress)
      else if ('bytes' in reply) ended.resolve(reply.bytes)
      else ended.reject(errorOf(reply))
    })
    worker.on('error', (error) => ended.reject(ofWorker(error)))
    worker.on('exit', () => ended.reject(left()))
    const sent = (batch: readonly Entry[]): Promise<unknown> => {
      const more = new Promise<void>((resolve) => {
        onMore = resolve
      })
      worker.postMessage(batch)
      return Promise.race([more, ended.promise])
    }
    try {
      await send(entries, sent)
      worker.postMessage('end')
      return await ended.promise
    } finally {
      ending.removeEventListener('abort', leave)
      await worker.terminate()
    }
  }
}

/** Streams entries with backpressure: at most one batch is in memory here. */
async function send(
  entries: AsyncIterable<Entry>,
  sent: (batch: readonly Entry[]) => Promise<unknown>,
): Promise<void> {
  let batch: Entry[] = []
  for await (const entry of entries) {
    batch.push(entry)
    if (batch.length < batchSize) continue
    await sent(batch)
    batch = []
  }
  if (batch.length > 0) await sent(batch)
}

/** The worker beside this file: TypeScript in the sources, JavaScript in the package. */
function workerFile(): URL {
  const extension = import.meta.url.endsWith('.ts') ? '.ts' : '.js'
  return new URL(`./replay-worker${extension}`, import.meta.url)
}

function busy(status: 429 | 503, code: string): RefusedError {
  const message = 'Too many replays are under way. Try again.'
  return new RefusedError({ status, code, message, headers: { 'retry-after': '1' } })
}

function tooSlow(replayMs: number): RefusedError {
  const message = `This thread takes longer to replay than ${replayMs} ms, the limit replayMs.`
  return refuse(413, 'too-large', message)
}

/** The caller has disconnected, so nobody sees this error. */
function left(): Error {
  return new Error('The replay was aborted.')
}

function errorOf({ code, message, path }: Extract<ReplayReply, { message: string }>): Error {
  if (code === undefined) return new Error(message)
  return new OrielError(code as ErrorCode, message, path === undefined ? {} : { path })
}

function ofWorker(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code !== 'ERR_WORKER_OUT_OF_MEMORY') return error
  const message = 'This thread takes more memory to replay than the limit replayBytes allows.'
  return refuse(413, 'too-large', message)
}
