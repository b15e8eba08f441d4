// The line of writes: small ones are done on this thread, the others by the worker through a bounded queue; a new worker when the
// old one died.

import { OrielError } from '../../core/log/errors.ts'
import type { ThreadKey } from '../store.ts'
import { InlineWriter } from './inline-writer.ts'
import type { Done, Reply, Request } from './worker-protocol.ts'
import { packRequest, unpackError } from './worker-protocol.ts'
import type { Operation, SessionSettings } from './writer-connection.ts'
import { appendedTo } from './writer-connection.ts'
import { startWriter, type WriterThread } from './writer-thread.ts'

/** The number of an operation that nobody waits for. */
const unasked = 0

/** Within this time the disk has what is durable soon. */
const soonMs = 1000

export interface WriterSettings extends SessionSettings {
  readonly maxQueueBytes: number
  readonly maxQueueCount: number
  /** The file that the worker runs; undefined where nobody knows it. */
  readonly worker: URL | undefined
  /** Who writes: this thread what is small and the worker the rest, or the worker alone. */
  readonly writes: 'auto' | 'worker'
  /** Called at every named point of a write on this thread; tests stop the process there. */
  readonly at?: (point: string) => void
}

interface Pending {
  readonly request: Request
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/**
 * Contracts:
 * - Operations are performed in the order of the calls.
 * - This thread writes only while the worker has nothing to do.
 * - At most `maxQueueBytes` and `maxQueueCount` are with the worker; later calls wait, and their promises with them.
 * - Nothing keeps the process alive except operations that are not done yet.
 * - When the worker dies, what it had not acknowledged is rejected; the next call starts another one.
 */
export class SqliteWriter {
  readonly #settings: WriterSettings
  #worker: WriterThread | undefined
  #opened: Promise<void> | undefined
  readonly #sent = new Map<number, Pending>()
  #line: Pending[] = []
  #sentBytes = 0
  #nextId = 1
  #generation = 0
  #isOpen = false
  #isEnding = false
  /** Called when nothing waits any more. */
  #onIdle: (() => void) | undefined
  #isGathering = false
  #isSyncPlanned = false
  readonly #here: InlineWriter | undefined

  constructor(settings: WriterSettings) {
    this.#settings = settings
    const { path, busyTimeoutMs, truncated, writes, at } = settings
    if (writes === 'auto') this.#here = new InlineWriter({ path, busyTimeoutMs, truncated }, at)
  }

  /** Grows whenever the file was opened again: other connections may then hold a file that is gone. */
  get generation(): number {
    return this.#generation
  }

  /** Starts the worker if none runs; resolves when it has opened the file. */
  open(): Promise<void> {
    if (this.#opened === undefined) this.#opened = this.#start()
    return this.#opened
  }

  perform(operation: Operation, bytes: number): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const opened = this.#isOpen ? undefined : this.open()
      const request = { id: this.#nextId++, operation, bytes }
      this.#line.push({ request, resolve, reject })
      if (opened === undefined) this.#gather()
      // Where the file cannot be opened, the whole line is rejected.
      else opened.then(() => this.#gather(), ignore)
    })
  }

  /**
   * Waits for what was begun, syncs what is durable soon, then ends the worker. Rejects with a typed error where that sync fails;
   * everything is closed all the same.
   */
  async close(): Promise<void> {
    if (this.#line.length + this.#sent.size > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve
      })
    }
    try {
      if (this.#here?.isUnsynced === true) await this.perform({ type: 'sync' }, 0)
    } finally {
      this.#here?.close()
      await this.#endWorker()
    }
  }

