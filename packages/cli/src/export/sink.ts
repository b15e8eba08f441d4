// Export output: a private file that is created atomically, or standard output.

import { randomUUID } from 'node:crypto'
import { EventEmitter } from 'node:events'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { wrong } from '../doctor/store-options.ts'
import type { Output } from '../terminal.ts'

/** Writes lines in order, with backpressure. */
export interface Sink {
  /** Returns false once the reader is gone. */
  write(line: string): Promise<boolean>
  /** Flushes and publishes the output. */
  finish(): Promise<void>
  /** Removes the partial output. No-op after `finish`. */
  abandon(): Promise<void>
}

/** Lines are buffered up to this length. */
const chunkLength = 256 * 1024

export async function openSink(out: string, stdout: Output): Promise<Sink> {
  return out === '-' ? new OutputSink(stdout) : FileSink.open(out)
}

class FileSink implements Sink {
  readonly #path: string
  readonly #temporary: string
  readonly #file: FileHandle
  #waiting = ''
  #isDone = false

  private constructor(path: string, temporary: string, file: FileHandle) {
    this.#path = path
    this.#temporary = temporary
    this.#file = file
  }

  static async open(path: string): Promise<FileSink> {
    const temporary = `${path}.${randomUUID().slice(0, 8)}.tmp`
    try {
      return new FileSink(path, temporary, await open(temporary, 'wx', 0o600))
    } catch (cause) {
      throw wrong(`--out: ${path} cannot be written; check the folder and its permissions.`, cause)
    }
  }

  async write(line: string): Promise<boolean> {
    this.#waiting += `${line}\n`
    if (this.#waiting.length >= chunkLength) await this.#flush()
    return true
  }

  async finish(): Promise<void> {
    await this.#flush()
    await this.#file.sync()
    await this.#file.close()
    try {
      await rename(this.#temporary, this.#path)
    } catch (cause) {
      throw wrong(`--out: ${this.#path} cannot be replaced; name another file.`, cause)
    }
    this.#isDone = true
    await syncFolder(dirname(this.#path))
  }

  async abandon(): Promise<void> {
    if (this.#isDone) return
    await this.#file.close()
    await rm(this.#temporary, { force: true })
  }

  async #flush(): Promise<void> {
    const text = this.#waiting
    this.#waiting = ''
    await this.#file.appendFile(text)
  }
}

class OutputSink implements Sink {
  readonly #output: Output

  constructor(output: Output) {
    this.#output = output
  }

  async write(line: string): Promise<boolean> {
    const output: unknown = this.#output
    const hasRoom = this.#output.write(`${line}\n`) !== false
    if (!(output instanceof EventEmitter)) return true
    // A closed pipe never drains.
    if (!hasRoom && isOpen(output)) await drainedOrClosed(output)
    return isOpen(output)
  }

  async finish(): Promise<void> {}

  async abandon(): Promise<void> {}
}

function isOpen(output: EventEmitter): boolean {
  return !('destroyed' in output && output.destroyed === true)
}

function drainedOrClosed(output: EventEmitter): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      output.off('drain', done)
      output.off('close', done)
      resolve()
    }
    output.on('drain', done)
    output.on('close', done)
  })
}

/** Makes the rename durable, if the system supports syncing directories. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
