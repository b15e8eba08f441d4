// The stored form of an entry: JSON text that gives back exactly what was appended, a salted hash of it, and a chain of headers.

import { hash, randomUUID } from 'node:crypto'
import type { Entry } from '../../core/log/entry.ts'
import { OrielError } from '../../core/log/errors.ts'
import type { ThreadKey } from '../store.ts'
import { corruptEntry } from './errors.ts'

/** Version of the stored form. A reader refuses what a newer one wrote. */
export const storedForm = 1

/** What stands before the first header of every thread. */
export const genesis = '0'.repeat(64)

/** One append larger than this is refused; no provider accepts a request of an eighth of it. */
const maxAppendBytes = 256 * 1024 * 1024

/** Message content may be nested `maxDepth` deep by itself; an entry wraps it in a few levels more. */
const maxEntryDepth = 128

const maxTypeLength = 64

const quotedHash = /"[0-9a-f]{64}"/g

/** The type of the entry that an erasure appends. */
export const erasedType = 'erased'

/** An entry as text, not yet tied to a thread. */
export interface WrittenEntry {
  readonly seq: number
  readonly type: string
  /** The caller's own id, if the entry carries one. */
  readonly externalId?: string
  /** JSON with keys in their original order, so that a reloaded entry encodes to the same bytes. */
  readonly text: string
  readonly bytes: number
}

/** Where in which thread an entry stands. */
interface Chain {
  readonly key: ThreadKey
  readonly salt: string
  /** Hash of the header before, `genesis` for the first. */
  readonly previous: string
}

/** What a store keeps of an entry. */
interface StoredEntry {
  readonly seq: number
  readonly type: string
  readonly text: string
  /** The salted hash of the text. */
  readonly content: string
  /** Hash of the header, which covers every entry before. */
  readonly header: string
}

export type ChainedEntry = WrittenEntry & StoredEntry

interface Header {
  readonly key: ThreadKey
  readonly previous: string
  readonly seq: number
  readonly type: string
  readonly content: string
}

/** A thread's secret. Without it and the text, a content hash says nothing. Node makes random ids ahead, which is faster than asking for bytes. */
export function createSalt(): string {
  return randomUUID().replaceAll('-', '')
}

/** The hash of an entry's text under the thread's salt. */
export function contentHash(salt: string, text: string): string {
  return hash('sha256', `${salt}${text}`)
}

/** The hash of a header: it covers the header before, and so every entry before. */
export function headerHash(header: Header): string {
  return linkHash(namesText(header.key), header)
}

/** The names of a thread as they stand in its headers. */
function namesText({ tenant, thread }: ThreadKey): string {
  return `${JSON.stringify(tenant)},${JSON.stringify(thread)}`
}

/** Of the list of all fields in JSON. It is put together by hand, which takes half the time: only names and types need escapes. */
function linkHash(names: string, { previous, seq, type, content }: Omit<Header, 'key'>): string {
  const typeText = JSON.stringify(type)
  return hash('sha256', `[${storedForm},"${previous}",${names},${seq},${typeText},"${content}"]`)
}

/** The name of a blob: the hash of its bytes. */
export function blobHash(content: Uint8Array): string {
  return hash('sha256', content)
}

/**
 * The hashes that stand in an entry's text as whole strings. An entry uses the blobs it names in this way: a blob goes when
 * the last thread that uses it is erased. The record of a request names none: its hashes are of bodies, frames and policies.
 */
export function namedHashes({
  type,
  text,
}: Pick<WrittenEntry, 'type' | 'text'>): readonly string[] {
  if (type === 'request') return []
  const found = text.match(quotedHash)
  return found === null ? [] : [...new Set(found.map((quoted) => quoted.slice(1, -1)))]
}

/** Turns the entries of one append into text, and refuses what cannot be stored or does not follow `expected`. */
export function writeEntries(entries: readonly Entry[], expected: number): readonly WrittenEntry[] {
  if (!Number.isSafeInteger(expected) || expected < 0) {
    throw new OrielError(
      'invalid-input',
      'The expected version must be an integer of at least 0.',
      {
        path: 'expected',
      },
    )
  }
  const written = entries.map((entry, index) => writeEntry(entry, expected + 1 + index, index))
  const bytes = written.reduce((sum, entry) => sum + entry.bytes, 0)
  if (bytes > maxAppendBytes) throw tooLarge(bytes)
  return written
}

