// A store in libSQL: a file, or a server such as Turso. Every write is one batch of statements, which the database makes as a whole.

import {
  type Client,
  createClient,
  type InStatement,
  type ResultSet,
  type Row,
} from '@libsql/client'
import { OrielError } from 'oriel'
import {
  type AppendBatch,
  type BlobRow,
  type Cut,
  createStore,
  type Erasure,
  type FoundSnapshot,
  type LogBackend,
  type LogPage,
  type LogRow,
  type SnapshotRow,
  type Store,
  type ThreadKey,
  type ThreadQuery,
  type ThreadRow,
  type ValueKey,
  type ValueRow,
} from 'oriel/stores'

// [tables]
const tables = `
  create table if not exists threads (
    tenant text, thread text, version integer, head text, salt text, bytes integer, created_at integer, updated_at integer,
    primary key (tenant, thread)
  ) strict, without rowid;
  create index if not exists threads_by_age on threads (tenant, updated_at desc, thread);
  create table if not exists entries (
    tenant text, thread text, seq integer, form integer, type text, content text, header text, external blob, cuts text, body text,
    primary key (tenant, thread, seq)
  ) strict;
  create index if not exists entries_by_external on entries (tenant, thread, external) where external is not null;
  create table if not exists blobs (tenant text, hash text, content blob, primary key (tenant, hash)) strict;
  -- Which thread uses which blob. The thread '' stands for a blob that no entry names yet.
  create table if not exists uses (tenant text, hash text, thread text, primary key (tenant, hash, thread)) strict, without rowid;
  create index if not exists uses_by_thread on uses (tenant, thread);
  create table if not exists snapshots (
    tenant text, thread text, version integer, format integer, head text, hash text, value text, primary key (tenant, thread)
  ) strict;
  create table if not exists key_values (
    tenant text, space text, name text, value text, primary key (tenant, space, name)
  ) strict, without rowid;
`
// [/tables]

/** Rows of one page at most. */
const pageRows = 256

// [open]
/** A store at an address that libSQL knows: `file:store.db`, `libsql://...`. */
export function libsqlStore(url: string, options: { readonly authToken?: string } = {}): Store {
  return createStore(new LibsqlBackend(createClient({ url, ...options })))
}
// [/open]

class LibsqlBackend implements LogBackend {
  readonly name = 'libsql'
  readonly #client: Client
  #ready: Promise<unknown> | undefined

  constructor(client: Client) {
    this.#client = client
  }

