// Store suite cases: reading in order and in parts, and listing threads.

import { expect } from 'vitest'
import type { Store, ThreadInfo } from '../stores/store.ts'
import type { StoreCase } from './store-suite.ts'
import {
  absentKey,
  collect,
  foreignKey,
  key,
  messageAt,
  messages,
  readAll,
  rejection,
} from './store-suite-data.ts'

export const readCases: readonly StoreCase[] = [
  {
    name: 'an absent thread has no entries, no info, no snapshot, no ids and no problems',
    async run({ store }) {
      expect(await readAll(store, absentKey)).toEqual([])
      expect(await store.info(absentKey)).toBeUndefined()
      expect(await store.loadSnapshot(absentKey)).toBeUndefined()
      expect(await store.findExternalId(absentKey, 'any')).toBeUndefined()
      expect(await collect(store.verify(absentKey))).toEqual([])
      await expect(store.erase(absentKey)).resolves.toBeUndefined()
    },
  },
  {
    name: 'a range is read inclusively, and what lies outside is empty',
    async run({ store }) {
      await store.append(key, messages(1, 10), 0)
      const seqs = async (from?: number, to?: number): Promise<number[]> => {
        const range = {
          ...(from === undefined ? {} : { from }),
          ...(to === undefined ? {} : { to }),
        }
        return (await readAll(store, key, range)).map((entry) => entry.seq)
      }
      expect(await seqs()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
      expect(await seqs(4, 6)).toEqual([4, 5, 6])
      expect(await seqs(10)).toEqual([10])
      expect(await seqs(undefined, 2)).toEqual([1, 2])
      expect(await seqs(9, 99)).toEqual([9, 10])
      expect(await seqs(11)).toEqual([])
      expect(await seqs(6, 5)).toEqual([])
      expect(await seqs(1, 0)).toEqual([])
    },
  },
  {
    name: 'a range that is not made of positions is refused',
    async run({ store }) {
      await store.append(key, messages(1, 1), 0)
      for (const from of [0, -1, 1.5, Number.NaN, '1' as never]) {
        await rejection(readAll(store, key, { from }), 'invalid-option')
      }
      await rejection(readAll(store, key, { to: -1 }), 'invalid-option')
    },
  },
  {
    name: 'a long log streams in order without gaps, also past its first pages',
    async run({ store }) {
      const count = 2500
      for (let from = 1; from <= count; from += 500) {
        await store.append(key, messages(from, 500), from - 1)
      }
      expect(await readAll(store, key)).toEqual(messages(1, count))
      expect(await readAll(store, key, { from: 1234, to: 2345 })).toEqual(messages(1234, 1112))
    },
  },
  {
    name: 'a read can be left early, and several run side by side',
    async run({ store }) {
      await store.append(key, messages(1, 600), 0)
      for await (const entry of store.read(key)) if (entry.seq === 3) break
      const left = store.read(key)[Symbol.asyncIterator]()
      const right = store.read(key, { from: 300 })[Symbol.asyncIterator]()
      for (let step = 0; step < 300; step++) {
        expect((await left.next()).value?.seq).toBe(step + 1)
        expect((await right.next()).value?.seq).toBe(step + 300)
      }
      await left.return?.()
      await right.return?.()
      expect((await store.append(key, messages(601, 1), 600)).version).toBe(601)
    },
  },
  {
    name: 'a read that is overtaken by an append sees a prefix of the log',
    async run({ store }) {
      await store.append(key, messages(1, 700), 0)
      const seen: number[] = []
      for await (const entry of store.read(key)) {
        if (seen.length === 10) await store.append(key, messages(701, 5), 700)
        seen.push(entry.seq)
      }
      expect(seen.length).toBeGreaterThanOrEqual(700)
      expect(seen).toEqual(seen.map((_, index) => index + 1))
    },
  },
  {
    name: 'what is read can be changed without changing the log',
    async run({ store }) {
      const entry = messageAt(1, 'original', { meta: { list: [1] } })
      await store.append(key, [entry], 0)
      Object.assign(entry.blocks[0] as object, { text: 'changed by the writer' })
      const [read] = await readAll(store, key)
      Object.assign(read as object, { type: 'changed by the reader' })
      expect(await readAll(store, key)).toEqual([messageAt(1, 'original', { meta: { list: [1] } })])
    },
  },
  {
    name: 'an external id leads to its entry, in its own thread only',
    async run({ store }) {
      const ids = ['plain', 'lone \ud800', 'nul \0', '__proto__', '', 'plain ', "' OR 1=1--"]
      const entries = ids.map((externalId, index) => messageAt(index + 1, 'text', { externalId }))
      await store.append(key, entries, 0)
      for (const [index, id] of ids.entries()) {
        expect(await store.findExternalId(key, id)).toBe(index + 1)
        expect(await store.findExternalId({ ...key, thread: 'other' }, id)).toBeUndefined()
        expect(await store.findExternalId(foreignKey, id)).toBeUndefined()
      }
      for (const id of ['lone \ud801', 'lone \ufffd', 'nul ', 'PLAIN', 'e1', 'text']) {
        expect(await store.findExternalId(key, id)).toBeUndefined()
      }
      await rejection(store.findExternalId(key, 7 as never), 'invalid-input')
    },
  },
  {
    name: 'of two entries with one external id the first is found',
    async run({ store }) {
      const twice = [2, 3].map((seq) => messageAt(seq, `copy ${seq}`, { externalId: 'same' }))
      await store.append(key, [...messages(1, 1), ...twice], 0)
      expect(await store.findExternalId(key, 'same')).toBe(2)
    },
  },
  {
    name: 'info tells version, head, times and bytes',
    async run({ store }) {
      const first = await store.append(key, [messageAt(1, 'é'.repeat(1000))], 0)
      const before = await store.info(key)
      expect(before).toMatchObject({ thread: key.thread, version: 1, head: first.head })
      expect(before?.bytes).toBeGreaterThanOrEqual(2000)
      expect(before?.bytes).toBeLessThan(3000)
      await store.append(key, messages(2, 1), 1)
      const after = await store.info(key)
      expect(after?.bytes).toBeGreaterThan(before?.bytes ?? 0)
      expect(after?.createdAt).toBe(before?.createdAt)
      expect(after?.updatedAt).toBeGreaterThanOrEqual(before?.updatedAt ?? 0)
      expect(before?.updatedAt).toBeGreaterThanOrEqual(before?.createdAt ?? 0)
    },
  },
  {
    name: 'newest pages through the threads of one tenant, the most recently used first',
    async run({ store }) {
      if (store.newest === undefined) return
      expect(await store.newest('acme')).toEqual([])
      // With equal timestamps, names decide.
      const names = ['B', 'a1', 'a2', 'a3', 'é', '～', '😀', 'gone']
      for (const thread of names) await store.append({ ...key, thread }, messages(1, 1), 0)
      await store.append(foreignKey, messages(1, 1), 0)
      await store.append({ ...key, thread: 'a1' }, messages(2, 1), 1)
      await store.erase({ ...key, thread: 'gone' })
      const infos = [...(await store.list('acme'))]
      const sorted = infos.toSorted((a, b) => b.updatedAt - a.updatedAt)
      for (const limit of [1, 2, 3, 100]) expect(await pagesByAge(store, limit)).toEqual(sorted)
      await rejection(store.newest('acme', { limit: 0 }), 'invalid-option')
      const wrong = { updatedAt: Number.NaN, thread: 'a' }
      await rejection(store.newest('acme', { after: wrong }), 'invalid-option')
    },
  },
  {
    name: 'a position of newest stays valid when its thread grows or is erased',
    async run({ store }) {
      if (store.newest === undefined) return
      const names = ['a', 'b', 'c', 'd', 'e', 'f']
      for (const thread of names) await store.append({ ...key, thread }, messages(1, 1), 0)
      const all = await store.newest('acme')
      const [first, second, third, ...rest] = all.map(({ thread }) => thread)
      const page = await store.newest('acme', { limit: 2 })
      expect(page.map(({ thread }) => thread)).toEqual([first, second])
      const after = page.at(-1) as ThreadInfo
      await store.append({ ...key, thread: String(second) }, messages(2, 1), 1)
      const later = await store.newest('acme', { after })
      expect(later.map(({ thread }) => thread)).toEqual([third, ...rest])
      await store.erase({ ...key, thread: String(second) })
      expect(await store.newest('acme', { after })).toEqual(later)
    },
  },
  {
    name: 'list pages through the threads of one tenant, sorted by name in bytes',
    async run({ store }) {
      // Sorted as UTF-8: an emoji comes after U+FF5E, although its first UTF-16 unit is smaller.
      const names = ['B', 'a', 'a2', 'é', '～', '😀']
      for (const thread of names.toReversed()) {
        await store.append({ tenant: 'acme', thread }, messages(1, 1), 0)
        await store.append({ tenant: 'rival', thread: `${thread}!` }, messages(1, 1), 0)
      }
      expect(await pages(store, 'acme', 4)).toEqual(names)
      expect(await pages(store, 'acme', 1)).toEqual(names)
      expect(await store.list('nobody')).toEqual([])
      const info = await store.info({ tenant: 'acme', thread: 'é' })
      expect((await store.list('acme', { after: 'a2', limit: 1 }))[0]).toEqual(info)
      for (const limit of [0, -1, 1.5, 1e9]) {
        await rejection(store.list('acme', { limit }), 'invalid-option')
      }
    },
  },
]

async function pages(store: Store, tenant: string, limit: number): Promise<string[]> {
  const names: string[] = []
  for (;;) {
    const after = names.at(-1)
    const page = await store.list(tenant, after === undefined ? { limit } : { after, limit })
    if (page.length === 0) return names
    names.push(...page.map((info) => info.thread))
  }
}

async function pagesByAge(store: Store, limit: number): Promise<ThreadInfo[]> {
  const infos: ThreadInfo[] = []
  for (;;) {
    const after = infos.at(-1)
    const options = after === undefined ? { limit } : { after, limit }
    const page = (await store.newest?.('acme', options)) ?? []
    if (page.length === 0) return infos
    infos.push(...page)
  }
}