function writeEntry(entry: Entry, seq: number, index: number): WrittenEntry {
  const path = `entries[${index}]`
  if (typeof entry !== 'object' || entry === null) throw invalid(path, 'must be an entry')
  if (entry.seq !== seq)
    throw invalid(`${path}.seq`, `must be ${seq}, the next position of the log`)
  const type: unknown = entry.type
  if (typeof type !== 'string' || type === '' || type.length > maxTypeLength) {
    throw invalid(`${path}.type`, `must be a string of 1 to ${maxTypeLength} characters`)
  }
  if (!type.isWellFormed() || type.includes('\0')) {
    throw invalid(`${path}.type`, 'must be well-formed text without NUL')
  }
  if (type === erasedType) throw invalid(`${path}.type`, 'is kept for erasures')
  const text = isPlain(entry, 1) ? JSON.stringify(entry) : writeJson(entry, [path])
  const bytes = Buffer.byteLength(text)
  const externalId: unknown = 'externalId' in entry ? entry.externalId : undefined
  return typeof externalId === 'string'
    ? { seq, type, externalId, text, bytes }
    : { seq, type, text, bytes }
}

/** Ties written entries to a thread: each gets its content hash and the hash of its header. */
export function chainEntries(
  chain: Chain,
  written: readonly WrittenEntry[],
): readonly ChainedEntry[] {
  let { previous } = chain
  const names = namesText(chain.key)
  return written.map((entry) => {
    const content = contentHash(chain.salt, entry.text)
    const { seq, type } = entry
    previous = linkHash(names, { previous, seq, type, content })
    return { ...entry, content, header: previous }
  })
}

/** What stands at the end of an erased thread, so that its chain says that it was erased, and when. Nothing in it is secret. */
export function erasedEntry(
  key: ThreadKey,
  { seq, previous, at }: { readonly seq: number; readonly previous: string; readonly at: number },
): StoredEntry {
  const type = erasedType
  const text = JSON.stringify({ type, seq, at })
  const content = contentHash('', text)
  return { seq, type, text, content, header: headerHash({ key, previous, seq, type, content }) }
}

/** Reads back what `writeEntries` wrote. Throws 'corrupt-entry' unless the text and the header match their hashes. */
export function readEntry(chain: Chain, stored: StoredEntry): Entry {
  const { seq, type } = stored
  const content = contentHash(chain.salt, stored.text)
  const header = headerHash({ key: chain.key, previous: chain.previous, seq, type, content })
  if (content !== stored.content || header !== stored.header) throw corruptEntry(chain.key, seq)
  // The text was written from an entry, and its hash says that it is still the same text.
  return JSON.parse(stored.text) as Entry
}

/**
 * JSON text that `JSON.parse` turns back into an equal value: keys in their order, `-0` kept, lone surrogates and control
 * characters escaped. `JSON.stringify` alone would drop `-0`, and write a date or a NaN as something else without a word.
 */
export function writeJson(value: unknown, path: (string | number)[]): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value)
    case 'boolean':
      return value ? 'true' : 'false'
    case 'number':
      if (!Number.isFinite(value)) throw notJson(path, String(value))
      return Object.is(value, -0) ? '-0' : String(value)
    case 'object':
      if (value === null) return 'null'
      if (path.length > maxEntryDepth) throw tooDeep(path)
      return Array.isArray(value) ? writeArray(value, path) : writeObject(value, path)
    default:
      throw notJson(path, typeof value)
  }
}

/** Characters of a long text in one piece. */
const pieceLength = 64 * 1024
/** How deep long texts are looked for. */
const mostPieces = 4

