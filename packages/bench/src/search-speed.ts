// What a search costs as a store grows, beside raw FTS5 over the same texts, and what indexing costs appends:
//
//   node src/search-speed.ts [messages, default 100000] [sizes,threads,appends,postgres]
//
// Every size is a store of its own in a temporary folder. The words follow Zipf's law, as those of conversations do. Queries are the same for
// all; raw FTS5 ranks the same texts by its own bm25 and reads the ten best. Medians of interleaved runs, in milliseconds of CPU time: the
// machine may be busy. `postgres` is not among the defaults: it starts a server of its own, and raw tsvector ranks by ts_rank. There the time is
// that of the clock, since most of it is another process's.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { startPostgres } from '../../../scripts/postgres.ts'
import {
  openThread,
  type Store,
  searchThreads,
  sqliteStore,
  type Thread,
} from '../../oriel/src/index.ts'
import type { LogBackend } from '../../oriel/src/stores/backend.ts'
import { createStore } from '../../oriel/src/stores/index.ts'
import { PostgresBackend } from '../../oriel/src/stores/postgres/backend.ts'
import { postgresStore } from '../../oriel/src/stores/postgres/index.ts'
import { SqliteBackend } from '../../oriel/src/stores/sqlite/backend.ts'

const folder = mkdtempSync(join(tmpdir(), 'oriel-search-'))
const most = Number(process.argv[2] ?? 100_000)
/** What is measured: all of it, or what the second argument names. */
const parts = (process.argv[3] ?? 'sizes,threads,appends').split(',')
const runs = 60
const syllables = 'ba ke lo mi nu ra se ti vo da fe go hu ja le mo na pi ru so'.split(' ')
/** The most frequent word. */
const common = 'kem'

try {
  if (parts.includes('sizes'))
    await compareSizes([1000, 10_000, 100_000, 1_000_000].filter((size) => size <= most))
  if (parts.includes('threads')) await compareThreads(10_000)
  if (parts.includes('appends')) await compareAppends('SQLite', 4000, sqliteBackend)
  if (parts.includes('postgres'))
    await comparePostgres([1000, 10_000, 100_000].filter((size) => size <= most))
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** Numbers that look random and are the same in every run. */
function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 2_147_483_648
  }
}

function textOf(random: () => number, words: number): string {
  return Array.from({ length: words }, () => wordOf(random)).join(' ')
}

/** Frequent words are frequent: the rank of a word is drawn evenly on a logarithmic scale. */
function wordOf(random: () => number): string {
  let rest = Math.floor(Math.exp(random() * Math.log(50_000)))
  let word = ''
  do {
    word += syllables[rest % syllables.length]
    rest = Math.floor(rest / syllables.length)
  } while (rest > 0)
  return `${word}m`
}

function queries(): readonly string[] {
  const random = generator(7)
  return Array.from({ length: 10 }, () => textOf(random, 8))
}

async function compareSizes(sizes: readonly number[]): Promise<void> {
  console.log('| messages in one thread | indexed in s | search, ms | raw FTS5, ms | share |')
  console.log('|---|---|---|---|---|')
  for (const size of sizes) {
    const store = sqliteStore(join(folder, `${size}.db`))
    const thread = await openThread({ id: 'one', store })
    const raw = new DatabaseSync(join(folder, `raw-${size}.db`))
    raw.exec('pragma journal_mode = wal; create virtual table texts using fts5(content)')
    const add = raw.prepare('insert into texts (rowid, content) values (?, ?)')
    await fill(thread, size, async (texts, from) => {
      raw.exec('begin')
      for (const [index, text] of texts.entries()) add.run(from + index + 1, text)
      raw.exec('commit')
    })
    const indexing = await indexed(thread, store)
    const find = raw.prepare(
      'select rowid, content from texts where texts match ? order by rank limit 10',
    )
    const asked = queries()
    const times = await interleaved([
      async (run) => void (await thread.search(asked[run % asked.length] as string)),
      async (run) => {
        const terms = (asked[run % asked.length] as string).split(' ')
        find.all(terms.map((term) => `"${term}"`).join(' OR '))
      },
    ])
    printSize(size, indexing, times)
    await thread.settled()
    await store.close()
    raw.close()
  }
}

/** Appends messages of 40 words, 500 at a time. */
async function fill(
  thread: Thread,
  size: number,
  add: (texts: readonly string[], from: number) => Promise<void>,
): Promise<void> {
  const random = generator(1)
  for (let from = 0; from < size; from += 500) {
    const texts = Array.from({ length: Math.min(500, size - from) }, () => textOf(random, 40))
    await thread.append(
      texts.map((content, index) => ({ role: index % 2 === 0 ? 'user' : 'assistant', content })),
    )
    await add(texts, from)
  }
}

/** Seconds until all is indexed. */
async function indexed(thread: Thread, store: Store): Promise<number> {
  const begun = performance.now()
  for (let isReady = false; !isReady; ) {
    await thread.search(common)
    isReady =
      (await store.search?.({ tenant: 'default', thread: 'one', query: common }))?.isComplete ??
      true
  }
  return (performance.now() - begun) / 1000
}

function printSize(size: number, indexing: number, [own = 0, other = 1]: readonly number[]): void {
  const cells = [size.toLocaleString('en'), indexing.toFixed(1), ms(own), ms(other)]
  console.log(`| ${[...cells, (own / other).toFixed(2)].join(' | ')} |`)
}

