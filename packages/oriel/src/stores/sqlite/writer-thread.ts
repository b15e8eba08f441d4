// The thread that writes: a worker, or this very thread where the worker's file is not there, as in a bundled program, and in Deno.

import { EventEmitter } from 'node:events'
import { existsSync } from 'node:fs'
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import { serve } from './worker-protocol.ts'
import type { SessionSettings } from './writer-connection.ts'

/** What the line of writes uses of a worker. */
export type WriterThread = EventEmitter & Pick<Worker, 'postMessage' | 'ref' | 'unref'>

/** Starts the writer. Without the worker's file, writes block this thread for as long as the disk takes; they are as durable. */
export function startWriter(file: URL | undefined, settings: SessionSettings): WriterThread {
  const isMissing = file === undefined || (file.protocol === 'file:' && !existsSync(file))
  // A worker in Deno has no MessagePort, which the protocol reads from.
  if (isMissing || 'deno' in process.versions) return new SameThread(settings)
  // The process's own flags may be ones that a worker refuses, and the worker needs none.
  return new Worker(file, { workerData: settings, name: 'oriel-sqlite', execArgv: [] })
}

class SameThread extends EventEmitter implements WriterThread {
  readonly #port: MessagePort

  constructor(settings: SessionSettings) {
    super()
    const { port1, port2 } = new MessageChannel()
    this.#port = port1
    port1.on('message', (message: unknown) => this.emit('message', message))
    port1.on('close', () => this.emit('exit'))
    // Its messages arrive while ours is referenced; it alone must not keep the process alive.
    serve(port2, settings)
    port2.unref()
  }

  postMessage(message: unknown): void {
    this.#port.postMessage(message)
  }

  ref(): void {
    this.#port.ref()
  }

  unref(): void {
    this.#port.unref()
  }
}