  async #endWorker(): Promise<void> {
    const worker = this.#worker
    if (worker === undefined) return
    const ended = new Promise((resolve) => worker.once('exit', resolve))
    this.#isEnding = true
    worker.ref()
    worker.postMessage('close')
    await ended
  }

  #start(): Promise<void> {
    const { worker: file, path, busyTimeoutMs, truncated } = this.#settings
    const workerData: SessionSettings = { path, busyTimeoutMs, truncated }
    const worker = startWriter(file, workerData)
    this.#worker = worker
    return new Promise((resolve, reject) => {
      let reason: unknown
      worker.on('message', (reply: Reply) => {
        if (reply.type === 'opened') {
          this.#generation++
          this.#isOpen = true
          worker.unref()
          resolve()
        } else if (reply.type === 'failed') reason = unpackError(reply.error)
        else this.#settle(reply)
      })
      worker.on('error', (error) => {
        reason = error
      })
      worker.on('exit', () => {
        const error = OrielError.is(reason) ? reason : workerDied(reason)
        reject(error)
        this.#lose(worker, error)
      })
    })
  }

  /** What is asked for in one turn of the loop is sent as one message, and becomes one transaction. */
  #gather(): void {
    if (this.#isGathering) return
    this.#isGathering = true
    setImmediate(() => {
      this.#isGathering = false
      // Meanwhile the worker may have died, and another one may be on its way.
      if (!this.#isOpen) return
      this.#writeHere()
      this.#pump()
    })
  }

  /** Writes the whole line on this thread if that is allowed; otherwise it stays for the worker. */
  #writeHere(): void {
    const here = this.#here
    const line = this.#line
    if (here === undefined || this.#sent.size > 0 || line.length === 0) return
    const operations = line.map(({ request }) => request.operation)
    const bytes = line.reduce((sum, { request }) => sum + request.bytes, 0)
    if (!here.takes(operations, bytes)) return
    const attempt = here.write(operations, this.#generation)
    if (attempt.outcomes === undefined) {
      if (attempt.isInDoubt) this.#endHere(appendedTo(operations))
      return
    }
    if (here.isCheckpointDue()) this.#post({ type: 'checkpoint' })
    if (here.isUnsynced) this.#syncSoon(here)
    this.#line = []
    for (const [index, { resolve, reject }] of line.entries()) {
      const outcome = attempt.outcomes[index]
      if (outcome?.ok === true) resolve(outcome.value)
      else reject(outcome?.error)
    }
    this.#onIdle?.()
  }

  /** What waits for a sync gets it from the next write that is synced; if none comes, from the worker. */
  #syncSoon(here: InlineWriter): void {
    if (this.#isSyncPlanned) return
    this.#isSyncPlanned = true
    const sync = (): void => {
      this.#isSyncPlanned = false
      if (!here.isUnsynced) return
      here.handOver()
      this.#post({ type: 'sync' })
    }
    setTimeout(sync, soonMs).unref()
  }

  /** The disk failed on this thread's writes: from now on the worker writes, after it has checked what is in doubt. */
  #endHere(written: readonly ThreadKey[]): void {
    const keys = [...(this.#here?.doubtful ?? []), ...written]
    if (keys.length === 0) return
    this.#here?.end()
    this.#post({ type: 'doubt', keys })
  }

  /** An operation that nobody waits for. */
  #post(operation: Operation): void {
    this.#worker?.postMessage([{ id: unasked, operation, bytes: 0 } satisfies Request])
  }

  #pump(): void {
    const requests = this.#take()
    if (requests.length > 0) this.#worker?.postMessage(requests.map(packRequest))
  }

  /** As much of the line as the queue takes. */
  #take(): readonly Request[] {
    const { maxQueueBytes, maxQueueCount } = this.#settings
    const taken: Request[] = []
    for (;;) {
      const next = this.#line[0]
      if (next === undefined) return taken
      const { id, bytes } = next.request
      const isFull = this.#sentBytes + bytes > maxQueueBytes || this.#sent.size >= maxQueueCount
      // One operation larger than the whole queue still gets its turn, alone.
      if (isFull && this.#sent.size > 0) return taken
      this.#line.shift()
      if (this.#sent.size === 0) this.#worker?.ref()
      this.#sent.set(id, next)
      this.#sentBytes += bytes
      taken.push(next.request)
    }
  }

  #settle({ isReopened, results }: Done): void {
    if (isReopened) this.#generation++
    for (const result of results) {
      if (result.id === unasked && !result.ok) this.#endHere([])
      const pending = this.#sent.get(result.id)
      if (pending === undefined) continue
      this.#sent.delete(result.id)
      this.#sentBytes -= pending.request.bytes
      if (result.ok) pending.resolve(result.value)
      else pending.reject(unpackError(result.error))
    }
    this.#pump()
    if (this.#sent.size > 0) return
    if (!this.#isEnding) this.#worker?.unref()
    if (this.#line.length === 0) this.#onIdle?.()
  }

  /** The worker is gone: what it had not acknowledged may or may not be in the log. */
  #lose(worker: WriterThread, error: OrielError): void {
    if (this.#worker !== worker) return
    this.#worker = undefined
    this.#opened = undefined
    this.#isOpen = false
    const pending = [...this.#sent.values(), ...this.#line.splice(0)]
    this.#sent.clear()
    this.#sentBytes = 0
    for (const { reject } of pending) reject(error)
    this.#onIdle?.()
  }
}

/** What went wrong is told to everybody in the line. */
function ignore(): void {}

function workerDied(cause: unknown): OrielError {
  return new OrielError(
    'storage-failed',
    'The thread that writes the database ended. Whether the write took place is not known; retrying the same append is safe.',
    { cause },
  )
}
