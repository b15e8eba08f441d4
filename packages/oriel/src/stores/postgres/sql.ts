// Every statement of the PostgreSQL store, as a fixed set: values are parameters, and only the schema's name, which was checked,
// and counts become part of the text.

import { analysisVersion } from '../../core/search/analysis.ts'
import { hints } from '../../core/search/hint.ts'
import type { Statement } from './connections.ts'

const threadColumns =
  'tenant, thread, version, head, salt, bytes, created_at as "createdAt", updated_at as "updatedAt"'

export type PostgresSql = Readonly<
  Record<keyof ReturnType<typeof reads> | keyof ReturnType<typeof writes>, Statement>
>

/** The statements for one schema. */
export function createSql(schema: string): PostgresSql {
  const texts = { ...reads(tablesOf(schema)), ...writes(tablesOf(schema)) }
  const named = Object.entries(texts).map(([name, text]) => {
    return [name, { name: `${schema}-${name}`, text }]
  })
  return Object.fromEntries(named) as PostgresSql
}

/**
 * The newest passages of each of several queries. Never prepared by name, and not over a list of queries: a plan for any query reads all
 * passages with a common word, one for this query reads the newest backwards.
 */
export function findPassages(schema: string, queries: number): Statement {
  const { passages } = tablesOf(schema)
  const finds = Array.from({ length: queries }, (_, nth) => {
    const found = `select id from ${passages} where tokens @@ $${nth + 2}::tsquery order by id desc limit $1`
    return `select ${nth} as nth, (select string_agg(id::text, ' ' order by id desc) from (${found}) found) as ids`
  })
  return { text: `${finds.join(' union all ')} order by nth` }
}

type Tables = ReturnType<typeof tablesOf>

function tablesOf(schema: string) {
  return {
    threads: `"${schema}".threads`,
    entries: `"${schema}".entries`,
    blobs: `"${schema}".blobs`,
    uses: `"${schema}".uses`,
    snapshots: `"${schema}".snapshots`,
    leases: `"${schema}".leases`,
    values: `"${schema}".key_values`,
    indexed: `"${schema}".indexed`,
    passages: `"${schema}".passages`,
    order: `"${schema}".passages_order`,
  }
}