  // [append]
  async append(batch: AppendBatch): Promise<boolean> {
    const { key, before, after, salt, bytes, now } = batch
    const { tenant, thread } = key
    const own = { tenant, thread, ...after, bytes, now }
    const grow =
      before === undefined
        ? {
            sql: 'insert into threads values (:tenant, :thread, :version, :head, :salt, :bytes, :now, :now) on conflict do nothing',
            args: { ...own, salt },
          }
        : {
            sql: `update threads set version = :version, head = :head, bytes = bytes + :bytes, updated_at = max(updated_at, :now)
              where tenant = :tenant and thread = :thread and head = :before and salt is not null`,
            args: { ...own, before: before.head },
          }
    // The head covers the whole log: the thread has the new one only if its row was changed.
    const guard = guardOf({ tenant, thread, head: after.head })
    const [grown] = await this.#write([
      grow,
      ...batch.rows.map((row) => addRow(row, guard)),
      ...batch.blobs.flatMap((blob) => keepBlob(blob, guard)),
      ...batch.names.flatMap((hash) => useNamed(hash, guard)),
    ])
    return grown?.rowsAffected === 1
  }
  // [/append]

  // [erase]
  async erase({ key, before, row, now }: Erasure): Promise<boolean> {
    const { tenant, thread } = key
    const { sql, args } = guardOf({ tenant, thread, head: row.header })
    const own = 'tenant = :tenant and thread = :thread'
    const [erased] = await this.#write([
      {
        sql: `update threads set salt = null, bytes = 0, version = :seq, head = :head, updated_at = max(updated_at, :now)
          where ${own} and head = :before and salt is not null`,
        args: { ...args, seq: row.seq, now, before: before.head },
      },
      {
        sql: `update entries set body = null, cuts = null, external = null where ${own} and seq < :seq and ${sql}`,
        args: { ...args, seq: row.seq },
      },
      addRow(row, { sql, args }),
      { sql: `delete from snapshots where ${own} and ${sql}`, args },
      { sql: `delete from uses where ${own} and ${sql}`, args },
      { sql: `${dropUnused} and ${sql}`, args },
    ])
    return erased?.rowsAffected === 1
  }
  // [/erase]

  async eraseTenant(tenant: string): Promise<void> {
    const args = { tenant }
    await this.#write([
      { sql: `delete from uses where tenant = :tenant and thread = ''`, args },
      { sql: dropUnused, args },
      { sql: 'delete from key_values where tenant = :tenant', args },
    ])
  }

  async thread({ tenant, thread }: ThreadKey): Promise<ThreadRow | undefined> {
    const [row] = await this.#read(threadSql, { tenant, thread })
    return row === undefined ? undefined : threadRow(row)
  }

  // [page]
  async page(
    { tenant, thread }: ThreadKey,
    from: number,
    to: number,
  ): Promise<LogPage | undefined> {
    const args = { tenant, thread, before: from - 1, from, to: Math.min(to, from + pageRows - 1) }
    const ofThread = 'tenant = :tenant and thread = :thread'
    const [threads, entries, blobs] = await this.#batch(
      [
        { sql: threadSql, args: { tenant, thread } },
        {
          sql: `select * from entries where ${ofThread} and seq between :before and :to order by seq`,
          args: { tenant, thread, before: args.before, to: args.to },
        },
        {
          sql: `select hash, content from blobs where tenant = :tenant and hash in (
            select json_extract(cut.value, '$[1]') from entries, json_each(cuts) as cut where ${ofThread} and seq between :from and :to)`,
          args: { tenant, thread, from: args.from, to: args.to },
        },
      ],
      'read',
    )
    const [found] = threads?.rows ?? []
    if (found === undefined) return undefined
    const rows = (entries?.rows ?? []).map(logRow)
    const previous = rows.find(({ seq }) => seq === from - 1)?.header
    const page = {
      thread: threadRow(found),
      rows: rows.filter(({ seq }) => seq >= from),
      blobs: new Map((blobs?.rows ?? []).map((row) => [String(row.hash), bytesOf(row.content)])),
    }
    return previous === undefined ? page : { ...page, previous }
  }
  // [/page]

  async findExternal(key: ThreadKey, external: Uint8Array): Promise<readonly number[]> {
    const sql =
      'select seq from entries where tenant = :tenant and thread = :thread and external = :external order by seq'
    const { tenant, thread } = key
    return (await this.#read(sql, { tenant, thread, external })).map(({ seq }) => Number(seq))
  }

  async threads(query: ThreadQuery): Promise<readonly ThreadRow[]> {
    const { limit } = query
    if (query.by === 'any') {
      const { tenant = '', thread = '' } = query.after ?? {}
      const sql =
        'select * from threads where (tenant, thread) > (:tenant, :thread) order by tenant, thread limit :limit'
      return (await this.#read(sql, { tenant, thread, limit })).map(threadRow)
    }
    const living = 'select * from threads where tenant = :tenant and salt is not null'
    const { tenant } = query
    if (query.by === 'name') {
      const sql = `${living} and thread > :after order by thread limit :limit`
      return (await this.#read(sql, { tenant, after: query.after, limit })).map(threadRow)
    }
    const { updatedAt, thread } = query.after
    const sql = `${living} and (updated_at < :updatedAt or (updated_at = :updatedAt and thread > :thread))
      order by updated_at desc, thread limit :limit`
    return (await this.#read(sql, { tenant, updatedAt, thread, limit })).map(threadRow)
  }

  async tenants(page: { readonly after: string; readonly limit: number }): Promise<string[]> {
    const sql =
      'select distinct tenant from threads where tenant > :after order by tenant limit :limit'
    return (await this.#read(sql, { ...page })).map(({ tenant }) => String(tenant))
  }

  async saveSnapshot({ tenant, thread }: ThreadKey, snapshot: SnapshotRow): Promise<boolean> {
    const sql = `insert into snapshots select tenant, thread, :version, :format, :head, :hash, :text from threads
      where tenant = :tenant and thread = :thread and salt is not null and version >= :version
      on conflict do update set version = excluded.version, format = excluded.format, head = excluded.head, hash = excluded.hash,
      value = excluded.value where excluded.version >= snapshots.version`
    const [saved] = await this.#write([{ sql, args: { tenant, thread, ...snapshot } }])
    return saved?.rowsAffected === 1
  }

  async loadSnapshot({ tenant, thread }: ThreadKey): Promise<FoundSnapshot | undefined> {
    const sql = `select t.*, s.version as own_version, s.format, s.head as own_head, s.hash, s.value, e.header
      from snapshots s join threads t using (tenant, thread)
      left join entries e on e.tenant = s.tenant and e.thread = s.thread and e.seq = s.version
      where s.tenant = :tenant and s.thread = :thread`
    const [row] = await this.#read(sql, { tenant, thread })
    if (row === undefined) return undefined
    const snapshot = {
      version: Number(row.own_version),
      format: Number(row.format),
      head: String(row.own_head),
      hash: String(row.hash),
      text: String(row.value),
    }
    const found = { thread: threadRow(row), snapshot }
    return row.header === null ? found : { ...found, header: String(row.header) }
  }

  async putBlob(tenant: string, { hash, content }: BlobRow): Promise<void> {
    await this.#write([
      { sql: 'insert or ignore into blobs values (?, ?, ?)', args: [tenant, hash, content] },
      { sql: `insert or ignore into uses values (?, ?, '')`, args: [tenant, hash] },
    ])
  }

  async readBlob(tenant: string, hash: string): Promise<Uint8Array | undefined> {
    const sql = 'select content from blobs where tenant = :tenant and hash = :hash'
    const [row] = await this.#read(sql, { tenant, hash })
    return row === undefined ? undefined : bytesOf(row.content)
  }

  // [values]
  async putValue(
    { tenant, space, name }: ValueKey,
    text: string | undefined,
    before?: { readonly text: string | undefined },
  ): Promise<boolean> {
    const key = { tenant, space, name }
    const named = 'tenant = :tenant and space = :space and name = :name'
    const value = `(select value from key_values where ${named})`
    // `is` compares with null too, which stands for a value that is not there.
    const condition = before === undefined ? 'true' : `${value} is :before`
    const args = before === undefined ? key : { ...key, before: before.text ?? null }
    const [{ rows } = { rows: [] }] = await this.#write([
      { sql: `select ${condition} as holds`, args: before === undefined ? {} : args },
      text === undefined
        ? { sql: `delete from key_values where ${named} and ${condition}`, args }
        : {
            sql: `insert into key_values select :tenant, :space, :name, :text where ${condition}
              on conflict do update set value = excluded.value`,
            args: { ...args, text },
          },
    ])
    return rows[0]?.holds === 1
  }
  // [/values]

  async readValue({ tenant, space, name }: ValueKey): Promise<string | undefined> {
    const sql =
      'select value from key_values where tenant = :tenant and space = :space and name = :name'
    const [row] = await this.#read(sql, { tenant, space, name })
    return row === undefined ? undefined : String(row.value)
  }

  async listValues(
    { tenant, space }: Omit<ValueKey, 'name'>,
    page: { readonly after: string; readonly limit: number },
  ): Promise<readonly ValueRow[]> {
    const sql =
      'select name, value from key_values where tenant = :tenant and space = :space and name > :after order by name limit :limit'
    const rows = await this.#read(sql, { tenant, space, ...page })
    return rows.map(({ name, value }) => ({ name: String(name), text: String(value) }))
  }

  async close(): Promise<void> {
    this.#client.close()
  }

  async #read(sql: string, args: Args): Promise<readonly Row[]> {
    const [result] = await this.#batch([{ sql, args }], 'read')
    return result?.rows ?? []
  }

  #write(statements: InStatement[]): Promise<readonly ResultSet[]> {
    return this.#batch(statements, 'write')
  }

  // [errors]
  /** Statements that the database makes as a whole, once the tables are there. */
  async #batch(statements: InStatement[], mode: 'read' | 'write'): Promise<readonly ResultSet[]> {
    try {
      this.#ready ??= this.#client.executeMultiple(tables)
      await this.#ready.catch((error: unknown) => {
        // The server may be there the next time.
        this.#ready = undefined
        throw error
      })
      return await this.#client.batch(statements, mode)
    } catch (error) {
      // Every other error becomes 'storage-failed' by itself.
      if ((error as { code?: unknown }).code !== 'SQLITE_FULL') throw error
      throw new OrielError('storage-full', 'The disk is full. Free some space.', { cause: error })
    }
  }
  // [/errors]
}

