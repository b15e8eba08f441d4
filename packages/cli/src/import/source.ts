// The file to import, in a form that can be read twice: first to verify, then to append.

import { randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { wrong } from '../doctor/place.ts'
import { type Line, readLines } from '../transcript/lines.ts'

/** Two names of 512 characters, all of them escaped, and the rest of the line. */
const maxHeaderLength = 16 * 1024

/** Standard input becomes a private file for as long as the import takes. */
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

  /** The lines of the file that hold something. */
  async *lines(onBytes?: (bytes: number) => void): AsyncGenerator<Line> {
    for await (const line of readLines(this.chunks(onBytes))) {
      if (line.text.trim() !== '') yield line
    }
  }

  /** The first line that holds something, parsed; undefined when it is not JSON, or too long to be a header. */
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

/** The value of a line; undefined when it is not JSON. No line of JSON is undefined. */
export function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function checkReadable(file: string): void {
  const stat = statSync(file, { throwIfNoEntry: false })
  if (stat === undefined) throw wrong(`${file}: there is no such file; check the path.`)
  if (!stat.isFile()) throw wrong(`${file}: it is not a file; name one.`)
}
