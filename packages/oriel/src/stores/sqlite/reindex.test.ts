import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { analysisVersion } from '../../core/search/analysis.ts'
import { messageAt } from '../../testing/store-suite-data.ts'
import { memoryStore } from '../memory/index.ts'
import type { Store } from '../store.ts'
import { sqliteStore } from './index.ts'

const key = { tenant: 'acme', thread: 'old' }
const texts = ['We bought an iPhone in May.', 'The invoice is 4711.', 'An iphone again, and more.']
let directory = ''

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'oriel-reindex-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

/** Makes a store as one before this analysis left it: other tokens, plain ids, an older number. */
async function outdate(path: string): Promise<void> {
  const store = sqliteStore(path)
  await told(store)
  await store.search?.({ ...key, query: 'invoice' })
  await store.close()
  const database = new DatabaseSync(path)
  database.exec('update threads set analysis = 1')
  const rows = database.prepare('select id, tokens from passages order by id').all()
  for (const [index, { id, tokens }] of rows.entries()) {
    const before = Buffer.from(tokens as Uint8Array)
      .subarray(1)
      .toString()
    const scope = scopeIn(database)
    database
      .prepare("insert into search (search, rowid, tokens) values ('delete', ?, ?)")
      .run(id as number, `${scope} ${before}`)
    const former = Buffer.concat([Buffer.of(0), Buffer.from(`former${index} word`)])
    database
      .prepare('update passages set id = ?, tokens = ? where id = ?')
      .run(index + 1, former, id as number)
    database
      .prepare('insert into search (rowid, tokens) values (?, ?)')
      .run(index + 1, `${scope} former${index} word`)
  }
  database.close()
}

/** The tokens of tenant and thread, from the index's own vocabulary. */
function scopeIn(database: DatabaseSync): string {
  database.exec('create virtual table if not exists temp.v using fts5vocab(main, search, row)')
  const rows = database.prepare("select term from temp.v where term like ':%' order by term").all()
  return rows.map(({ term }) => String(term)).join(' ')
}

async function told(store: Store): Promise<void> {
  await store.append(
    key,
    texts.map((text, index) => messageAt(index + 1, text)),
    0,
  )
}

async function found(store: Store, query: string): Promise<readonly object[]> {
  const { passages = [] } = (await store.search?.({ ...key, query })) ?? {}
  return passages.map(({ id: _, ...passage }) => passage)
}

it('[RK8] what an earlier analysis indexed is found as if it were indexed now', async () => {
  const path = join(directory, 'store.db')
  await outdate(path)
  const store = sqliteStore(path)
  const memory = memoryStore()
  await told(memory)
  for (const query of ['iPhone', 'iphone', 'Where is invoice 4711?', 'purchase'])
    expect(await found(store, query)).toEqual(await found(memory, query))
  expect(await found(store, 'former1')).toEqual([])
  await store.append(key, [messageAt(4, 'A last iPhone.')], 3)
  expect(await found(store, 'iphone')).toHaveLength(3)
  await store.close()
  const database = new DatabaseSync(path)
  expect(database.prepare('select analysis, passages from threads').get()).toEqual({
    analysis: analysisVersion,
    passages: 4,
  })
  database.exec('create virtual table temp.v using fts5vocab(main, search, row)')
  expect(database.prepare("select term from temp.v where term like 'former%'").all()).toEqual([])
  database.close()
})

it('[RK8] an outdated thread in a search over a tenant is indexed again, once', async () => {
  const path = join(directory, 'store.db')
  await outdate(path)
  const store = sqliteStore(path)
  const ask = async (): Promise<readonly number[]> =>
    ((await store.search?.({ tenant: key.tenant, query: 'iphone' }))?.passages ?? []).map(
      ({ id }) => id,
    )
  const ids = await ask()
  expect(ids).toHaveLength(2)
  expect(await ask()).toEqual(ids)
  await store.close()
})

it('[RK8] an outdated thread that is erased leaves nothing in the index', async () => {
  const path = join(directory, 'store.db')
  await outdate(path)
  const store = sqliteStore(path)
  await store.erase(key)
  await store.close()
  const database = new DatabaseSync(path)
  database.exec('create virtual table temp.v using fts5vocab(main, search, row)')
  expect(database.prepare('select term from temp.v').all()).toEqual([])
  database.close()
})
