// The lines of an export: JSON that a reader of lines, a terminal and another program can all take, and the hashes in it.

import { createHash, type Hash } from 'node:crypto'
import { canonicalJson, type Entry, type Json, type ThreadKey } from 'oriel'

/** Raised when a field changes its meaning. Files of other versions are refused. */
export const exportVersion = 1

/** Opens the entries of one thread. */
export interface HeaderLine extends ThreadKey {
  readonly oriel: 'export'
  readonly version: typeof exportVersion
  /** How many entries follow. */
  readonly entries: number
  /** Covers the names and all entries of the thread; see `HeadHash`. */
  readonly head: string
}

/** One entry, in the order of the log. */
export interface EntryLine {
  readonly seq: number
  /** SHA-256 of the entry's canonical JSON: sorted keys, no spaces. */
  readonly hash: string
  readonly entry: Entry
}

/** Closes the file. */
export interface EndLine {
  readonly oriel: 'end'
  readonly threads: number
  readonly entries: number
  /** SHA-256 of every line before this one, line ends included. */
  readonly hash: string
}

export function entryHash(entry: Entry): string {
  // Entries are plain JSON data; their interfaces only lack the index signature that says so.
  return createHash('sha256')
    .update(canonicalJson(entry as unknown as Json))
    .digest('hex')
}

/** SHA-256 over the thread's names and the hashes of its entries, one a line. */
export class HeadHash {
  readonly #hash: Hash = createHash('sha256')

  constructor({ tenant, thread }: ThreadKey) {
    this.#hash.update(`${JSON.stringify([tenant, thread])}\n`)
  }

  add(hash: string): void {
    this.#hash.update(`${hash}\n`)
  }

  digest(): string {
    return this.#hash.digest('hex')
  }
}

/** SHA-256 over lines, each with its end. */
export class LinesHash {
  readonly #hash: Hash = createHash('sha256')

  add(line: string): void {
    this.#hash.update(`${line}\n`)
  }

  digest(): string {
    return this.#hash.digest('hex')
  }
}

/** Part of JavaScript and of every Node that runs this; TypeScript's library does not have it yet. */
const { rawJSON } = JSON as typeof JSON & { rawJSON(text: string): unknown }

/** One line of JSON, without its end, that gives back exactly `value`: also a negative zero, which JSON otherwise loses. */
export function toLine(value: HeaderLine | EntryLine | EndLine): string {
  return escapeControls(
    JSON.stringify(value, (_, field: unknown) => (Object.is(field, -0) ? rawJSON('-0') : field)),
  )
}

/**
 * The same JSON with every character escaped that could steer a terminal or that some readers take for the end of a line. All of
 * them stand inside strings; line ends between lines stay.
 */
export function escapeControls(json: string): string {
  return json.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    character === '\n' ? character : escaped(character),
  )
}

function escaped(character: string): string {
  return [...Array(character.length).keys()]
    .map((index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`)
    .join('')
}
