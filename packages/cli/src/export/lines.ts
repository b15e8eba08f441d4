// Export file format: JSON lines with hashes, safe for line readers and terminals.

import { createHash, type Hash } from 'node:crypto'
import { canonicalJson, type Entry, type Json, type ThreadKey } from 'oriel'

/** Incremented when a field changes its meaning. Files of other versions are rejected. */
export const exportVersion = 1

/** Starts the entries of one thread. */
export interface HeaderLine extends ThreadKey {
  readonly oriel: 'export'
  readonly version: typeof exportVersion
  /** Number of entries that follow. */
  readonly entries: number
  /** Hash of the names and all entries of the thread; see `HeadHash`. */
  readonly head: string
}

/** One entry, in log order. */
export interface EntryLine {
  readonly seq: number
  /** SHA-256 of the entry's canonical JSON: sorted keys, no whitespace. */
  readonly hash: string
  readonly entry: Entry
}

/** Ends the file. */
export interface EndLine {
  readonly oriel: 'end'
  readonly threads: number
  readonly entries: number
  /** SHA-256 of every line before this one, including line breaks. */
  readonly hash: string
}

export function entryHash(entry: Entry): string {
  // Entries are plain JSON; their interfaces only lack an index signature.
  return createHash('sha256')
    .update(canonicalJson(entry as unknown as Json))
    .digest('hex')
}

/** SHA-256 over the thread's names and the hashes of its entries, one per line. */
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

/** SHA-256 over lines, including line breaks. */
export class LinesHash {
  readonly #hash: Hash = createHash('sha256')

  add(line: string): void {
    this.#hash.update(`${line}\n`)
  }

  digest(): string {
    return this.#hash.digest('hex')
  }
}

/** Available in every supported Node, but missing in TypeScript's library. */
const { rawJSON } = JSON as typeof JSON & { rawJSON(text: string): unknown }

/**
 * One line of JSON without its line break that round-trips `value` exactly, including negative
 * zero.
 */
export function toLine(value: HeaderLine | EntryLine | EndLine): string {
  return escapeControls(
    JSON.stringify(value, (_, field: unknown) => (Object.is(field, -0) ? rawJSON('-0') : field)),
  )
}

/**
 * Escapes characters that could control a terminal or that some readers treat as a line break. All
 * of them are inside strings; line breaks between lines stay.
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
