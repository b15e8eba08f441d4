// Requests with large bodies, handled by a worker thread with a gateway of its own on the same store: parsing, counting and hashing
// megabytes takes seconds, in which this thread continues answering everybody else. Here their bytes only pass through.

import { getHeapStatistics } from 'node:v8'
import { Worker } from 'node:worker_threads'
import { refuse } from '../http/errors.ts'
import { HeaderList } from '../http/header-list.ts'
import type { RelayedBody } from '../http/relay.ts'
import type { RelayedReply } from '../http/response.ts'
import type { OffloadOptions } from '../options.ts'
import { type FromWorker, movable, type ToWorker } from './protocol.ts'

/** What the worker reports besides answers. */
export interface LargeCallEvents {
  metric(message: Extract<FromWorker, { type: 'metric' }>): void
  log(line: string): void
  event(message: Extract<FromWorker, { type: 'event' }>): void
  /** The worker ended by itself. The next large request starts another one. */
  failed(error: unknown): void
}

interface Pending {
  readonly reply: PromiseWithResolvers<Extract<FromWorker, { type: 'reply' }>>
  chunk?: PromiseWithResolvers<Extract<FromWorker, { type: 'chunk' }>>
}

export class LargeCalls {
  readonly #options: OffloadOptions
  readonly #events: LargeCallEvents
  readonly #pending = new Map<number, Pending>()
  #worker: Worker | undefined
  #closed: PromiseWithResolvers<void> | undefined
  #count = 0

  constructor(options: OffloadOptions, events: LargeCallEvents) {
    this.#options = options
    this.#events = events
  }

  /** Answers a request in the worker. Rejects with 503 if the worker ends. The bytes are gone afterwards. */
  async call({ method, url, headers, signal }: Request, bytes: Uint8Array): Promise<RelayedReply> {
    this.#count += 1
    const id = this.#count
    const pending: Pending = { reply: Promise.withResolvers() }
    this.#pending.set(id, pending)
    const body = movable(bytes)
    const abort = (): void => this.#send({ type: 'abort', id })
    signal.addEventListener('abort', abort, { once: true })
    try {
      const list = [...headers].flat()
      this.#send({ type: 'call', id, method, url, headers: list, body }, [body.buffer])
      const reply = await pending.reply.promise
      const relayed = reply.hasBody ? this.#bodyOf(id, pending) : undefined
      if (relayed === undefined) this.#pending.delete(id)
      const pairs = reply.headers.flat()
      const { status, isWhole } = reply
      return { status, headers: HeaderList.ofRaw(pairs), relayed, isWhole }
    } catch (error) {
      this.#pending.delete(id)
      throw error
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }

  /** A thread was erased: the worker forgets it too. */
  forget(tenant: string, thread: string): void {
    if (this.#worker !== undefined) this.#send({ type: 'forget', tenant, thread })
  }

  /** Lets the worker finish its writes, then ends it. */
  async close(): Promise<void> {
    const worker = this.#worker
    if (worker === undefined) return
    worker.ref()
    this.#closed = Promise.withResolvers()
    this.#send({ type: 'close' })
    await this.#closed.promise
    await worker.terminate()
  }

  #bodyOf(id: number, pending: Pending): RelayedBody {
    let isOver = false
    const leave = (type: 'written' | 'abort'): void => {
      if (this.#pending.delete(id)) this.#send({ type, id })
    }
    return {
      next: async () => {
        pending.chunk = Promise.withResolvers()
        this.#send({ type: 'next', id })
        const given = await pending.chunk.promise
        isOver = given.isOver
        return given.chunk
      },
      get isOver() {
        return isOver
      },
      cancel: () => leave('abort'),
      written: () => leave('written'),
    }
  }

  #send(message: ToWorker, transfer: ArrayBuffer[] = []): void {
    this.#worker ??= this.#start()
    const worker = this.#worker
    try {
      worker.postMessage(message, transfer)
    } catch (error) {
      void worker.terminate()
      this.#ended(worker, error)
    }
  }

  #start(): Worker {
    const { module, data } = this.#options
    const maxOldGenerationSizeMb = Math.floor(getHeapStatistics().heap_size_limit / 2 ** 20)
    const worker = new Worker(module, {
      name: 'oriel-large-calls',
      workerData: data,
      resourceLimits: { maxOldGenerationSizeMb },
    })
    // Only calls keep the process alive, and they have their own connections.
    worker.unref()
    worker.on('message', (message: FromWorker) => this.#take(message))
    worker.on('error', (error) => this.#ended(worker, error))
    worker.on('exit', () => this.#ended(worker, new Error('The worker thread ended.')))
    return worker
  }

  #take(message: FromWorker): void {
    switch (message.type) {
      case 'reply':
        this.#pending.get(message.id)?.reply.resolve(message)
        break
      case 'chunk':
        this.#pending.get(message.id)?.chunk?.resolve(message)
        break
      case 'broken':
        this.#pending.get(message.id)?.chunk?.reject(new Error('The answer broke off.'))
        break
      case 'metric':
        this.#events.metric(message)
        break
      case 'log':
        this.#events.log(message.line)
        break
      case 'event':
        this.#events.event(message)
        break
      case 'closed':
        this.#closed?.resolve()
    }
  }

  #ended(worker: Worker, error: unknown): void {
    if (this.#worker !== worker) return
    this.#worker = undefined
    const isClosing = this.#closed !== undefined
    this.#closed?.resolve()
    if (!isClosing) this.#events.failed(error)
    for (const { reply, chunk } of this.#pending.values()) {
      reply.promise.catch(() => undefined)
      reply.reject(refuse(503, 'overloaded', 'The request could not be handled. Retry later.'))
      chunk?.reject(new Error('The worker thread ended.'))
    }
    this.#pending.clear()
  }
}
