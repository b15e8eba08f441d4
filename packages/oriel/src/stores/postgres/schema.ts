// The tables of the PostgreSQL store, and every step that led to them. Steps are kept for ever; a new one is added at the end.

import { OrielError } from '../../core/log/errors.ts'
import type { PostgresConnections, Run } from './connections.ts'
import { isMissing, postgresError } from './errors.ts'

/** Before 13, `FOR KEY SHARE` and hash partitions lack what the statements rely on. */
export const minServerVersion = 130_000

/** One number that no other program is likely to lock: "oril" in ASCII. */
const lockNumber = 0x6f72696c

export interface SchemaSettings {
  readonly schema: string
  /** Hash partitions of each table; 0 = plain tables. Fixed when the tables are made. */
  readonly partitions: number
}

/** One step: the schema's version after it, and the statements that lead there from the version before. */
interface Step {
  readonly version: number
  sql(settings: SchemaSettings): readonly string[]
}

/*
 * Why the tables look like this:
 * - Every key begins with the tenant and, where there is one, the thread: hash partitions by both, or a distribution by tenant
 *   (Citus), need no other key, and each row can be checked against what was asked for.
 * - Names compare by their bytes (collation C), as in the other stores, whatever the database's own collation.
 * - `threads` has one row for each thread, which every append updates: a fillfactor leaves room for that on the same page, and
 *   no index holds what changes. It is also the lock under which the thread's order is made.
 * - `body` is the entry's JSON text without its large strings; `cuts` says where which blob goes, as [[offset, hash], ...]. It is
 *   text: jsonb loses key order, lone surrogates and NUL.
 * - `uses` says which thread needs which blob. The thread '' stands for a blob that was put and that no entry names yet.
 * - A thread without `salt` was erased.
 * - `leases` are worthless after a crash, so they are not logged.
 * - `indexed` is how much of a log stands in `passages`, in a table of its own: a column of `threads` would make every append write its index.
 *   `tokens` has the tokens of `words` and the names of tenant and thread (hashed, behind a colon); PostgreSQL's own parsers are not used.
 *   An id in `passages` is a number of the sequence `passages_order`, times 16, and the passage's hint. `analysis` is the analysis that a
 *   thread is indexed by: with an older one, it is indexed again batch by batch when it is next searched.
 * - `key_values` holds small values; it is never partitioned.
 */
const steps: readonly Step[] = [
  {
    version: 1,
    sql: (settings) => [
      ...table(settings, 'threads', 'tenant, thread', {
        columns: `tenant text collate "C" not null,
          thread text collate "C" not null,
          version integer not null,
          head bytea not null,
          salt text,
          bytes bigint not null,
          created_at bigint not null,
          updated_at bigint not null,
          primary key (tenant, thread)`,
        storage: 'fillfactor = 70',
      }),
      ...table(settings, 'entries', 'tenant, thread', {
        columns: `tenant text collate "C" not null,
          thread text collate "C" not null,
          seq integer not null,
          form smallint not null,
          type text collate "C" not null,
          content bytea not null,
          header bytea not null,
          external bytea,
          cuts text collate "C",
          body text collate "C",
          primary key (tenant, thread, seq)`,
      }),
      `create index entries_external on "${settings.schema}".entries (tenant, thread, external) where external is not null`,
      ...table(settings, 'blobs', 'tenant, hash', {
        columns: `tenant text collate "C" not null,
          hash bytea not null,
          content bytea not null,
          primary key (tenant, hash)`,
      }),
      ...table(settings, 'uses', 'tenant, hash', {
        columns: `tenant text collate "C" not null,
          hash bytea not null,
          thread text collate "C" not null,
          primary key (tenant, hash, thread)`,
      }),
      `create index uses_thread on "${settings.schema}".uses (tenant, thread)`,
      ...table(settings, 'snapshots', 'tenant, thread', {
        columns: `tenant text collate "C" not null,
          thread text collate "C" not null,
          version integer not null,
          format bigint not null,
          head bytea not null,
          hash bytea not null,
          value text collate "C" not null,
          primary key (tenant, thread)`,
      }),
      `create unlogged table "${settings.schema}".leases (
        tenant text collate "C" not null,
        thread text collate "C" not null,
        name text collate "C" not null,
        holder text collate "C" not null,
        expires_at timestamptz not null,
        primary key (tenant, thread, name)
      )`,
    ],
  },
  {
    version: 2,
    sql: ({ schema }) => [
      `create table "${schema}".key_values (
        tenant text collate "C" not null,
        space text collate "C" not null,
        name text collate "C" not null,
        value text collate "C" not null,
        primary key (tenant, space, name)
      )`,
    ],
  },
  {
    version: 3,
    sql: ({ schema }) => [
      `create table "${schema}".indexed (
        tenant text collate "C" not null,
        thread text collate "C" not null,
        version integer not null,
        messages integer not null,
        passages integer not null,
        primary key (tenant, thread)
      )`,
      `create table "${schema}".passages (
        id bigint generated always as identity primary key,
        tenant text collate "C" not null,
        thread text collate "C" not null,
        seq integer not null,
        position integer not null,
        block integer not null,
        inner_block integer,
        start integer not null,
        stop integer not null,
        open boolean not null,
        speaker text collate "C" not null,
        words text collate "C" not null,
        tokens tsvector not null
      )`,
      `create index passages_thread on "${schema}".passages (tenant, thread)`,
      `create index passages_tokens on "${schema}".passages using gin (tokens)`,
    ],
  },
  {
    version: 4,
    sql: ({ schema }) => [
      `alter table "${schema}".indexed add column analysis integer not null default 1`,
      `alter table "${schema}".passages alter column id drop identity`,
      `create sequence "${schema}".passages_order`,
      // Behind every id that is there: those of now are multiples.
      `select setval('"${schema}".passages_order', (select coalesce(max(id), 0) + 1 from "${schema}".passages))`,
      `drop index "${schema}".passages_thread`,
      `create index passages_thread on "${schema}".passages (tenant, thread, seq)`,
    ],
  },
]