async function comparePostgres(sizes: readonly number[]): Promise<void> {
  const server = await startPostgres({ own: true, isDurable: true })
  const pool = new pg.Pool({ connectionString: server.url, max: 4 })
  try {
    console.log(
      '\n| messages in one thread | indexed in s | search, ms | raw tsvector, ms | share |',
    )
    console.log('|---|---|---|---|---|')
    for (const size of sizes) {
      const store = postgresStore(server.url, { schema: `sizes_${size}` })
      const thread = await openThread({ id: 'one', store })
      const table = `raw_${size}`
      await pool.query(`create table ${table} (content text, tokens tsvector)`)
      await pool.query(`create index on ${table} using gin (tokens)`)
      await fill(thread, size, async (texts) => {
        const add = `insert into ${table} select t, to_tsvector('simple', t) from unnest($1::text[]) t`
        await pool.query(add, [texts])
      })
      const indexing = await indexed(thread, store)
      await pool.query('vacuum analyze')
      const asked = queries()
      const find = `select content from ${table} where tokens @@ $1::tsquery order by ts_rank(tokens, $1::tsquery) desc limit 10`
      const times = await interleaved(
        [
          async (run) => void (await thread.search(asked[run % asked.length] as string)),
          async (run) => {
            const terms = (asked[run % asked.length] as string).split(' ')
            await pool.query(find, [terms.join(' | ')])
          },
        ],
        () => performance.now() * 1000,
      )
      printSize(size, indexing, times)
      await thread.settled()
      await store.close()
    }
    await compareAppends('PostgreSQL', 500, (name) => postgresBackend(server.url, name))
  } finally {
    await pool.end()
    await server.close()
  }
}

async function compareThreads(count: number): Promise<void> {
  const random = generator(3)
  const store = sqliteStore(join(folder, 'threads.db'))
  let last = await openThread({ id: 't0', store })
  for (let index = 0; index < count; index++) {
    last = await openThread({ id: `t${index}`, store, isNew: true, snapshotEvery: 0 })
    await last.append(
      Array.from({ length: 4 }, () => ({ role: 'user' as const, content: textOf(random, 40) })),
    )
  }
  for (let isReady = false; !isReady; ) {
    isReady = (await store.search?.({ tenant: 'default', query: common }))?.isComplete ?? true
  }
  const asked = queries()
  const [one, all] = await interleaved([
    async (run) => void (await last.search(asked[run % asked.length] as string)),
    async (run) =>
      void (await searchThreads(store, 'default', asked[run % asked.length] as string)),
  ])
  console.log(`\none of ${count} threads: ${ms(one)} ms; all of them: ${ms(all)} ms`)
  await store.close()
}

function sqliteBackend(name: string): LogBackend {
  return new SqliteBackend({
    ...{ path: join(folder, `${name}.db`), busyTimeoutMs: 5000, writes: 'auto' },
    ...{ maxQueueBytes: 64 * 1024 * 1024, maxQueueCount: 10_000, truncated: 'refuse' },
    worker: new URL('../../oriel/src/stores/sqlite/worker.ts', import.meta.url),
  })
}

function postgresBackend(source: string, name: string): LogBackend {
  const schema = name.replaceAll('-', '_')
  const settings = { partitions: 0, maxConnections: 4, timeoutMs: 30_000, listenUrl: undefined }
  return new PostgresBackend({ source, schema, ...settings, isPrepared: false, isNotifying: true })
}

/** Appends of single messages, as a conversation makes them, with the index behind them and in a store that has none. */
async function compareAppends(
  title: string,
  count: number,
  backendOf: (name: string) => LogBackend,
): Promise<void> {
  const random = generator(5)
  const texts = Array.from({ length: count }, () => textOf(random, 40))
  const time = async (name: string, hasIndex: boolean): Promise<number> => {
    const backend = backendOf(name)
    if (!hasIndex) Object.defineProperty(backend, 'search', { value: undefined })
    const store = createStore(backend)
    const thread = await openThread({ id: 'a', store })
    const begun = performance.now()
    for (const content of texts) await thread.append({ role: 'user', content })
    const took = performance.now() - begun
    await thread.settled()
    await store.close()
    return took
  }
  const times: [number, number][] = []
  for (let run = 0; run < 7; run++)
    times.push([await time(`with-${run}`, true), await time(`without-${run}`, false)])
  const median = (at: 0 | 1): number =>
    times.map((pair) => pair[at]).sort((a, b) => a - b)[3] as number
  const share = (100 * (median(0) / median(1) - 1)).toFixed(1)
  console.log(
    `\nappends to ${title}: ${(median(0) / count).toFixed(3)} ms with indexing behind them, ${(median(1) / count).toFixed(3)} ms without: ${share} %`,
  )
}

async function interleaved(
  tasks: readonly ((run: number) => Promise<void>)[],
  clock: () => number = cpuTime,
): Promise<readonly number[]> {
  const times = tasks.map((): number[] => [])
  for (let run = 0; run < runs; run++) {
    for (const [index, task] of tasks.entries()) {
      const begun = clock()
      await task(run)
      times[index]?.push((clock() - begun) / 1000)
    }
  }
  return times.map((own) => own.sort((a, b) => a - b)[Math.floor(own.length / 2)] as number)
}

/** In microseconds. */
function cpuTime(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}

function ms(value: number | undefined): string {
  return (value ?? 0).toFixed(2)
}
