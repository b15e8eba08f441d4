// Store suite cases: content round-trips exactly.

import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { expect } from 'vitest'
import type { Entry, EntryId } from '../core/log/entry.ts'
import type { Json } from '../core/log/json.ts'
import type { StoreCase } from './store-suite.ts'
import {
  awkwardJson,
  collect,
  foreignKey,
  key,
  messageAt,
  messages,
  readAll,
  unknownAt,
} from './store-suite-data.ts'

export const contentCases: readonly StoreCase[] = [
  {
    name: 'awkward text comes back exactly',
    async run({ store }) {
      const texts = [
        '\ud800',
        'a\udfffb',
        '\0',
        'a\0b',
        '\u2028\ufeff',
        '\u0000\u001f',
        '😀'.slice(0, 1),
      ]
      await store.append(
        key,
        texts.map((text, index) => messageAt(index + 1, text)),
        0,
      )
      const entries = await readAll(store, key)
      expect(entries).toEqual(texts.map((text, index) => messageAt(index + 1, text)))
    },
  },
  {
    name: 'keys such as __proto__ are data like any other',
    async run({ store }) {
      const text =
        '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"toString":null,"lc":1,"type":"constructor"}'
      await store.append(key, [unknownAt(1, JSON.parse(text) as Json)], 0)
      const [entry] = await readAll(store, key)
      expect(JSON.stringify((entry as { value?: Json }).value)).toBe(text)
      expect(({} as { polluted?: number }).polluted).toBeUndefined()
    },
  },
  {
    name: 'any JSON comes back exactly, with its keys in their order',
    async run({ store, property }) {
      let run = 0
      const values = fc.array(awkwardJson(), { minLength: 1, maxLength: 4 })
      await fc.assert(
        fc.asyncProperty(values, async (list) => {
          const asked = { ...key, thread: `run-${run++}` }
          const entries = list.map((value, index) => unknownAt(index + 1, value))
          await store.append(asked, entries, 0)
          const read = await readAll(store, asked)
          // Vitest's equality fails on fields called `constructor`.
          expect(isDeepStrictEqual(read, entries)).toBe(true)
          expect(JSON.stringify(read)).toBe(JSON.stringify(entries))
        }),
        property,
      )
    },
  },
  {
    name: 'entries of unknown types and with unknown fields are kept',
    async run({ store }) {
      const entries = [
        { type: 'x-later', id: 'e1' as EntryId, seq: 1, at: 1, value: null, extra: [1] },
        { ...messageAt(2, 'text'), invented: { later: true } },
        { type: 'not-even-x', id: 'e3' as EntryId, seq: 3, at: 3 },
      ] as unknown as Entry[]
      await store.append(key, entries, 0)
      expect(await readAll(store, key)).toStrictEqual(entries)
    },
  },
  {
    name: 'content that looks like a reference of the store changes nothing',
    async run({ store }) {
      const hash = await store.putBlob(key.tenant, new TextEncoder().encode('blob'))
      const value = [hash, `"${hash}"`, { blob: hash, offset: 0 }, [[0, 1]], `\\"${hash}\\"`]
      await store.append(key, [unknownAt(1, value), messageAt(2, hash)], 0)
      expect(await readAll(store, key)).toStrictEqual([unknownAt(1, value), messageAt(2, hash)])
    },
  },
  {
    name: 'large content comes back exactly, also when many entries share it',
    async run({ store }) {
      const long = `${'0123456789 "quoted" \\ \n é 😀 \ud800'.repeat(8000)}end`
      const entries = [1, 2, 3].map((seq) =>
        messageAt(seq, long, { meta: { copy: long, nested: [{ long }], other: `${long}${seq}` } }),
      )
      await store.append(key, entries, 0)
      await store.append(foreignKey, entries, 0)
      expect(await readAll(store, key)).toStrictEqual(entries)
      expect(await readAll(store, foreignKey)).toStrictEqual(entries)
      expect(await collect(store.verify())).toEqual([])
    },
  },
  {
    name: 'strings of every length around the usual limits come back exactly',
    async run({ store, property }) {
      let run = 0
      const length = fc.oneof(
        fc.integer({ min: 0, max: 300 }),
        fc.integer({ min: 900, max: 4200 }),
        fc.integer({ min: 8100, max: 8300 }),
        fc.integer({ min: 65_400, max: 65_700 }),
      )
      const texts = fc.array(fc.tuple(length, fc.constantFrom('a', '"', '\\', 'é', '\ud800')), {
        minLength: 1,
        maxLength: 5,
      })
      await fc.assert(
        fc.asyncProperty(texts, async (list) => {
          const asked = { ...key, thread: `lengths-${run++}` }
          const entries = list.map(([count, unit], index) =>
            messageAt(index + 1, unit.repeat(count), {
              meta: [unit.repeat(count), { [unit]: count }],
            }),
          )
          await store.append(asked, entries, 0)
          expect(await readAll(store, asked)).toStrictEqual(entries)
        }),
        property,
      )
    },
  },
  {
    name: 'everything survives reopening',
    needsReopen: true,
    async run({ store, reopen }) {
      const value: Json = { list: ['\ud800', '\0', -0], text: 'x'.repeat(100_000) }
      const entries = [unknownAt(1, value), ...messages(2, 20)]
      await store.append(key, entries, 0)
      await store.saveSnapshot(key, { version: 20, format: 3, value: { state: value } })
      const hash = await store.putBlob(key.tenant, new Uint8Array([0, 255, 1]))
      const info = await store.info(key)
      const reopened = await reopen?.()
      if (reopened === undefined) return
      expect(await readAll(reopened, key)).toStrictEqual(entries)
      expect(await reopened.info(key)).toEqual(info)
      expect(await reopened.loadSnapshot(key)).toStrictEqual({
        version: 20,
        format: 3,
        value: { state: value },
      })
      expect(await reopened.readBlob(key.tenant, hash)).toEqual(new Uint8Array([0, 255, 1]))
      expect(await collect(reopened.verify())).toEqual([])
    },
  },
]