type Args = Readonly<Record<string, string | number | Uint8Array | null>>

/** A condition, and the values of its parameters. */
interface Guard {
  readonly sql: string
  readonly args: { readonly tenant: string; readonly thread: string; readonly head: string }
}

// [guard]
/** Holds where the thread has this head. */
function guardOf(args: Guard['args']): Guard {
  const sql =
    'exists (select 1 from threads where tenant = :tenant and thread = :thread and head = :head)'
  return { sql, args }
}

function addRow(row: LogRow, guard: Guard): InStatement {
  const { cuts, external = null, body = null, ...rest } = row
  return {
    sql: `insert or ignore into entries
      select :tenant, :thread, :seq, :form, :type, :content, :header, :external, :cuts, :body where ${guard.sql}`,
    args: { ...guard.args, ...rest, external, body, cuts: cuts ? JSON.stringify(cuts) : null },
  }
}
// [/guard]

function keepBlob({ hash, content }: BlobRow, { sql, args }: Guard): InStatement[] {
  return [
    {
      sql: `insert or ignore into blobs select :tenant, :hash, :bytes where ${sql}`,
      args: { ...args, hash, bytes: content },
    },
    {
      sql: `insert or ignore into uses select :tenant, :hash, :thread where ${sql}`,
      args: { ...args, hash },
    },
  ]
}