function reads({ threads, entries, blobs, snapshots, values, indexed, passages }: Tables) {
  return {
    thread: `select ${threadColumns} from ${threads} where tenant = $1 and thread = $2`,
    list: `select ${threadColumns} from ${threads} where tenant = $1 and thread > $2 and salt is not null
      order by thread limit $3`,
    // Without an index of its own: each append changes the time, and could then no longer update its row in place (HOT).
    newest: `select ${threadColumns} from ${threads} where tenant = $1 and salt is not null and updated_at <= $2
      and (updated_at < $2 or thread > $3) order by updated_at desc, thread limit $4`,
    // One step of the index for each tenant, however many threads it has.
    tenants: `with recursive found as (
        (select tenant from ${threads} where tenant > $1 order by tenant limit 1)
        union all
        select (select t.tenant from ${threads} t where t.tenant > found.tenant order by t.tenant limit 1)
        from found where found.tenant is not null
      ) select tenant from found where tenant is not null limit $2`,
    after: `select ${threadColumns} from ${threads} where (tenant, thread) > ($1, $2)
      order by tenant, thread limit $3`,
    /** A page of entries with the link before it, and on its first row the thread. */
    page: `select e.*, case when coalesce(e.nth, 1) = 1 then t.tenant end as tenant,
        case when coalesce(e.nth, 1) = 1 then t.thread end as thread,
        case when coalesce(e.nth, 1) = 1 then t.version end as version,
        case when coalesce(e.nth, 1) = 1 then t.head end as head,
        case when coalesce(e.nth, 1) = 1 then t.salt end as salt,
        case when coalesce(e.nth, 1) = 1 then t.bytes end as bytes,
        case when coalesce(e.nth, 1) = 1 then t.created_at end as "createdAt",
        case when coalesce(e.nth, 1) = 1 then t.updated_at end as "updatedAt"
      from ${threads} t left join lateral (
        select row_number() over (order by seq) as nth, seq, form, type, content, header,
          case when seq >= $3 then cuts end as cuts, case when seq >= $3 then body end as body
        from ${entries} where tenant = $1 and thread = $2 and seq between $3 - 1 and $4
        order by seq limit $5
      ) e on true
      where t.tenant = $1 and t.thread = $2 order by e.seq`,
    external: `select seq from ${entries} where tenant = $1 and thread = $2 and external = $3 order by seq`,
    parts: `select tenant, hash, content from ${blobs} where tenant = $1 and hash = any($2::bytea[])`,
    snapshot: `select ${threadColumns
      .split(', ')
      .map((column) => `t.${column}`)
      .join(
        ', ',
      )}, s.version as "ownVersion", s.format, s.head as "ownHead", s.hash, s.value, e.header
      from ${threads} t join ${snapshots} s on s.tenant = $1 and s.thread = $2
      left join ${entries} e on e.tenant = $1 and e.thread = $2 and e.seq = s.version
      where t.tenant = $1 and t.thread = $2`,
    unindexed: `select t.thread, t.version, coalesce(i.version, 0) as indexed, coalesce(i.messages, 0) as messages from ${threads} t
      left join ${indexed} i on i.tenant = t.tenant and i.thread = t.thread and i.analysis >= ${analysisVersion}
      where t.tenant = $1 and t.salt is not null and t.version > coalesce(i.version, 0) order by t.updated_at desc limit $2`,
    unindexedThread: `select t.thread, t.version, coalesce(i.version, 0) as indexed, coalesce(i.messages, 0) as messages from ${threads} t
      left join ${indexed} i on i.tenant = t.tenant and i.thread = t.thread and i.analysis >= ${analysisVersion}
      where t.tenant = $1 and t.thread = $2 and t.salt is not null and t.version > coalesce(i.version, 0)`,
    countPassages: `select sum(passages) as count from ${indexed} where tenant = $1`,
    countThread: `select passages as count from ${indexed} where tenant = $1 and thread = $2`,
    passages: `select id, tenant, thread, seq, position, block, inner_block as inner, start, stop, open, speaker, words
      from ${passages} where tenant = $1 and id = any($2::bigint[])`,
    value: `select value from ${values} where tenant = $1 and space = $2 and name = $3`,
    values: `select name, value from ${values} where tenant = $1 and space = $2 and name > $3
      order by name limit $4`,
  }
}

