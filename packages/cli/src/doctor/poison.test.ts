// Threads whose log is sound but which cannot be used: the report names the entry, and its advice works.

import { type Entry, memoryStore, openThread } from 'oriel'
import { describe, expect, it } from 'vitest'
import {
  entriesOf,
  examine as examineAt,
  oriel,
  secret,
  temporaryFolder,
  withStore,
} from '../../test/keeping.ts'

const folder = temporaryFolder()
const path = (): string => folder.file('oriel.db')
const examine = (...words: string[]): ReturnType<typeof examineAt> =>
  examineAt(folder.path, ...words)

describe('a poisoned thread', () => {
  /** A thread of five messages, the third of which is changed before it is stored. */
  async function poison(change: (entry: Entry) => object): Promise<Entry> {
    const source = memoryStore()
    const key = { tenant: 'default', thread: 'bad' }
    const thread = await openThread({ id: key.thread, store: source })
    for (let count = 1; count <= 5; count++) {
      await thread.append({ role: 'user', content: `${secret} ${count}` })
    }
    const entries = (await entriesOf(source, key)).map((entry) =>
      entry.seq === 4 ? (change(entry) as Entry) : entry,
    )
    await withStore(path(), (store) => store.append(key, entries, 0))
    return entries[3] as Entry
  }

  it('is cured by excluding the entry that the report names', async () => {
    const { id } = await poison((entry) => ({ ...entry, blocks: [{ type: 'text', text: 5 }] }))
    const { code, report } = await examine()
    expect(code).toBe(1)
    expect(report.problems).toMatchObject([
      { code: 'cannot-view', thread: 'bad', seq: 4, command: `await thread.exclude('${id}')` },
    ])
    await withStore(path(), async (store) => {
      await (await openThread({ id: 'bad', store })).exclude(id)
    })
    expect((await examine()).code).toBe(0)
  })

  it('that cannot even be opened goes on from what is before', async () => {
    await poison((entry) => ({ ...entry, blocks: 7 }))
    const { code, report } = await examine()
    expect(code).toBe(1)
    expect(report.problems).toMatchObject([
      {
        code: 'cannot-open',
        seq: 4,
        command: `oriel export --thread bad --until 3 --out rescued.jsonl --store ${path()}`,
      },
    ])
    const out = folder.file('rescued.jsonl')
    const words = ['--data', folder.path]
    expect(
      (await oriel(['export', ...words, '--thread', 'bad', '--until', '3', '--out', out])).code,
    ).toBe(0)
    expect((await oriel(['import', out, ...words, '--thread', 'good'])).code).toBe(0)
    expect((await examine('--thread', 'good')).code).toBe(0)
  })

  it('[SE2] by a setting that does not fit its name goes on from what is before', async () => {
    await poison(({ id, seq, at }) => {
      const value = [{ role: 'system', content: [5] }]
      return { id, seq, at, type: 'setting', name: 'leading', value }
    })
    const { code, report } = await examine()
    expect(code).toBe(1)
    expect(report.problems).toMatchObject([
      {
        code: 'cannot-view',
        seq: 4,
        command: `oriel export --thread bad --until 3 --out rescued.jsonl --store ${path()}`,
      },
    ])
  })

  it('that asks for what this version does not know needs a newer one', async () => {
    await poison((entry) => ({
      id: entry.id,
      seq: entry.seq,
      at: entry.at,
      type: 'setting',
      name: 'policy',
      value: { unheardOf: {} },
    }))
    const { report } = await examine()
    expect(report.problems).toMatchObject([
      { code: 'cannot-open', seq: 4, remedy: 'it may come from a later version: update Oriel' },
    ])
  })
})