const latestSchema = steps.at(-1)?.version ?? 0

/** Makes sure that the tables are there and of a version that this one knows. */
export async function prepareSchema(
  connections: PostgresConnections,
  settings: SchemaSettings,
): Promise<void> {
  const found = await schemaVersion(connections, settings.schema)
  if (found === latestSchema) return
  if (found !== undefined && found > latestSchema) throw unknownSchema(settings.schema, found)
  await connections.transaction((run) => migrate(run, settings))
}

/** The version of the tables; undefined when there are none. */
async function schemaVersion(
  connections: PostgresConnections,
  schema: string,
): Promise<number | undefined> {
  try {
    const text = `select version from "${schema}".oriel`
    const { rows } = await connections.query({ text })
    return rows[0] === undefined ? undefined : Number(rows[0].version)
  } catch (error) {
    if (isMissing((error as { cause?: unknown }).cause)) return undefined
    throw postgresError(error)
  }
}

/** One transaction: another process sees the old tables or the new ones, never something between. */
async function migrate(run: Run, settings: SchemaSettings): Promise<void> {
  const execute = (text: string): ReturnType<Run> => run({ text }, [])
  await checkServer(run)
  // Held until the transaction ends; poolers keep a transaction on one connection.
  await execute(`select pg_advisory_xact_lock(${lockNumber})`)
  await execute(`create schema if not exists "${settings.schema}"`)
  await execute(
    `create table if not exists "${settings.schema}".oriel (version integer not null, partitions integer not null)`,
  )
  const { rows } = await execute(`select version from "${settings.schema}".oriel`)
  const before = Number(rows[0]?.version ?? 0)
  if (before > latestSchema) throw unknownSchema(settings.schema, before)
  for (const step of steps) {
    if (step.version <= before) continue
    for (const statement of step.sql(settings)) await execute(statement)
  }
  await execute(
    rows[0] === undefined
      ? `insert into "${settings.schema}".oriel values (${latestSchema}, ${settings.partitions})`
      : `update "${settings.schema}".oriel set version = ${latestSchema}`,
  )
}

async function checkServer(run: Run): Promise<void> {
  const text = `select current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding`
  const { rows } = await run({ text }, [])
  const { version, encoding } = rows[0] ?? {}
  if (Number(version) < minServerVersion) {
    const message = `PostgreSQL ${String(version)} is too old; Oriel needs 13 or later.`
    throw new OrielError('storage-failed', message)
  }
  if (encoding !== 'UTF8') {
    const message = `The database's encoding is ${String(encoding)}; Oriel needs UTF8. Create another database.`
    throw new OrielError('storage-failed', message)
  }
}

/** A table, in hash partitions if they are wanted. */
function table(
  { schema, partitions }: SchemaSettings,
  name: string,
  key: string,
  { columns, storage }: { readonly columns: string; readonly storage?: string },
): readonly string[] {
  const own = `"${schema}".${name}`
  const options = storage === undefined ? '' : ` with (${storage})`
  if (partitions === 0) return [`create table ${own} (${columns})${options}`]
  const parts = Array.from(
    { length: partitions },
    (_, index) =>
      `create table "${schema}".${name}_${index} partition of ${own} for values with (modulus ${partitions}, remainder ${index})${options}`,
  )
  return [`create table ${own} (${columns}) partition by hash (${key})`, ...parts]
}

function unknownSchema(schema: string, found: number): OrielError {
  return new OrielError(
    'schema-version',
    `The schema ${schema} has version ${found}; this version of Oriel knows 1 to ${latestSchema} and left it as it is. Update Oriel.`,
    { details: { found, supported: latestSchema } },
  )
}
