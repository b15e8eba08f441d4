// Erasing what a person said, on every store: the thread, its forks, large content, what is open in memory, and by age.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { startPostgres } from '../../../scripts/postgres.ts'
import { OrielError } from '../src/core/log/errors.ts'
import { memoryStore } from '../src/stores/memory/index.ts'
import { postgresStore } from '../src/stores/postgres/index.ts'
import { sqliteStore } from '../src/stores/sqlite/index.ts'
import type { Store } from '../src/stores/store.ts'
import { collect, readAll, rejection } from '../src/testing/store-suite-data.ts'
import { eraseOlderThan, eraseTenant, eraseThread } from '../src/thread/erase.ts'
import { openThread, type Thread } from '../src/thread/thread.ts'

const directory = mkdtempSync(join(tmpdir(), 'oriel-erasure-'))
const server = await startPostgres()
let clock = 1_000_000
const now = (): number => clock
const stores = [
  { name: 'memory', store: memoryStore({ now }) },
  { name: 'sqlite', store: sqliteStore(join(directory, 'store.db'), { now }) },
  {
    name: 'postgres',
    store: postgresStore(server.url, { now, timeoutMs: 30_000, schema: `erasure_${process.pid}` }),
  },
]

afterAll(async () => {
  for (const { store } of stores) await store.close()
  await server.close()
  rmSync(directory, { recursive: true, force: true })
})

const secret = 'SECRET-4711 '

/** A thread with a secret, large and small, a fork by hand and one by an edited history. */
async function talk(store: (typeof stores)[number]['store'], tenant: string): Promise<Thread> {
  const thread = await openThread({ store, tenant, id: 'root', policy: { history: { length: 2 } } })
  await thread.sync([
    { role: 'user', content: `${secret}small` },
    { role: 'assistant', content: secret.repeat(1000) },
  ])
  await thread.view()
  return thread
}

