// Entries as the rows of a log, and back: blobs taken out and put in, every hash checked.

import type { Entry } from '../../core/log/entry.ts'
import type { BlobRow, LogPage, LogRow, ThreadRow } from '../backend.ts'
import type { ThreadInfo, ThreadKey } from '../store.ts'
import { cutText, joinText } from './blob-extraction.ts'
import type { Link } from './chain.ts'
import {
  blobHash,
  type ChainedEntry,
  externalKey,
  genesis,
  namedHashes,
  readEntry,
  storedForm,
} from './entry-form.ts'
import { corruptEntry, isolation, threadNotFound, truncated, unknownForm } from './errors.ts'

/** Rows with the blobs that they need and the hashes that they name. */
export interface WrittenRows {
  readonly rows: readonly LogRow[]
  readonly blobs: readonly BlobRow[]
  readonly names: readonly string[]
  readonly bytes: number
}

/** The rows of entries, with their large strings taken out unless they are to stay whole. */
export function writeRows(
  entries: readonly ChainedEntry[],
  { salt, isWhole = false }: { readonly salt: string; readonly isWhole?: boolean },
): WrittenRows {
  const blobs = new Map<string, Uint8Array>()
  const names = new Set<string>()
  let bytes = 0
  const rows = entries.map((entry): LogRow => {
    const { seq, type, text, content, header, externalId } = entry
    // The text of an edit is like that of none but the edit before it, and is kept by what differs.
    const staysWhole = isWhole || type === 'edit'
    const { body, cuts } = staysWhole ? { body: text, cuts: [] } : cutText(text)
    bytes += entry.bytes
    for (const name of namedHashes(entry)) names.add(name)
    const places = cuts.map(({ offset, literal }) => {
      const part = Buffer.from(literal)
      const hash = blobHash(part)
      blobs.set(hash, part)
      return [offset, hash] as const
    })
    const external = externalId === undefined ? undefined : externalKey(salt, externalId)
    const row = { seq, form: storedForm, type, content, header, body }
    if (external === undefined && places.length === 0) return row
    const named = external === undefined ? row : { ...row, external }
    return places.length === 0 ? named : { ...named, cuts: places }
  })
  const kept = Array.from(blobs, ([hash, content]) => ({ hash, content }))
  return { rows, blobs: kept, names: [...names], bytes }
}

/** The links of a page, for whoever checks the chain. Throws where a newer version of Oriel wrote one. */
export function linksOf({ thread, rows, blobs }: LogPage): readonly Link[] {
  return rows.map(({ seq, form, type, content, header, body, cuts }): Link => {
    if (form > storedForm) throw unknownForm(thread, { found: form, supported: storedForm })
    if (body === undefined) return { seq, type, content, header }
    const text = cuts === undefined ? body : join(body, cuts, blobs)
    if (text === undefined) return { seq, type, content, header, isIncomplete: true }
    return { seq, type, content, header, text }
  })
}

/** The text with its large strings; undefined when one is missing. */
function join(
  body: string,
  cuts: NonNullable<LogRow['cuts']>,
  blobs: LogPage['blobs'],
): string | undefined {
  const parts: { offset: number; literal: string }[] = []
  for (const [offset, hash] of cuts) {
    const content = blobs.get(hash)
    if (content === undefined) return undefined
    const { buffer, byteOffset, byteLength } = content
    parts.push({ offset, literal: Buffer.from(buffer, byteOffset, byteLength).toString('utf8') })
  }
  return joinText({ body, cuts: parts })
}

/** The entries of a page that was asked for from this seq on, each checked against its hash. Throws when one is missing or damaged. */
export function entriesOf(page: LogPage, from: number): readonly Entry[] {
  const { thread } = page
  const { tenant, salt } = thread
  const key = { tenant, thread: thread.thread }
  if (salt === undefined) throw threadNotFound(key)
  let previous = from === 1 ? genesis : page.previous
  if (previous === undefined) throw truncated(key, from - 1)
  const links = linksOf(page)
  if (links.length === 0) throw truncated(key, from)
  const entries = links.map((link, index) => {
    if (link.seq !== from + index || !hasText(link)) throw corruptEntry(key, from + index)
    const entry = readEntry({ key, salt, previous: previous as string }, link)
    previous = link.header
    return entry
  })
  // The next append continues from the head: from a wrong one it could never be read again.
  if (links.at(-1)?.seq === thread.version && previous !== thread.head) {
    throw corruptEntry(key, thread.version)
  }
  return entries
}

function hasText(link: Link): link is Link & { readonly text: string } {
  return link.text !== undefined
}

/** A row that was asked for by its key, which is checked again. */
export function ownRow<Row extends ThreadRow>(key: ThreadKey, row: Row): Row {
  if (row.tenant !== key.tenant || row.thread !== key.thread) throw isolation()
  return row
}

/** What a caller may know of a thread. */
export function threadInfo(row: ThreadRow): ThreadInfo {
  const { thread, version, head, createdAt, updatedAt, bytes } = row
  return { thread, version, head, createdAt, updatedAt, bytes }
}
