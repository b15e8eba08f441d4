// What a search costs as a store grows, beside raw FTS5 over the same texts, and what indexing costs appends:
//
//   node src/search-speed.ts [messages, default 100000]
//
// Every size is a store of its own in a temporary folder. The words follow Zipf's law, as those of conversations do. Queries are the same for
// all; raw FTS5 ranks the same texts by its own bm25 and reads the ten best. Medians of interleaved runs, in milliseconds of CPU time: the
// machine may be busy.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { openThread, searchThreads, sqliteStore } from 'oriel'

const folder = mkdtempSync(join(tmpdir(), 'oriel-search-'))
const most = Number(process.argv[2] ?? 100_000)
const runs = 60
const syllables = 'ba ke lo mi nu ra se ti vo da fe go hu ja le mo na pi ru so'.split(' ')
/** The most frequent word. */
const common = 'kem'

try {
  await compareSizes([1000, 10_000, 100_000, 1_000_000].filter((size) => size <= most))
  await compareThreads(10_000)
  await compareAppends(5000)
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
    const random = generator(1)
    const store = sqliteStore(join(folder, `${size}.db`))
    const thread = await openThread({ id: 'one', store })
    const raw = new DatabaseSync(join(folder, `raw-${size}.db`))
    raw.exec('pragma journal_mode = wal; create virtual table texts using fts5(content)')
    const add = raw.prepare('insert into texts (rowid, content) values (?, ?)')
    for (let from = 0; from < size; from += 500) {
      const messages = Array.from({ length: Math.min(500, size - from) }, (_, index) => ({
        role: index % 2 === 0 ? ('user' as const) : ('assistant' as const),
        content: textOf(random, 40),
      }))
      await thread.append(messages)
      raw.exec('begin')
      for (const [index, { content }] of messages.entries()) add.run(from + index + 1, content)
      raw.exec('commit')
    }
    const begun = performance.now()
    for (let isReady = false; !isReady; ) {
      await thread.search(common)
      isReady =
        (await store.search?.({ tenant: 'default', thread: 'one', query: common }))?.isComplete ??
        true
    }
    const indexing = (performance.now() - begun) / 1000
    const find = raw.prepare(
      'select rowid, content from texts where texts match ? order by rank limit 10',
    )
    const asked = queries()
    const [own, other] = await interleaved([
      async (run) => void (await thread.search(asked[run % asked.length] as string)),
      async (run) => {
        const terms = (asked[run % asked.length] as string).split(' ')
        find.all(terms.map((term) => `"${term}"`).join(' OR '))
      },
    ])
    const cells = [
      size.toLocaleString('en'),
      indexing.toFixed(1),
      ms(own),
      ms(other),
      ((own ?? 0) / (other ?? 1)).toFixed(2),
    ]
    console.log(`| ${cells.join(' | ')} |`)
    await thread.settled()
    await store.close()
    raw.close()
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

/** Appends of single messages, as a conversation makes them, with the index and without it. */
async function compareAppends(count: number): Promise<void> {
  const random = generator(5)
  const texts = Array.from({ length: count }, () => textOf(random, 40))
  const time = async (name: string, hasIndex: boolean): Promise<number> => {
    const store = sqliteStore(join(folder, `${name}.db`))
    if (!hasIndex) Object.assign(store, { search: undefined })
    const thread = await openThread({ id: 'a', store })
    const begun = performance.now()
    for (const content of texts) await thread.append({ role: 'user', content })
    const took = performance.now() - begun
    await thread.settled()
    await store.close()
    return took
  }
  const times: [number, number][] = []
  for (let run = 0; run < 3; run++) {
    times.push([await time(`with-${run}`, true), await time(`without-${run}`, false)])
  }
  const median = (at: 0 | 1): number =>
    times.map((pair) => pair[at]).sort((a, b) => a - b)[1] as number
  const share = (100 * (median(0) / median(1) - 1)).toFixed(1)
  console.log(
    `\nappends: ${(median(0) / count).toFixed(3)} ms with indexing behind them, ${(median(1) / count).toFixed(3)} ms without: ${share} %`,
  )
}

async function interleaved(
  tasks: readonly ((run: number) => Promise<void>)[],
): Promise<readonly number[]> {
  const times = tasks.map((): number[] => [])
  for (let run = 0; run < runs; run++) {
    for (const [index, task] of tasks.entries()) {
      const begun = process.cpuUsage()
      await task(run)
      const { user, system } = process.cpuUsage(begun)
      times[index]?.push((user + system) / 1000)
    }
  }
  return times.map((own) => own.sort((a, b) => a - b)[Math.floor(own.length / 2)] as number)
}

function ms(value: number | undefined): string {
  return (value ?? 0).toFixed(2)
}
