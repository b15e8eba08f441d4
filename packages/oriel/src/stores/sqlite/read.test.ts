import { hash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { collect, messageAt, messages, readAll, rejection } from '../../testing/store-suite-data.ts'
import type { Store } from '../store.ts'
import { sqliteStore } from './index.ts'

process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'oriel-compile-cache')

const other = { tenant: 'acme', thread: 'other' }
let directory = ''
let path = ''
let store: Store
let count = 0

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'oriel-reader-'))
  path = join(directory, 'store.db')
  store = sqliteStore(path)
  await store.append(other, messages(1, 5), 0)
})
afterAll(async () => {
  await store.close()
  rmSync(directory, { recursive: true })
})

/** A new thread of six entries, the last with a large string, damaged by SQL in which `:id` is the thread. */
async function damaged(sql: string): Promise<{ tenant: string; thread: string }> {
  const key = { tenant: 'acme', thread: `damaged-${count++}` }
  const entries = [...messages(1, 5), messageAt(6, `${key.thread} ${'long '.repeat(2000)}`)]
  await store.append(key, entries, 0)
  await store.saveSnapshot(key, { version: 4, format: 1, value: { four: 4 } })
  const database = new DatabaseSync(path)
  database.exec('pragma foreign_keys = off')
  const id = database.prepare('select id from threads where thread = ?').get(key.thread)?.id
  database.exec(sql.replaceAll(':id', String(id)))
  database.close()
  return key
}

describe('damage is noticed on reading and by verifying, and stays where it is', () => {
  it.each([
    [
      'a changed body',
      "update entries set body = replace(body, 'message', 'massage') where thread = :id and seq = 3",
      'corrupt-entry',
      3,
    ],
    [
      'a body that is gone',
      'update entries set body = null where thread = :id and seq = 3',
      'corrupt-entry',
      3,
    ],
    [
      'a changed type',
      "update entries set type = 'edit' where thread = :id and seq = 3",
      'corrupt-entry',
      3,
    ],
    [
      'a changed content hash',
      'update entries set content = zeroblob(32) where thread = :id and seq = 3',
      'corrupt-entry',
      3,
    ],
    ['a changed salt', "update threads set salt = 'other' where id = :id", 'corrupt-entry', 1],
    [
      'damaged cuts',
      "update entries set cuts = '[[' where thread = :id and seq = 6",
      'corrupt-entry',
      6,
    ],
    [
      'a changed blob',
      'update blobs set content = zeroblob(9) where id in (select blob from uses where thread = :id)',
      'corrupt-entry',
      6,
    ],
    [
      'a missing blob',
      'delete from blobs where id in (select blob from uses where thread = :id)',
      'missing-blob',
      6,
    ],
    ['a missing entry', 'delete from entries where thread = :id and seq = 3', 'gap', 3],
    ['a missing end', 'delete from entries where thread = :id and seq >= 5', 'log-truncated', 5],
  ] as const)('%s', async (_, sql, code, seq) => {
    const key = await damaged(sql)
    const problems = await collect(store.verify(key))
    expect(problems[0]).toMatchObject({ ...key, code, seq })
    const error = await readAll(store, key).catch((reason: unknown) => reason)
    expect(['corrupt-entry', 'log-truncated']).toContain((error as { code?: string }).code)
    expect(await readAll(store, other)).toEqual(messages(1, 5))
    expect(await collect(store.verify(other))).toEqual([])
  })

  it('one changed body is one problem', async () => {
    const key = await damaged(
      "update entries set body = replace(body, 'message', 'massage') where thread = :id and seq = 3",
    )
    expect((await collect(store.verify(key))).length).toBe(1)
    expect(await readAll(store, key, { from: 4 })).toHaveLength(3)
    expect(await readAll(store, key, { to: 2 })).toHaveLength(2)
  })

  it('an entry of another thread in the place of ours is not taken for ours', async () => {
    const source = await damaged('select 1')
    const id = `(select id from threads where thread = '${source.thread}')`
    const key =
      await damaged(`update entries set body = (select body from entries where thread = ${id} and seq = 2),
      content = (select content from entries where thread = ${id} and seq = 2),
      header = (select header from entries where thread = ${id} and seq = 2) where thread = :id and seq = 2`)
    await rejection(readAll(store, key), 'corrupt-entry')
  })

  it('a thread that changed its tenant is not readable by the new one', async () => {
    const key = await damaged("update threads set tenant = 'rival' where id = :id")
    expect(await readAll(store, key)).toEqual([])
    const stolen = { ...key, tenant: 'rival' }
    await rejection(readAll(store, stolen, { to: 2 }), 'corrupt-entry')
    // Its large content is a row of the old tenant.
    await rejection(readAll(store, stolen), 'isolation')
  })

  it('a head that does not fit is found before anything is appended to it', async () => {
    const key = await damaged('update threads set head = zeroblob(32) where id = :id')
    await rejection(readAll(store, key), 'corrupt-entry')
    expect(await readAll(store, key, { to: 5 })).toHaveLength(5)
    expect((await collect(store.verify(key))).map(({ code }) => code)).toEqual(['corrupt-entry'])
  })

  it('verifying the whole store finds every damaged thread', async () => {
    const keys = [
      await damaged('delete from entries where thread = :id and seq = 2'),
      await damaged("update entries set body = '{}' where thread = :id and seq = 1"),
    ]
    const threads = new Set((await collect(store.verify())).map(({ thread }) => thread))
    for (const { thread } of keys) expect(threads).toContain(thread)
    expect(threads).not.toContain(other.thread)
  })

  it('entries in a form of the future are refused, not guessed', async () => {
    const key = await damaged('update entries set form = 99 where thread = :id and seq = 4')
    await rejection(readAll(store, key), 'schema-version')
  })
})

describe('a snapshot', () => {
  it.each([
    ['whose text was changed', 'update snapshots set value = \'{"four":5}\' where thread = :id'],
    ['of another history', 'update snapshots set head = zeroblob(32) where thread = :id'],
    ['ahead of the log', 'update snapshots set version = 99 where thread = :id'],
  ])('%s is as good as none', async (_, sql) => {
    expect(await store.loadSnapshot(await damaged('select 1'))).toEqual({
      version: 4,
      format: 1,
      value: { four: 4 },
    })
    expect(await store.loadSnapshot(await damaged(sql))).toBeUndefined()
  })
})

describe('a blob', () => {
  it('that was changed is an error, never wrong bytes', async () => {
    const hash = await store.putBlob('acme', new Uint8Array([1, 2, 3]))
    await damaged(`update blobs set content = x'00' where hash = x'${hash}'`)
    await rejection(store.readBlob('acme', hash), 'corrupt-entry')
  })

  it('holds large content once per tenant, however many entries have it', async () => {
    const long = `only here ${'shared content '.repeat(1000)}`
    const copies = (tenant: string): unknown => {
      const database = new DatabaseSync(path)
      const row = database
        .prepare('select count(*) as n from blobs where tenant = ? and hash = ?')
        .get(tenant, hash('sha256', long, 'buffer'))
      database.close()
      return row?.n
    }
    for (const thread of ['x', 'y']) {
      await store.append(
        { tenant: 'acme', thread },
        [messageAt(1, long, { meta: [long] }), messageAt(2, long)],
        0,
      )
    }
    await store.append({ tenant: 'rival', thread: 'x' }, [messageAt(1, long)], 0)
    expect([copies('acme'), copies('rival')]).toEqual([1, 1])
  })
})
