// Verification of an export file: every hash, the order, the counts. Reads one line at a time and
// writes nothing.

import {
  type EndLine,
  type EntryLine,
  entryHash,
  exportVersion,
  type HeaderLine,
  HeadHash,
  LinesHash,
} from '../export/lines.ts'
import type { Line } from '../transcript/lines.ts'
import { isWholeEntry, readLine } from './export-line.ts'

export interface Section {
  readonly header: HeaderLine
  /** Why it cannot be imported; absent if it is complete and valid. */
  readonly problem?: string
}

export interface VerifiedFile {
  readonly sections: readonly Section[]
  /** Problems of the file outside its threads. */
  readonly notes: readonly string[]
}

/** Verifies the whole file, which may be several concatenated exports. */
export async function verify(lines: AsyncIterable<Line>): Promise<VerifiedFile> {
  const check = new FileCheck()
  for await (const line of lines) check.take(line)
  return check.result()
}

class FileCheck {
  readonly #sections: Section[] = []
  readonly #notes: string[] = []
  #open: SectionCheck | undefined
  #part = new Part()
  /** A line that is not JSON: torn if it is the last one. */
  #unread: Line | undefined

  take(line: Line): void {
    if (this.#unread !== undefined) this.#fail(`line ${this.#unread.number} is not JSON`)
    this.#unread = undefined
    const reading = readLine(line.text)
    if (reading.type === 'end') {
      this.#close()
      this.#notes.push(...this.#part.finish(reading.end))
      this.#part = new Part()
      return
    }
    this.#part.add(line)
    if (reading.type === 'header') {
      this.#close()
      this.#open = new SectionCheck(reading.header)
    } else if (reading.type === 'entry') {
      if (this.#open === undefined) this.#notes.push(`line ${line.number} belongs to no thread`)
      else this.#open.take(reading.line, line.number)
    } else if (reading.isJson) this.#fail(`line ${line.number} is not a line of an export`)
    else this.#unread = line
  }

  result(): VerifiedFile {
    if (this.#unread !== undefined) {
      this.#fail(`line ${this.#unread.number}, the last one, is torn`)
    }
    this.#close()
    if (!this.#part.isEmpty) {
      this.#notes.push(
        'the closing line is missing: the end of the file, and maybe threads, are lost',
      )
    }
    return { sections: this.#sections, notes: this.#notes }
  }

  /** After the last entry of a thread, a bad line may have been the next header. */
  #fail(problem: string): void {
    if (this.#open === undefined || this.#open.isComplete) this.#notes.push(problem)
    else this.#open.fail(problem)
  }

  #close(): void {
    if (this.#open === undefined) return
    const section = this.#open.result()
    this.#sections.push(section)
    this.#part.count(section)
    this.#open = undefined
  }
}

/** The lines up to an end line. */
class Part {
  readonly #lines = new LinesHash()
  isEmpty = true
  #threads = 0
  #entries = 0

  add({ text }: Line): void {
    this.isEmpty = false
    this.#lines.add(text)
  }

  count({ header }: Section): void {
    this.#threads += 1
    this.#entries += header.entries
  }

  /** Mismatches with the end line. */
  finish({ threads, entries, hash }: EndLine): readonly string[] {
    if (threads !== this.#threads || entries !== this.#entries) {
      return [
        `the closing line counts ${threads} threads and ${entries} entries; the file has ${this.#threads} and ${this.#entries}`,
      ]
    }
    if (hash === this.#lines.digest()) return []
    return ['the file was changed: its lines do not match the hash of the closing line']
  }
}

/** Verifies one thread: entries in order, each matching its hash, all matching the header. */
class SectionCheck {
  readonly #header: HeaderLine
  readonly #head: HeadHash
  #count = 0
  #problem: string | undefined

  constructor(header: HeaderLine) {
    this.#header = header
    this.#head = new HeadHash(header)
    if (header.version !== exportVersion) {
      this.fail(`it has version ${String(header.version)}, this Oriel knows ${exportVersion}`)
    }
  }

  get isComplete(): boolean {
    return this.#count === this.#header.entries
  }

  take({ seq, hash, entry }: EntryLine, number: number): void {
    this.#count += 1
    this.#head.add(hash)
    if (this.#problem !== undefined) return
    if (seq !== this.#count || entry.seq !== seq) {
      this.fail(`line ${number} holds entry ${seq} where entry ${this.#count} must be`)
    } else if (!isHashOf(hash, entry)) {
      this.fail(`line ${number}: entry ${seq} does not match its hash`)
    } else if (!isWholeEntry(entry)) {
      this.fail(`line ${number}: entry ${seq} is not an entry of a log`)
    }
  }

  /** Keeps the first problem. */
  fail(problem: string): void {
    this.#problem ??= problem
  }

  result(): Section {
    const { entries, head } = this.#header
    if (entries === 0) this.fail('it has no entries')
    if (!this.isComplete) this.fail(`it has ${this.#count} of ${entries} entries`)
    if (this.#head.digest() !== head) this.fail('its entries do not match the hash of the header')
    const problem = this.#problem
    return { header: this.#header, ...(problem === undefined ? {} : { problem }) }
  }
}

function isHashOf(hash: string, entry: EntryLine['entry']): boolean {
  try {
    return entryHash(entry) === hash
  } catch (error) {
    // Nested so deeply that the stack overflows: no export is written like that.
    if (error instanceof RangeError) return false
    throw error
  }
}
