// What erasing leaves in the files, and what it costs others.

import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { collect, messageAt, messages, readAll } from '../../testing/store-suite-data.ts'
import type { Store, ThreadKey } from '../store.ts'
import { pragma } from './database.ts'
import { sqliteStore } from './index.ts'

process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'oriel-compile-cache')

let directory = ''
let path = ''

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'oriel-erase-'))
  path = join(directory, 'store.db')
})
afterEach(() => rmSync(directory, { recursive: true }))

const keyOf = (thread: number | string): ThreadKey => ({ tenant: 'acme', thread: `t${thread}` })
const canaryOf = (thread: number | string): string => `CANARY-${thread}! `

/** The files that hold a text. */
function filesWith(text: string, folder = directory): readonly string[] {
  return readdirSync(folder).filter((name) => readFileSync(join(folder, name)).includes(text))
}

function withDatabase<T>(use: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(path)
  try {
    return use(database)
  } finally {
    database.close()
  }
}

describe('erased content', () => {
  /** One append or snapshot: which thread, and how many canaries. */
  const writes = fc.array(
    fc.record({
      thread: fc.nat({ max: 7 }),
      length: fc.oneof(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 900 })),
      isSnapshot: fc.boolean(),
    }),
    { minLength: 20, maxLength: 80 },
  )
  const order = fc.shuffledSubarray([0, 1, 2, 3, 4, 5, 6, 7], { minLength: 3 })

  async function write(
    store: Store,
    versions: Map<number, number>,
    { thread, length, isSnapshot }: { thread: number; length: number; isSnapshot: boolean },
  ): Promise<void> {
    const version = versions.get(thread) ?? 0
    const text = canaryOf(thread).repeat(length)
    if (isSnapshot && version > 0) {
      await store.saveSnapshot(keyOf(thread), { version, format: 1, value: { text } })
      return
    }
    const entry = messageAt(version + 1, text, { externalId: `${thread}-${version}` })
    await store.append(keyOf(thread), [entry], version)
    versions.set(thread, version + 1)
  }

  it('[SQ3] is in no file, however threads were mixed and in whatever order they are erased', async () => {
    let run = 0
    await fc.assert(
      fc.asyncProperty(writes, order, async (list, threads) => {
        const folder = join(directory, String(++run))
        const store = sqliteStore(join(folder, 'store.db'))
        const versions = new Map<number, number>()
        for (const one of list) await write(store, versions, one)
        for (const thread of threads) {
          await store.erase(keyOf(thread))
          expect(filesWith(canaryOf(thread), folder)).toEqual([])
          // Others continue: their pages are filled and split again.
          const next = list.find((one) => !threads.includes(one.thread))
          if (next !== undefined) await write(store, versions, next)
        }
        expect(await collect(store.verify())).toEqual([])
        await store.close()
        for (const thread of threads) expect(filesWith(canaryOf(thread), folder)).toEqual([])
      }),
      { numRuns: 6, interruptAfterTimeLimit: 40_000 },
    )
  })

  it('[SQ3] of a file of an earlier version is gone too, with what that version had left in free pages', async () => {
    const fixture = new URL('../../../test/fixtures/stores/v1.db', import.meta.url)
    copyFileSync(fileURLToPath(fixture), path)
    withDatabase((database) => {
      database.exec('pragma secure_delete = off; create table old (text text)')
      database.prepare('insert into old values (?)').run(canaryOf('old').repeat(5000))
      database.exec('drop table old')
    })
    expect(filesWith(canaryOf('old'))).not.toEqual([])
    const store = sqliteStore(path)
    await store.append(keyOf('a'), [messageAt(1, canaryOf('a').repeat(2000))], 0)
    await store.erase(keyOf('a'))
    expect(filesWith(canaryOf('old'))).toEqual([])
    expect(filesWith(canaryOf('a'))).toEqual([])
    expect((await readAll(store, { tenant: 'acme', thread: 'order-42' })).length).toBe(4)
    expect(await collect(store.verify())).toEqual([])
    await store.close()
    // Rewritten once; from now on as a new file.
    expect(withDatabase((database) => pragma(database, 'auto_vacuum'))).toBe(2)
  })
})

it('[SQ5] the tokens of erased content are in no file and in no table of the index', async () => {
  let run = 0
  const size = fc.integer({ min: 1, max: 40 })
  await fc.assert(
    fc.asyncProperty(fc.array(size, { minLength: 2, maxLength: 12 }), async (sizes) => {
      const folder = join(directory, `search-${++run}`)
      const file = join(folder, 'store.db')
      const store = sqliteStore(file)
      const wordOf = (thread: number): string => `zqcanary${String.fromCharCode(97 + thread)}xw`
      for (const [thread, count] of sizes.entries()) {
        const text = `${wordOf(thread)} common words of all threads `.repeat(count * 20)
        await store.append(keyOf(thread), [messageAt(1, text)], 0)
        if (thread % 2 === 0) await store.search?.({ tenant: 'acme', query: 'common' })
      }
      const found = await store.search?.({ tenant: 'acme', query: wordOf(0) })
      expect(found?.passages.length).toBe(1)
      const gone = [...sizes.keys()].filter((thread) => thread % 3 !== 2)
      for (const thread of gone) await store.erase(keyOf(thread))
      for (const thread of gone) expect(filesWith(wordOf(thread), folder)).toEqual([])
      await store.search?.({ tenant: 'acme', query: 'common' })
      await store.close()
      const database = new DatabaseSync(file)
      database.exec("create virtual table temp.terms using fts5vocab(main, search, 'row')")
      const terms = database.prepare("select term from terms where term like 'zqcanary%'").all()
      const left = [...sizes.keys()].filter((thread) => !gone.includes(thread)).map(wordOf)
      expect(terms.map(({ term }) => term)).toEqual(left)
      database.close()
    }),
    { numRuns: 6, interruptAfterTimeLimit: 30_000 },
  )
})

describe('erasing', () => {
  it('[SQ4] a tenant takes its threads in batches, however many there are', async () => {
    const store = sqliteStore(path)
    const threads = Array.from({ length: 230 }, (_, index) => index)
    await Promise.all(
      threads.map((index) => store.append(keyOf(index), [messageAt(1, canaryOf('tenant'))], 0)),
    )
    const other = { tenant: 'rival', thread: 'x' }
    const done = store.eraseTenant('acme')
    let version = 0
    let isOver = false
    void done.then(() => {
      isOver = true
    })
    // Every append waits for at most one batch.
    while (!isOver) version = (await store.append(other, messages(version + 1, 1), version)).version
    await done
    expect(version).toBeGreaterThan(3)
    expect(await store.list('acme')).toEqual([])
    expect(filesWith(canaryOf('tenant'))).toEqual([])
    await store.close()
  })
})