function writes(tables: Tables) {
  const { threads, entries, blobs, uses, snapshots, leases, values } = tables
  const { indexed, passages, order } = tables
  return {
    lockThread: `select ${threadColumns} from ${threads} where tenant = $1 and thread = $2 for update`,
    putBlob: `with kept as (
        insert into ${blobs} (tenant, hash, content) values ($1, $2, $3)
        on conflict (tenant, hash) do update set hash = excluded.hash returning hash
      ) insert into ${uses} (tenant, hash, thread) select $1, hash, '' from kept on conflict do nothing`,
    // The lock keeps an erasure from overtaking; an append does not wait for it.
    saveSnapshot: `insert into ${snapshots} (tenant, thread, version, format, head, hash, value)
      select $1, $2, $3::int, $4, $5, $6, $7
      from (select tenant, thread from ${threads} where tenant = $1 and thread = $2 and salt is not null
        and version >= $3 for key share) t
      on conflict (tenant, thread) do update set version = excluded.version, format = excluded.format,
        head = excluded.head, hash = excluded.hash, value = excluded.value
      where excluded.version >= snapshots.version`,
    lockUsed: `select hash from ${blobs} where tenant = $1
      and hash in (select hash from ${uses} where tenant = $1 and thread = $2) order by hash for update`,
    releaseAll: `delete from ${uses} where tenant = $1 and thread = $2`,
    dropUnused: `delete from ${blobs} b where b.tenant = $1 and b.hash = any($2::bytea[])
      and not exists (select 1 from ${uses} u where u.tenant = $1 and u.hash = b.hash)`,
    eraseEntries: `update ${entries} set body = null, cuts = null, external = null where tenant = $1 and thread = $2`,
    eraseSnapshot: `delete from ${snapshots} where tenant = $1 and thread = $2`,
    eraseLeases: `delete from ${leases} where tenant = $1 and thread = $2`,
    addErased: `insert into ${entries} (tenant, thread, seq, form, type, content, header, body)
      values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    eraseThread: `update ${threads} set salt = null, bytes = 0, version = $3, head = $4, updated_at = greatest(updated_at, $5)
      where tenant = $1 and thread = $2`,
    putValue: `insert into ${values} (tenant, space, name, value) values ($1, $2, $3, $4)
      on conflict (tenant, space, name) do update set value = excluded.value`,
    addValue: `insert into ${values} (tenant, space, name, value) values ($1, $2, $3, $4) on conflict do nothing`,
    changeValue: `update ${values} set value = $4 where tenant = $1 and space = $2 and name = $3 and value = $5`,
    dropValue: `delete from ${values} where tenant = $1 and space = $2 and name = $3`,
    dropKnownValue: `delete from ${values} where tenant = $1 and space = $2 and name = $3 and value = $4`,
    dropValues: `delete from ${values} where tenant = $1`,
    // The server's clock decides: those of the processes may differ.
    // The thread's row is locked, so that an erasure comes before or after, and counts only what was not counted before.
    index: `with living as (
        select 1 from ${threads} where tenant = $1 and thread = $2 and salt is not null and version >= $4 for key share
      ), moved as (
        insert into ${indexed} as i (tenant, thread, version, messages, passages, analysis)
        select $1, $2, $4::int, $15::int, $5::int, ${analysisVersion} from living
        where $3::int = 0 or exists (select 1 from ${indexed} where tenant = $1 and thread = $2 and version = $3::int)
        on conflict (tenant, thread) do update set version = excluded.version, messages = excluded.messages, analysis = excluded.analysis,
          passages = i.passages + excluded.passages - (select count(*) from ${passages} where tenant = $1 and thread = $2 and seq > $3::int and seq <= $4::int)
          where case when i.analysis >= ${analysisVersion} then i.version = $3::int else $3::int = 0 end returning 1
      ), former as (
        delete from ${passages} where tenant = $1 and thread = $2 and seq > $3::int and seq <= $4::int and exists (select 1 from moved)
      ), added as (
        insert into ${passages} (id, tenant, thread, seq, position, block, inner_block, start, stop, open, speaker, words, tokens)
        select nextval('${order}') * ${hints} + p.hint, $1, $2, p.seq, p.position, p.block, p.inner_block, p.start, p.stop, p.open, p.speaker, p.words,
          array_to_tsvector(string_to_array(p.words || ' ' || $6::text, ' '))
        from moved, unnest($7::int[], $8::int[], $9::int[], $10::int[], $11::int[], $12::bool[], $13::text[], $14::text[], $16::int[], $17::int[])
          as p(seq, block, inner_block, start, stop, open, speaker, words, position, hint)
      ) select 1 from moved`,
    eraseIndexed: `delete from ${indexed} where tenant = $1 and thread = $2`,
    erasePassages: `delete from ${passages} where tenant = $1 and thread = $2`,
    lease: `with gone as (
        delete from ${leases} where tenant = $1 and thread = $2 and name <> $3 and expires_at < clock_timestamp()
      ) insert into ${leases} as held (tenant, thread, name, holder, expires_at)
      values ($1, $2, $3, $4, clock_timestamp() + $5 * interval '1 millisecond')
      on conflict (tenant, thread, name) do update set holder = excluded.holder, expires_at = excluded.expires_at
      where held.expires_at < clock_timestamp() or held.holder = excluded.holder`,
    renew: `update ${leases} set expires_at = clock_timestamp() + $5 * interval '1 millisecond'
      where tenant = $1 and thread = $2 and name = $3 and holder = $4`,
    release: `delete from ${leases} where tenant = $1 and thread = $2 and name = $3 and holder = $4`,
    notify: 'select pg_notify($1, payload) from unnest($2::text[]) as payload',
  }
}
