import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type PostgresServer, startPostgres } from '../../../../../scripts/postgres.ts'
import { analysisVersion } from '../../core/search/analysis.ts'
import { describeStore, type OpenedStore } from '../../testing/store-suite.ts'
import { key, messageAt, messages } from '../../testing/store-suite-data.ts'
import { postgresStore } from './index.ts'

let server: PostgresServer
let pool: pg.Pool

beforeAll(async () => {
  server = await startPostgres()
  pool = new pg.Pool({ connectionString: server.url, max: 4 })
})

afterAll(async () => {
  await pool.end()
  await server.close()
})

const newSchema = (): string => `t_${randomBytes(6).toString('hex')}`

for (const partitions of [0, 3]) {
  const open = async (): Promise<OpenedStore> => {
    const schema = newSchema()
    let store = postgresStore(server.url, { schema, partitions, timeoutMs: 30_000 })
    return {
      store,
      reopen: async () => {
        await store.close()
        store = postgresStore(server.url, { schema, partitions, timeoutMs: 30_000 })
        return store
      },
      cleanup: async () => {
        await store.close()
        await pool.query(`drop schema if exists ${schema} cascade`)
      },
    }
  }
  describeStore(`postgres, ${partitions} partitions`, open, { runs: partitions === 0 ? 20 : 4 })
}

it('[RK8] what an earlier analysis indexed is found as if it were indexed now', async () => {
  const schema = newSchema()
  const store = postgresStore(server.url, { schema, timeoutMs: 30_000 })
  const ask = async (query: string): Promise<readonly number[]> =>
    ((await store.search?.({ ...key, query }))?.passages ?? []).map(({ seq }) => seq)
  await store.append(key, [messageAt(1, 'An iPhone.'), messageAt(2, 'The invoice.')], 0)
  expect(await ask('iphone')).toEqual([1])
  const former =
    "words = 'former', tokens = array_to_tsvector(array_append(tsvector_to_array(tokens), 'former'))"
  await pool.query(`update ${schema}.passages set ${former}, id = id / 16`)
  await pool.query(`update ${schema}.indexed set analysis = 1`)
  expect(await ask('iphone')).toEqual([1])
  expect(await ask('invoice')).toEqual([2])
  expect(await ask('former')).toEqual([])
  await store.append(key, [messageAt(3, 'Another iphone.')], 2)
  expect(await ask('iphone')).toEqual([3, 1])
  const { rows } = await pool.query(`select analysis, passages from ${schema}.indexed`)
  expect(rows).toEqual([{ analysis: analysisVersion, passages: 3 }])
  await store.close()
  await pool.query(`drop schema ${schema} cascade`)
})

describe('options', () => {
  it.each([
    ['', {}],
    ['mysql://host/x', {}],
    [7, {}],
    [{}, {}],
    ['postgres://a/b', { schema: 'x"; drop schema public' }],
    ['postgres://a/b', { partitions: -1 }],
    ['postgres://a/b', { maxConnections: 0 }],
    ['postgres://a/b', { timeoutMs: 1.5 }],
    ['postgres://a/b', { prepared: 'yes' }],
    ['postgres://a/b', { notify: 1 }],
    ['postgres://a/b', { listenUrl: 'x' }],
    [null, {}],
    [{ url: 'mysql://host/x' }, {}],
    [{ connectionString: 7 }, {}],
    [{ url: 'postgres://a/b', partitions: -1 }, {}],
  ])('refuses %j with %j at once', (source, options) => {
    expect(() => postgresStore(source as string, options as object)).toThrow(
      expect.objectContaining({ code: 'invalid-option' }),
    )
  })

  it.each([
    ['url', () => ({ url: server.url })],
    ['connectionString', () => ({ connectionString: server.url })],
  ])('may name the address too, as %s', async (_name, address) => {
    const schema = newSchema()
    const store = postgresStore({ ...address(), schema, now: () => 7, timeoutMs: 30_000 })
    await store.append(key, messages(1, 2), 0)
    expect(await store.info(key)).toMatchObject({ createdAt: 7 })
    await store.close()
    await pool.query(`drop schema ${schema} cascade`)
  })
})
