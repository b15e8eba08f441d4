// Import source that can be read twice: to verify, then to append.

import { randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { wrong } from '../doctor/store-options.ts'
import { type Line, readLines } from '../transcript/lines.ts'

/** Maximum header length: two names of 512 escaped characters, and the other fields. */
const maxHeaderLength = 16 * 1024

/** Buffers standard input in a private temporary file during the import. */
export class Source {
  readonly #path: string
  readonly #isTemporary: boolean

  private constructor(path: string, isTemporary: boolean) {
    this.#path = path
    this.#isTemporary = isTemporary
  }

  static async open(file: string, stdin: AsyncIterable<Uint8Array>): Promise<Source> {
    if (file !== '-') {
      checkReadable(file)
      return new Source(file, false)
    }
    const path = join(tmpdir(), `oriel-import-${randomUUID()}`)
    const source = new Source(path, true)
    try {
      await pipeline(Readable.from(stdin), createWriteStream(path, { flags: 'wx', mode: 0o600 }))
      return source
    } catch (error) {
      source.close()
      throw error
    }
  }

  get bytes(): number {
    return statSync(this.#path).size
  }

  /** The bytes of the file, from its start. */
  async *chunks(onBytes: (bytes: number) => void = () => {}): AsyncGenerator<Uint8Array> {
    for await (const chunk of createReadStream(this.#path)) {
      onBytes(chunk.length)
      yield chunk
    }
  }

  /** The non-blank lines of the file. */
  async *lines(onBytes?: (bytes: number) => void): AsyncGenerator<Line> {
    for await (const line of readLines(this.chunks(onBytes))) {
      if (line.text.trim() !== '') yield line
    }
  }

  /** The first non-blank line, parsed; undefined if it is not JSON or too long for a header. */
  async first(): Promise<unknown> {
    for await (const { text } of this.lines()) {
      return text.length > maxHeaderLength ? undefined : parse(text)
    }
    return undefined
  }

  close(): void {
    if (this.#isTemporary) rmSync(this.#path, { force: true })
  }
}

/** The parsed line; undefined if it is not JSON. */
export function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export function checkReadable(file: string): void {
  const stat = statSync(file, { throwIfNoEntry: false })
  if (stat === undefined) throw wrong(`${file}: there is no such file; check the path.`)
  if (!stat.isFile()) throw wrong(`${file}: it is not a file; name one.`)
}
