// doctor, export and import on PostgreSQL, and between it and SQLite.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openThread, postgresStore } from 'oriel'
import pg from 'pg'
import { afterAll, expect, it } from 'vitest'
import { startPostgres } from '../../../scripts/postgres.ts'
import { oriel as run } from './keeping.ts'

const server = await startPostgres({ own: true })
const directory = mkdtempSync(join(tmpdir(), 'oriel-keeping-'))

afterAll(async () => {
  await server.close()
  rmSync(directory, { recursive: true, force: true })
})

it('[PG12] moves threads from PostgreSQL to SQLite and back, the same to the last byte', async () => {
  const store = postgresStore(server.url)
  for (const tenant of ['acme', 'rival']) {
    const thread = await openThread({ store, tenant, id: `thread of ${tenant}` })
    await thread.append([
      { role: 'user', content: 'Lone \ud800, NUL \0, emoji 😀' },
      { role: 'assistant', content: 'large '.repeat(3000) },
    ])
    await thread.view()
  }
  await store.close()
  const first = join(directory, 'first.jsonl')
  const second = join(directory, 'second.jsonl')
  const file = join(directory, 'copy.db')
  expect((await run(['export', '--store', server.url, '--out', first])).code).toBe(0)
  expect((await run(['import', first, '--store', file])).code).toBe(0)
  expect((await run(['export', '--store', file, '--out', second])).code).toBe(0)
  expect(readFileSync(second, 'utf8').split('\n').sort()).toEqual(
    readFileSync(first, 'utf8').split('\n').sort(),
  )
  const again = await run(['import', first, '--store', server.url])
  expect(again).toMatchObject({ code: 0 })
  expect(again.stdout).toContain('already there')
})

it('[PG12] finds a store sound, and damage in it, without printing the address', async () => {
  const sound = await run(['doctor', '--store', server.url])
  expect(sound).toMatchObject({ code: 0 })
  expect(sound.stdout).toContain('sound')
  const pool = new pg.Pool({ connectionString: server.url, max: 1 })
  await pool.query(`update oriel.entries set body = '{}' where tenant = 'acme' and seq = 2`)
  await pool.end()
  const damaged = await run(['doctor', '--store', server.url, '--json'])
  expect(damaged.code).toBe(1)
  const report = JSON.parse(damaged.stdout) as { problems: { code: string; tenant: string }[] }
  expect(report.problems).toMatchObject([{ code: 'corrupt-entry', tenant: 'acme' }])
  expect(damaged.stdout).not.toContain(server.socket)
  expect((await run(['doctor', '--store', server.url, '--repair'])).code).toBe(2)
})
