// The statement that appends: one, whatever it carries.

import type { ThreadKey } from '../store.ts'
import { cutText } from '../stored/blob-extraction.ts'
import {
  blobHash,
  type ChainedEntry,
  externalKey,
  fromHex,
  namedHashes,
  storedForm,
} from '../stored/entry-form.ts'
import type { Statement } from './connections.ts'

export interface AppendWork {
  readonly key: ThreadKey
  readonly entries: readonly ChainedEntry[]
  readonly salt: string
  readonly now: number
  /** The thread as the writer saw it; absent for a new one. */
  readonly before?: { readonly version: number; readonly head: string }
}

export interface AppendStatement {
  readonly statement: Statement
  readonly values: unknown[]
  readonly bytes: number
}

/**
 * It grows the thread's row under that row's lock, if the thread still is as the writer saw it, and only then adds entries, blobs
 * and uses. It inserts as many rows as there are entries, or none. Blobs are taken in the order of their hashes, so that two
 * appends cannot wait for each other.
 */
export function appendStatement(schema: string, work: AppendWork): AppendStatement {
  const { key, entries } = work
  const values: unknown[] = [key.tenant, key.thread]
  const put = (value: unknown, type: string): string => `$${values.push(value)}::${type}`
  const bytes = entries.reduce((sum, entry) => sum + entry.bytes, 0)
  const rows = entries.map((entry) => rowOf(entry, work.salt))
  const blobs = new Map(rows.flatMap((row) => row.blobs))
  const names = [...new Set(entries.flatMap(namedHashes))]
  const grown = work.before === undefined ? insertThread : growThread
  const parts = [`grown as (${grown(schema, work, bytes, put)})`]
  if (names.length > 0) parts.push(...useNamed(schema, put(names.map(fromHex), 'bytea[]')))
  if (blobs.size > 0) {
    const sorted = [...blobs].sort(([a], [b]) => (a < b ? -1 : 1))
    const pairs = sorted.map(([hash, content]) => {
      return `(${put(fromHex(hash), 'bytea')}, ${put(content, 'bytea')})`
    })
    parts.push(...keepBlobs(schema, pairs.join(', ')))
  }
  const column = (name: keyof EntryRow, type: string): string =>
    put(
      rows.map((row) => row[name]),
      type,
    )
  const text = `with ${parts.join(', ')}
    insert into "${schema}".entries (tenant, thread, seq, form, type, content, header, external, cuts, body)
    select $1, $2, e.* from grown, unnest(${column('seq', 'int[]')}, ${column('form', 'smallint[]')},
      ${column('type', 'text[]')}, ${column('content', 'bytea[]')}, ${column('header', 'bytea[]')},
      ${column('external', 'bytea[]')}, ${column('cuts', 'text[]')}, ${column('body', 'text[]')}) as e`
  const kind = `${work.before === undefined ? 'new' : 'more'}-${blobs.size}-${names.length > 0}`
  return { statement: { name: `${schema}-append-${kind}`, text }, values, bytes }
}

interface EntryRow {
  readonly seq: number
  readonly form: number
  readonly type: string
  readonly content: Uint8Array
  readonly header: Uint8Array
  readonly external: Uint8Array | null
  readonly cuts: string | null
  readonly body: string
  readonly blobs: readonly (readonly [hash: string, content: Uint8Array])[]
}

function rowOf(entry: ChainedEntry, salt: string): EntryRow {
  const { seq, type, text, content, header, externalId } = entry
  const { body, cuts } = cutText(text)
  const blobs = cuts.map(({ literal }) => {
    const bytes = Buffer.from(literal)
    return [blobHash(bytes), bytes] as const
  })
  const places = cuts.map(({ offset }, index) => [offset, blobs[index]?.[0]])
  return {
    seq,
    form: storedForm,
    type,
    content: fromHex(content),
    header: fromHex(header),
    external: externalId === undefined ? null : externalKey(salt, externalId),
    cuts: places.length === 0 ? null : JSON.stringify(places),
    body,
    blobs,
  }
}

type Put = (value: unknown, type: string) => string

function insertThread(schema: string, work: AppendWork, bytes: number, put: Put): string {
  const last = work.entries.at(-1)
  const now = put(work.now, 'bigint')
  const version = put(last?.seq ?? 0, 'int')
  const head = put(fromHex(last?.header ?? ''), 'bytea')
  return `insert into "${schema}".threads (tenant, thread, version, head, salt, bytes, created_at, updated_at)
    values ($1, $2, ${version}, ${head}, ${put(work.salt, 'text')}, ${put(bytes, 'bigint')}, ${now}, ${now})
    on conflict do nothing returning 1`
}

function growThread(schema: string, work: AppendWork, bytes: number, put: Put): string {
  const last = work.entries.at(-1)
  const version = put(last?.seq ?? 0, 'int')
  const head = put(fromHex(last?.header ?? ''), 'bytea')
  // A clock that goes backwards must not make a thread look older than it was.
  return `update "${schema}".threads set version = ${version}, head = ${head},
      bytes = bytes + ${put(bytes, 'bigint')}, updated_at = greatest(updated_at, ${put(work.now, 'bigint')})
    where tenant = $1 and thread = $2 and version = ${put(work.before?.version ?? 0, 'int')}
      and head = ${put(fromHex(work.before?.head ?? ''), 'bytea')} and salt is not null returning 1`
}

/** Blobs that entries name by their hash are used from now on, and no longer wait for it. */
function useNamed(schema: string, names: string): readonly string[] {
  return [
    `named as (select hash from "${schema}".blobs where tenant = $1 and hash = any(${names})
      and exists (select 1 from grown) order by hash for key share)`,
    `named_uses as (insert into "${schema}".uses (tenant, hash, thread)
      select $1, hash, $2 from named on conflict do nothing)`,
    `arrived as (delete from "${schema}".uses u using named
      where u.tenant = $1 and u.hash = named.hash and u.thread = '')`,
  ]
}

/** The update that changes nothing locks a blob that is already there, so that no erasure takes it away. */
function keepBlobs(schema: string, pairs: string): readonly string[] {
  return [
    `kept as (insert into "${schema}".blobs (tenant, hash, content)
      select $1, part.hash, part.content from grown, (values ${pairs}) as part(hash, content)
      on conflict (tenant, hash) do update set hash = excluded.hash returning hash)`,
    `kept_uses as (insert into "${schema}".uses (tenant, hash, thread)
      select $1, hash, $2 from kept on conflict do nothing)`,
  ]
}