/** The store as a process uses it that dies after so many appends. */
function stopsAfter(store: Store, writes: number): Store {
  let left = writes
  const append: Store['append'] = async (...args) => {
    if (left-- <= 0) throw new OrielError('storage-failed', 'The process is gone.')
    return store.append(...args)
  }
  return new Proxy(store, {
    get: (target, field) => {
      if (field === 'append') return append
      const value = Reflect.get(target, field, target) as unknown
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

describe.each(stores)('erasing on $name', ({ name, store }) => {
  it('[PG9] leaves the other forks of the thread that the erased one was forked from', async () => {
    const tenant = `siblings-${name}`
    const thread = await talk(store, tenant)
    const older = await thread.fork(3)
    const { length } = await thread.log()
    const younger = await thread.fork(length)
    const nested = await younger.fork(3)
    const { threads } = await eraseThread({ store, tenant, id: younger.id })
    expect([...threads].sort()).toEqual([younger.id, nested.id].sort())
    expect((await older.view()).messages).toHaveLength(2)
    expect((await thread.view()).messages).toHaveLength(2)
  })

  it('[PG9] reaches every fork of a thread, its large content and what is open in memory', async () => {
    const tenant = `forks-${name}`
    const thread = await talk(store, tenant)
    const fork = await thread.fork(3)
    await fork.append({ role: 'user', content: `${secret}in the fork` })
    const nested = await fork.fork(3)
    const other = await openThread({ store, tenant, id: 'other' })
    await other.append({ role: 'user', content: 'something else' })
    const { threads } = await eraseThread({ store, tenant, id: 'root' })
    expect([...threads].sort()).toEqual(['root', fork.id, nested.id].sort())
    expect(threads.at(-1)).toBe('root')
    for (const gone of [thread, fork, nested]) {
      await rejection(gone.view(), 'not-found')
      await rejection(gone.view({ dryRun: true }), 'not-found')
      await rejection(gone.append({ role: 'user', content: 'x' }), 'not-found')
      expect(await gone.log()).toEqual([])
    }
    expect((await store.list(tenant)).map((info) => info.thread)).toEqual(['other'])
    expect((await other.view()).messages.length).toBe(1)
    expect(await collect(store.verify())).toEqual([])
    expect(await eraseThread({ store, tenant, id: 'root' })).toEqual({ threads: [] })
  })

  it('[PG9] with its family reaches parents too, and a foreign or absent id looks the same', async () => {
    const tenant = `family-${name}`
    const thread = await talk(store, tenant)
    const fork = await thread.fork(3)
    const absent = await eraseThread({ store, tenant, id: 'nobody' })
    const foreign = await eraseThread({ store, tenant: `other-${tenant}`, id: 'root' })
    expect(foreign).toEqual(absent)
    expect((await eraseThread({ store, tenant, id: fork.id })).threads).toEqual([fork.id])
    expect((await thread.view()).messages.length).toBe(2)
    const second = await thread.fork(3)
    const { threads } = await eraseThread({ store, tenant, id: second.id, family: true })
    expect([...threads].sort()).toEqual(['root', second.id].sort())
  })

  it('[PG9] finds a copy that a process left behind when it died while forking', async () => {
    const tenant = `orphan-${name}`
    const thread = await talk(store, tenant)
    const entries = await readAll(store, { tenant, thread: 'root' })
    await store.append({ tenant, thread: 'left-behind' }, entries.slice(0, 2), 0)
    await (await openThread({ store, tenant, id: 'other' })).append({ role: 'user', content: 'x' })
    expect((await eraseThread({ store, tenant, id: 'root' })).threads.length).toBe(2)
    expect((await store.list(tenant)).map((info) => info.thread)).toEqual(['other'])
    await rejection(thread.fork(1), 'not-found')
    expect((await store.list(tenant)).length).toBe(1)
  })

  it('[PG9] finds what a fork left behind at whatever write it was interrupted', async () => {
    const tenant = `interrupted-${name}`
    for (let writes = 0, isDone = false; !isDone; writes++) {
      const id = `root-${writes}`
      const root = await openThread({ store, tenant, id })
      const history = Array.from({ length: 700 }, (_, at) => ({
        role: at % 2 === 0 ? ('user' as const) : ('assistant' as const),
        content: `${secret}${at}`,
      }))
      await root.append(history)
      const fork = await root.fork(650)
      await fork.append({ role: 'user', content: `${secret}in the fork` })
      // A whole family, of which the last fork of the fork is cut off.
      const dying = await openThread({ store: stopsAfter(store, writes), tenant, id: fork.id })
      isDone = await dying.fork((await fork.log()).length).then(
        () => true,
        () => false,
      )
      const other = await openThread({ store, tenant, id: `other-${writes}` })
      await other.append({ role: 'user', content: 'something else' })
      const { threads } = await eraseThread({ store, tenant, id })
      expect(threads.at(-1)).toBe(id)
      const left = (await store.list(tenant)).map((info) => info.thread)
      expect({ writes, left }).toEqual({ writes, left: [`other-${writes}`] })
      await store.erase({ tenant, thread: `other-${writes}` })
    }
  })

  it('[PG9] a fork goes with what was copied from it; its parent and other forks stay', async () => {
    const tenant = `branches-${name}`
    const root = await talk(store, tenant)
    const [one, two] = [await root.fork(3), await root.fork(3)]
    await one.append({ role: 'user', content: `${secret}one` })
    const entries = await readAll(store, { tenant, thread: one.id })
    await store.append({ tenant, thread: 'left-behind' }, entries, 0)
    const { threads } = await eraseThread({ store, tenant, id: one.id })
    expect([...threads].sort()).toEqual([one.id, 'left-behind'].sort())
    const left = (await store.list(tenant)).map((info) => info.thread)
    expect([...left].sort()).toEqual(['root', two.id].sort())
    await eraseTenant({ store, tenant })
  })

  it('[PG9] a tenant leaves nothing of it, and others whole', async () => {
    const [mine, theirs] = [`mine-${name}`, `theirs-${name}`]
    await talk(store, mine)
    const other = await talk(store, theirs)
    await eraseTenant({ store, tenant: mine })
    expect(await store.list(mine)).toEqual([])
    expect((await other.view()).messages.length).toBe(2)
  })

  it('[PG10] by age takes the threads that nobody used for so long', async () => {
    const tenant = `age-${name}`
    const open = (id: string): Promise<Thread> => openThread({ store, tenant, id, now })
    clock = 2_000_000
    const old = await open('old')
    await old.append({ role: 'user', content: 'x' })
    const used = await open('used')
    await used.append({ role: 'user', content: 'x' })
    clock += 10_000
    await used.append({ role: 'user', content: 'y' })
    const options = { store, tenant, maxAgeMs: 5000, now }
    const planned = await eraseOlderThan({ ...options, dryRun: true })
    expect(planned.threads).toEqual([{ tenant, thread: 'old' }])
    expect((await store.list(tenant)).length).toBe(2)
    expect(await eraseOlderThan(options)).toEqual(planned)
    expect((await store.list(tenant)).map((info) => info.thread)).toEqual(['used'])
    await rejection(eraseOlderThan({ ...options, maxAgeMs: -1 }), 'invalid-option')
    clock += 10_000
    const all = await eraseOlderThan({ store, maxAgeMs: 5000, now })
    expect(all.threads).toContainEqual({ tenant, thread: 'used' })
    clock = 1_000_000
  })
})

it('[PG9] no file of SQLite holds what was erased', async () => {
  for (const file of readdirSync(directory)) {
    expect(readFileSync(join(directory, file)).includes(secret)).toBe(false)
  }
})

it('[PG9] no table of PostgreSQL holds what was erased', async () => {
  const { default: pg } = await import('pg')
  const pool = new pg.Pool({ connectionString: server.url })
  const schema = `erasure_${process.pid}`
  const { rows } = await pool.query(
    `select (select count(*)::int from ${schema}.entries where body like '%SECRET-4711%') as entries,
      (select count(*)::int from ${schema}.blobs where position('SECRET-4711'::bytea in content) > 0) as blobs,
      (select count(*)::int from ${schema}.snapshots where value like '%SECRET-4711%') as snapshots,
      (select count(*)::int from ${schema}.entries where type = 'erased') as erased`,
  )
  expect(rows[0]).toMatchObject({ entries: 0, blobs: 0, snapshots: 0 })
  expect(rows[0]?.erased).toBeGreaterThan(5)
  await pool.end()
})