function useNamed(hash: string, { sql, args }: Guard): InStatement[] {
  const own = { ...args, hash }
  return [
    {
      sql: `insert or ignore into uses
        select tenant, hash, :thread from blobs where tenant = :tenant and hash = :hash and ${sql}`,
      args: own,
    },
    {
      sql: `delete from uses where tenant = :tenant and hash = :hash and thread = '' and ${sql}`,
      args: own,
    },
  ]
}

const dropUnused = `delete from blobs where tenant = :tenant
  and not exists (select 1 from uses where uses.tenant = blobs.tenant and uses.hash = blobs.hash)`

const threadSql = 'select * from threads where tenant = :tenant and thread = :thread'

function threadRow(row: Row): ThreadRow {
  const thread = {
    tenant: String(row.tenant),
    thread: String(row.thread),
    version: Number(row.version),
    head: String(row.head),
    bytes: Number(row.bytes),
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
  }
  return row.salt === null ? thread : { ...thread, salt: String(row.salt) }
}

function logRow(row: Row): LogRow {
  return {
    seq: Number(row.seq),
    form: Number(row.form),
    type: String(row.type),
    content: String(row.content),
    header: String(row.header),
    ...(row.body === null ? {} : { body: String(row.body) }),
    ...(row.cuts === null ? {} : { cuts: JSON.parse(String(row.cuts)) as Cut[] }),
  }
}

function bytesOf(content: unknown): Uint8Array {
  return new Uint8Array(content as ArrayBuffer)
}
