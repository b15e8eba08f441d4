// The statement that appends: one, whatever it carries.

import type { AppendBatch, LogRow } from '../backend.ts'
import { fromHex } from '../stored/entry-form.ts'
import type { Statement } from './connections.ts'

export interface AppendStatement {
  readonly statement: Statement
  readonly values: unknown[]
}

/**
 * It grows the thread's row under that row's lock, if the thread still is as the writer saw it, and only then adds entries, blobs
 * and uses. It inserts as many rows as there are entries, or none. Blobs are taken in the order of their hashes, so that two
 * appends cannot wait for each other.
 */
export function appendStatement(schema: string, batch: AppendBatch): AppendStatement {
  const { key, blobs, names, before } = batch
  const values: unknown[] = [key.tenant, key.thread]
  const put = (value: unknown, type: string): string => `$${values.push(value)}::${type}`
  const rows = batch.rows.map(columnsOf)
  const grown = before === undefined ? insertThread : growThread
  const parts = [`grown as (${grown(schema, batch, put)})`]
  if (names.length > 0) parts.push(...useNamed(schema, put(names.map(fromHex), 'bytea[]')))
  if (blobs.length > 0) {
    const sorted = blobs.toSorted((a, b) => (a.hash < b.hash ? -1 : 1))
    const pairs = sorted.map(({ hash, content }) => {
      return `(${put(fromHex(hash), 'bytea')}, ${put(content, 'bytea')})`
    })
    parts.push(...keepBlobs(schema, pairs.join(', ')))
  }
  const column = (name: keyof EntryColumns, type: string): string =>
    put(
      rows.map((row) => row[name]),
      type,
    )
  const text = `with ${parts.join(', ')}
    insert into "${schema}".entries (tenant, thread, seq, form, type, content, header, external, cuts, body)
    select $1, $2, e.* from grown, unnest(${column('seq', 'int[]')}, ${column('form', 'smallint[]')},
      ${column('type', 'text[]')}, ${column('content', 'bytea[]')}, ${column('header', 'bytea[]')},
      ${column('external', 'bytea[]')}, ${column('cuts', 'text[]')}, ${column('body', 'text[]')}) as e`
  const kind = `${before === undefined ? 'new' : 'more'}-${blobs.length}-${names.length > 0}`
  return { statement: { name: `${schema}-append-${kind}`, text }, values }
}

interface EntryColumns {
  readonly seq: number
  readonly form: number
  readonly type: string
  readonly content: Uint8Array
  readonly header: Uint8Array
  readonly external: Uint8Array | null
  readonly cuts: string | null
  readonly body: string | null
}

function columnsOf({ content, header, external, cuts, body, ...row }: LogRow): EntryColumns {
  return {
    ...row,
    content: fromHex(content),
    header: fromHex(header),
    external: external ?? null,
    cuts: cuts === undefined ? null : JSON.stringify(cuts),
    body: body ?? null,
  }
}

type Put = (value: unknown, type: string) => string

function insertThread(schema: string, { after, salt, bytes, now }: AppendBatch, put: Put): string {
  const at = put(now, 'bigint')
  const version = put(after.version, 'int')
  const head = put(fromHex(after.head), 'bytea')
  return `insert into "${schema}".threads (tenant, thread, version, head, salt, bytes, created_at, updated_at)
    values ($1, $2, ${version}, ${head}, ${put(salt, 'text')}, ${put(bytes, 'bigint')}, ${at}, ${at})
    on conflict do nothing returning 1`
}

function growThread(schema: string, { before, after, bytes, now }: AppendBatch, put: Put): string {
  const version = put(after.version, 'int')
  const head = put(fromHex(after.head), 'bytea')
  // A clock that goes backwards must not make a thread look older than it was.
  return `update "${schema}".threads set version = ${version}, head = ${head},
      bytes = bytes + ${put(bytes, 'bigint')}, updated_at = greatest(updated_at, ${put(now, 'bigint')})
    where tenant = $1 and thread = $2 and version = ${put(before?.version ?? 0, 'int')}
      and head = ${put(fromHex(before?.head ?? ''), 'bytea')} and salt is not null returning 1`
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

/** The update that changes nothing locks a blob that is already there, so that no erasure removes it. */
function keepBlobs(schema: string, pairs: string): readonly string[] {
  return [
    `kept as (insert into "${schema}".blobs (tenant, hash, content)
      select $1, part.hash, part.content from grown, (values ${pairs}) as part(hash, content)
      on conflict (tenant, hash) do update set hash = excluded.hash returning hash)`,
    `kept_uses as (insert into "${schema}".uses (tenant, hash, thread)
      select $1, hash, $2 from kept on conflict do nothing)`,
  ]
}