/** The text of `writeJson`, in pieces where an object has long texts in it. */
export function* jsonPieces(value: unknown, path: (string | number)[]): Generator<string> {
  if (typeof value === 'string' && value.length > pieceLength) {
    yield '"'
    for (let from = 0; from < value.length; from += pieceLength) {
      // Half of a surrogate pair is written as an escape, which says the same.
      yield JSON.stringify(value.slice(from, from + pieceLength)).slice(1, -1)
    }
    yield '"'
  } else if (isDictionary(value) && path.length < mostPieces) {
    let separator = '{'
    for (const [key, field] of Object.entries(value)) {
      if (field === undefined) continue
      yield `${separator}${JSON.stringify(key)}:`
      yield* jsonPieces(field, [...path, key])
      separator = ','
    }
    yield separator === '{' ? '{}' : '}'
  } else yield writeJson(value, path)
}

/** Whether `JSON.stringify` writes a value as `writeJson` does. It does so several times faster. */
function isPlain(value: unknown, depth: number): boolean {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0)
    case 'object': {
      if (value === null) return true
      if (depth > maxEntryDepth) return false
      // A hole is no value; `every` would skip it.
      if (Array.isArray(value))
        return !value.includes(undefined) && value.every((one) => isPlain(one, depth + 1))
      return isPlainObject(value, depth)
    }
    default:
      return false
  }
}

function isPlainObject(value: object, depth: number): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== null && prototype !== Object.prototype) return false
  for (const key in value) {
    const field = (value as Record<string, unknown>)[key]
    if (field !== undefined && !isPlain(field, depth + 1)) return false
  }
  return true
}

function writeArray(value: readonly unknown[], path: (string | number)[]): string {
  let text = '['
  for (let index = 0; index < value.length; index++) {
    path.push(index)
    text += index === 0 ? writeJson(value[index], path) : `,${writeJson(value[index], path)}`
    path.pop()
  }
  return `${text}]`
}

function writeObject(value: object, path: (string | number)[]): string {
  if (!isDictionary(value)) throw notJson(path, 'an instance of a class; pass plain data')
  let text = ''
  for (const key of Object.keys(value)) {
    const field = (value as Record<string, unknown>)[key]
    if (field === undefined) continue
    path.push(key)
    text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${writeJson(field, path)}`
    path.pop()
  }
  return `{${text}}`
}

/** A root prototype of any realm is plain; anything else is an instance of a class. */
function isDictionary(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

function notJson(path: readonly (string | number)[], got: string): OrielError {
  const place = pathText(path)
  return new OrielError('not-json', `The value at ${place} is not JSON: got ${got}.`, {
    path: place,
  })
}

function tooDeep(path: readonly (string | number)[]): OrielError {
  return new OrielError(
    'too-deep',
    `The value at ${pathText(path)} is nested deeper than ${maxEntryDepth} levels, or contains itself. Flatten it.`,
    { path: pathText(path), details: { limit: maxEntryDepth } },
  )
}

function tooLarge(bytes: number): OrielError {
  return new OrielError(
    'too-large',
    `One append holds ${bytes} bytes; at most ${maxAppendBytes} are accepted. Append in smaller batches.`,
    { details: { limit: maxAppendBytes, got: bytes } },
  )
}

function invalid(path: string, rule: string): OrielError {
  return new OrielError('invalid-input', `The value at ${path} ${rule}.`, { path })
}

/** Keys are user data: keep the path short enough for a log line. */
function pathText(path: readonly (string | number)[]): string {
  const text = path
    .map((part, index) =>
      typeof part === 'number' ? `[${part}]` : index === 0 ? part : `.${part}`,
    )
    .join('')
  return text.length <= 200 ? text : `${text.slice(0, 150)}...${text.slice(-40)}`
}

/** Eight bytes to find an entry by the caller's id; who has them must still compare the id itself. */
export function externalKey(salt: string, externalId: string): Uint8Array {
  return hash('sha256', `${salt} external ${JSON.stringify(externalId)}`, 'buffer').subarray(0, 8)
}

export function toHex(bytes: unknown): string {
  return bytes instanceof Uint8Array
    ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex')
    : ''
}

export function fromHex(text: string): Uint8Array {
  return Buffer.from(text, 'hex')
}
