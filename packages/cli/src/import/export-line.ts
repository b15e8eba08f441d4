// Classification of export lines by their fields.

import type { Entry } from 'oriel'
import { settings } from 'oriel/inspect'
import type { EndLine, EntryLine, HeaderLine } from '../export/lines.ts'
import { type Fields, isFields } from '../transcript/detect.ts'
import { parse } from './source.ts'

export type Reading =
  | { readonly type: 'header'; readonly header: HeaderLine }
  | { readonly type: 'entry'; readonly line: EntryLine }
  | { readonly type: 'end'; readonly end: EndLine }
  | { readonly type: 'bad'; readonly isJson: boolean }

/** True if the first line of a file is an export header, of any version. */
export function isExport(first: unknown): boolean {
  return isFields(first) && (first.oriel === 'export' || first.oriel === 'end')
}

export function readLine(text: string): Reading {
  const value = parse(text)
  if (!isFields(value)) return { type: 'bad', isJson: value !== undefined }
  // The fields were just checked.
  if (isHeader(value)) return { type: 'header', header: value as unknown as HeaderLine }
  if (isEnd(value)) return { type: 'end', end: value as unknown as EndLine }
  if (isEntryLine(value)) return { type: 'entry', line: value as unknown as EntryLine }
  return { type: 'bad', isJson: true }
}

/**
 * Checks the fields that the store and the fold rely on. Entries of unknown types are passed along.
 */
export function isWholeEntry(entry: Entry): boolean {
  const { id, type, at, seq, role, blocks } = entry as unknown as Fields
  if (typeof id !== 'string' || typeof type !== 'string' || typeof at !== 'number') return false
  if (seq === 1) return settings.header.names(entry)
  return type !== 'message' || (typeof role === 'string' && Array.isArray(blocks))
}

function isHeader({ oriel, tenant, thread, entries, head }: Fields): boolean {
  const isNamed = typeof tenant === 'string' && typeof thread === 'string'
  return oriel === 'export' && isNamed && isCount(entries) && isHash(head)
}

function isEnd({ oriel, threads, entries, hash }: Fields): boolean {
  return oriel === 'end' && isCount(threads) && isCount(entries) && isHash(hash)
}

function isEntryLine({ seq, hash, entry }: Fields): boolean {
  return isCount(seq) && isHash(hash) && isFields(entry)
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function isHash(value: unknown): boolean {
  return typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)
}
