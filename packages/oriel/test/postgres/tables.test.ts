// The tables: made once by whoever is first, never touched when they are from a later version, and damage in them is found.

import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type PostgresServer, startPostgres } from '../../../../scripts/postgres.ts'
import type { PostgresClient, PostgresPool } from '../../src/stores/postgres/driver.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import type { Store } from '../../src/stores/store.ts'
import {
  collect,
  foreignKey,
  key,
  messageAt,
  messages,
  readAll,
  rejection,
} from '../../src/testing/store-suite-data.ts'

let server: PostgresServer
let admin: pg.Pool
const opened: { readonly store: Store; readonly schema: string }[] = []

beforeAll(async () => {
  server = await startPostgres()
  admin = new pg.Pool({ connectionString: server.url, max: 4 })
})

afterEach(async () => {
  for (const { store, schema } of opened.splice(0)) {
    await store.close()
    await admin.query(`drop schema if exists ${schema} cascade`)
  }
})

afterAll(async () => {
  await admin.end()
  await server.close()
})

const newSchema = (): string => `s_${randomBytes(6).toString('hex')}`

function open(
  options: Parameters<typeof postgresStore>[1] = {},
  source: string | PostgresPool = server.url,
): { store: Store; schema: string } {
  const schema = options.schema ?? newSchema()
  const one = { store: postgresStore(source, { timeoutMs: 30_000, ...options, schema }), schema }
  opened.push(one)
  return one
}

describe('making the tables', () => {
  it('[PG4] by many processes at once gives one set of tables, and every append lands', async () => {
    const schema = newSchema()
    const stores = Array.from({ length: 6 }, () => open({ schema, partitions: 2 }).store)
    await Promise.all(
      stores.map((store, index) =>
        store.append({ tenant: 'acme', thread: `t${index}` }, messages(1, 1), 0),
      ),
    )
    expect((await stores[0]?.list('acme'))?.length).toBe(6)
  })

  it('[PG4] [LB3] of an earlier version get what is new, and keep what they hold', async () => {
    const { store, schema } = open()
    await store.append(key, messages(1, 2), 0)
    await admin.query(
      `drop table ${schema}.key_values, ${schema}.passages, ${schema}.indexed; drop sequence ${schema}.passages_order; update ${schema}.oriel set version = 1`,
    )
    const { store: other } = open({ schema })
    const value = { tenant: 'acme', space: 'marks', name: 'a' }
    await other.values?.put(value, 7)
    expect(await other.values?.get(value)).toBe(7)
    expect((await other.append(key, messages(3, 1), 2)).version).toBe(3)
    const { rows } = await admin.query(`select version from ${schema}.oriel`)
    expect(rows).toEqual([{ version: 4 }])
  })

  it('[PG4] of a later version is refused, and nothing is changed', async () => {
    const { store, schema } = open()
    await store.append(key, messages(1, 2), 0)
    await admin.query(`update ${schema}.oriel set version = 999`)
    const { store: other } = open({ schema })
    const error = await rejection(other.append(key, messages(3, 1), 2), 'schema-version')
    expect(error.details).toEqual({ found: 999, supported: 4 })
    const { rows } = await admin.query(`select count(*)::int as count from ${schema}.entries`)
    expect(rows).toEqual([{ count: 2 }])
  })

  it('[PG4] in a database that cannot hold every character is refused', async () => {
    const name = `latin_${randomBytes(4).toString('hex')}`
    await admin.query(`create database ${name} encoding 'LATIN1' locale 'C' template template0`)
    const url = new URL(server.url)
    url.pathname = `/${name}`
    const store = postgresStore(url.href, { timeoutMs: 30_000 })
    const error = await rejection(store.append(key, messages(1, 1), 0), 'storage-failed')
    expect(error.message).toContain('UTF8')
    await store.close()
    await admin.query(`drop database ${name}`)
  })

  it('[PG7] in partitions spreads threads over them, and one thread is read from one', async () => {
    const { store, schema } = open({ partitions: 4 })
    for (let index = 0; index < 40; index++) {
      await store.append({ tenant: 'acme', thread: `t${index}` }, messages(1, 2), 0)
    }
    const counts = await admin.query(
      `select tableoid::regclass::text as part, count(*)::int as count from ${schema}.entries group by 1`,
    )
    expect(counts.rows.length).toBe(4)
    const plan = await admin.query(
      `explain (format json) select * from ${schema}.entries where tenant = 'acme' and thread = 't1' and seq between 1 and 9`,
    )
    const touched = new Set(JSON.stringify(plan.rows).match(/entries_\d/g))
    expect(touched.size).toBe(1)
  })
})

describe('damage in the tables', () => {
  it('[PG8] is found by reading and by verifying, in the damaged thread only', async () => {
    const { store, schema } = open()
    const long = messageAt(4, 'large '.repeat(2000))
    for (const thread of ['changed', 'swapped', 'cut', 'lost', 'headless', 'whole']) {
      await store.append({ tenant: 'acme', thread }, [...messages(1, 3), long], 0)
    }
    const own = { tenant: 'acme', thread: 'blobless' }
    await store.append(own, [messageAt(1, 'another large '.repeat(2000))], 0)
    await admin.query(
      `update ${schema}.entries set body = replace(body, 'message 2', 'message 9') where thread = 'changed' and seq = 2`,
    )
    await admin.query(
      `update ${schema}.entries e set body = o.body, content = o.content, header = o.header
       from ${schema}.entries o where e.thread = 'swapped' and o.thread = 'whole' and e.seq = 2 and o.seq = 2`,
    )
    await admin.query(`delete from ${schema}.entries where thread = 'cut' and seq = 2`)
    await admin.query(`delete from ${schema}.entries where thread = 'lost' and seq = 4`)
    await admin.query(
      `update ${schema}.threads set head = decode(repeat('00', 32), 'hex') where thread = 'headless'`,
    )
    await admin.query(
      `delete from ${schema}.blobs b using ${schema}.uses u where u.hash = b.hash and u.thread = 'blobless'`,
    )
    const thread = (name: string) => ({ tenant: 'acme', thread: name })
    await rejection(readAll(store, thread('changed')), 'corrupt-entry')
    await rejection(readAll(store, thread('swapped')), 'corrupt-entry')
    await rejection(readAll(store, thread('cut')), 'corrupt-entry')
    await rejection(readAll(store, thread('lost')), 'log-truncated')
    await rejection(readAll(store, thread('headless')), 'corrupt-entry')
    await rejection(readAll(store, own), 'corrupt-entry')
    expect(await readAll(store, thread('whole'))).toEqual([...messages(1, 3), long])
    const found = (await collect(store.verify())).map((problem) => [problem.thread, problem.code])
    expect(found.sort()).toEqual([
      ['blobless', 'missing-blob'],
      ['changed', 'corrupt-entry'],
      ['cut', 'gap'],
      ['headless', 'corrupt-entry'],
      ['lost', 'log-truncated'],
      // The strange entry, and the next one, which does not follow from it.
      ['swapped', 'corrupt-entry'],
      ['swapped', 'corrupt-entry'],
    ])
  })

  it('[PG8] of a snapshot makes it as good as none', async () => {
    const { store, schema } = open()
    await store.append(key, messages(1, 3), 0)
    await store.saveSnapshot(key, { version: 2, format: 1, value: { a: 1 } })
    await admin.query(`update ${schema}.snapshots set value = '{"a":2}'`)
    expect(await store.loadSnapshot(key)).toBeUndefined()
  })
})

describe('what the store asks of its session', () => {
  it('[PG2] nothing: no names, no settings and no locks that outlive a transaction', async () => {
    const pool = new pg.Pool({ connectionString: server.url, max: 4 })
    const seen: { readonly text: string; readonly name?: string }[] = []
    const watched = watchedPool(pool, seen)
    const { store } = open({}, watched)
    const blob = await store.putBlob('acme', new Uint8Array([1, 2, 3]))
    await store.append(key, [messageAt(1, 'large '.repeat(2000)), messageAt(2, blob)], 0)
    await store.append(key, messages(3, 1), 2)
    await readAll(store, key)
    await store.saveSnapshot(key, { version: 1, format: 1, value: {} })
    await store.loadSnapshot(key)
    await store.findExternalId(key, 'x')
    await store.list('acme')
    await store.tenants?.()
    await (await store.lease?.(key, { name: 'x', ttlMs: 1000 }))?.release()
    await store.append(foreignKey, messages(1, 1), 0)
    await collect(store.verify())
    await store.erase(key)
    await store.eraseTenant('rival')
    await store.close()
    await pool.end()
    expect(seen.length).toBeGreaterThan(20)
    for (const { text, name } of seen) {
      expect(name).toBeUndefined()
      expect(text).not.toMatch(/^\s*(set|listen|prepare|declare|create temp|load|discard)\b/i)
      expect(text).not.toMatch(/pg_advisory_lock|pg_try_advisory_lock/)
      if (text.includes('set_config')) expect(text).not.toMatch(/, false\)/)
    }
    // Values are parameters, never part of the text.
    for (const { text } of seen) expect(text).not.toMatch(/acme|support-1|rival|large/)
  })

  it('[PG2] also with statements that the server keeps, where the caller allows it', async () => {
    const { store } = open({ prepared: true })
    await store.append(key, [messageAt(1, 'large '.repeat(2000))], 0)
    for (let seq = 2; seq < 12; seq++) await store.append(key, messages(seq, 1), seq - 1)
    expect((await readAll(store, key)).length).toBe(11)
    await store.erase(key)
    expect(await collect(store.verify())).toEqual([])
  })
})

/** A pool that notes every statement. */
function watchedPool(
  pool: pg.Pool,
  seen: { readonly text: string; readonly name?: string }[],
): PostgresPool {
  const watched = new WeakSet<object>()
  return {
    connect: async () => {
      const client = (await pool.connect()) as PostgresClient
      if (watched.has(client)) return client
      watched.add(client)
      const query = client.query.bind(client)
      client.query = (asked) => {
        seen.push(asked)
        return query(asked)
      }
      return client
    },
    end: () => pool.end(),
    on: () => undefined,
  }
}
