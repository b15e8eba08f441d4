// Store suite cases: appending with an expected version, atomically and idempotently.

import { expect } from 'vitest'
import type { Entry } from '../core/log/entry.ts'
import type { ThreadKey } from '../stores/store.ts'
import type { StoreCase } from './store-suite.ts'
import {
  absentKey,
  foreignKey,
  key,
  messageAt,
  messages,
  readAll,
  rejection,
} from './store-suite-data.ts'

export const appendCases: readonly StoreCase[] = [
  {
    name: 'the version counts the entries',
    async run({ store }) {
      expect((await store.append(key, messages(1, 2), 0)).version).toBe(2)
      expect((await store.append(key, messages(3, 1), 2)).version).toBe(3)
      expect((await store.info(key))?.version).toBe(3)
    },
  },
  {
    name: 'a wrong expected version rejects and writes nothing',
    async run({ store }) {
      await store.append(key, messages(1, 3), 0)
      for (const expected of [0, 1, 2, 4, 1000]) {
        const other = messages(expected + 1, 1, 'another writer')
        await rejection(store.append(key, other, expected), 'version-conflict')
      }
      expect(await readAll(store, key)).toEqual(messages(1, 3))
    },
  },
  {
    name: 'a new thread expects version 0',
    async run({ store }) {
      await rejection(store.append(absentKey, messages(2, 1), 1), 'version-conflict')
      expect(await store.info(absentKey)).toBeUndefined()
    },
  },
  {
    name: 'positions must follow the expected version',
    async run({ store }) {
      await store.append(key, messages(1, 1), 0)
      const wrong: Entry[][] = [
        messages(1, 1),
        messages(3, 1),
        [...messages(2, 1), ...messages(4, 1)],
      ]
      for (const entries of wrong) await rejection(store.append(key, entries, 1), 'invalid-input')
      for (const expected of [-1, 0.5, Number.NaN]) {
        await rejection(store.append(key, messages(1, 1), expected), 'invalid-input')
      }
      expect((await store.info(key))?.version).toBe(1)
    },
  },
  {
    name: 'an append is all or nothing',
    async run({ store }) {
      const bad = messageAt(3, 'cannot be written', { meta: Number.NaN })
      await rejection(store.append(key, [...messages(1, 2), bad], 0), 'not-json')
      expect(await store.info(key)).toBeUndefined()
      expect((await store.append(key, messages(1, 3), 0)).version).toBe(3)
    },
  },
  {
    name: 'a value that is not JSON is refused, not rewritten',
    async run({ store }) {
      const values: unknown[] = [
        Number.POSITIVE_INFINITY,
        10n,
        new Date(0),
        new Map(),
        [undefined],
        () => 1,
        Symbol('s'),
      ]
      for (const meta of values) {
        const entry = messageAt(1, 'text', { meta: meta as never })
        await rejection(store.append(key, [entry], 0), 'not-json')
      }
    },
  },
  {
    name: 'a value that contains itself is refused',
    async run({ store }) {
      const meta: Record<string, unknown> = {}
      meta.self = meta
      await rejection(
        store.append(key, [messageAt(1, 'x', { meta: meta as never })], 0),
        'too-deep',
      )
    },
  },
  {
    name: 'an append that may be durable soon is there at once, like any other',
    async run({ store }) {
      const first = await store.append(key, messages(1, 2), 0, { durable: 'soon' })
      expect(first.version).toBe(2)
      expect(await readAll(store, key)).toEqual(messages(1, 2))
      await rejection(store.append(key, messages(1, 1), 1, { durable: 'soon' }), 'invalid-input')
      expect((await store.append(key, messages(3, 1), 2)).version).toBe(3)
      expect(await store.append(key, messages(1, 2), 0, { durable: 'soon' })).toEqual(first)
    },
  },
  {
    name: 'an empty append changes nothing',
    async run({ store }) {
      const result = await store.append(key, messages(1, 2), 0)
      expect(await store.append(key, [], 2)).toEqual(result)
      await rejection(store.append(key, [], 3), 'version-conflict')
      expect((await store.append(absentKey, [], 0)).version).toBe(0)
      expect(await store.info(absentKey)).toBeUndefined()
    },
  },
  {
    name: 'repeating an append succeeds with the same result',
    async run({ store }) {
      const first = await store.append(key, messages(1, 3), 0)
      expect(await store.append(key, messages(1, 3), 0)).toEqual(first)
      const second = await store.append(key, messages(4, 2), 3)
      expect(await store.append(key, messages(1, 3), 0)).toEqual(first)
      expect(await store.append(key, messages(4, 2), 3)).toEqual(second)
      expect(await readAll(store, key)).toEqual(messages(1, 5))
    },
  },
  {
    name: 'other entries at a taken position are a conflict',
    async run({ store }) {
      await store.append(key, messages(1, 3), 0)
      const changed = messageAt(2, 'changed')
      await rejection(store.append(key, [changed], 1), 'version-conflict')
      await rejection(store.append(key, [...messages(1, 1), changed], 0), 'version-conflict')
      // Atomic: a partial batch is not a repetition, so the longer one is a different append.
      await rejection(store.append(key, messages(2, 3), 1), 'version-conflict')
      expect(await readAll(store, key)).toEqual(messages(1, 3))
    },
  },
  {
    name: 'an append repeated after reopening succeeds with the same result',
    needsReopen: true,
    async run({ store, reopen }) {
      const result = await store.append(key, messages(1, 3), 0)
      const reopened = await reopen?.()
      expect(await reopened?.append(key, messages(1, 3), 0)).toEqual(result)
      expect((await reopened?.info(key))?.version).toBe(3)
    },
  },
  {
    name: 'the head names one history: every entry, thread and tenant changes it',
    async run({ store }) {
      const heads: string[] = []
      for (const [asked, label] of [
        [key, 'message'],
        [{ ...key, thread: 'other' }, 'message'],
        [foreignKey, 'message'],
        [{ ...key, thread: 'third' }, 'another'],
      ] as const) {
        heads.push((await store.append(asked, messages(1, 2, label), 0)).head)
        heads.push((await store.append(asked, messages(3, 1, label), 2)).head)
        expect((await store.info(asked))?.head).toBe(heads.at(-1))
      }
      expect(new Set(heads).size).toBe(8)
      for (const head of heads) expect(head).toMatch(/^[0-9a-f]{64}$/)
    },
  },
  {
    name: 'keys are checked, whatever the call',
    async run({ store }) {
      const names = ['', 'a\0b', 'lone \ud800', 'x'.repeat(5000), 7, null, undefined, {}, ['a']]
      for (const name of names as string[]) {
        const keys: ThreadKey[] = [
          { tenant: name, thread: 'a' },
          { tenant: 'a', thread: name },
        ]
        for (const bad of keys) {
          await rejection(store.append(bad, messages(1, 1), 0), 'invalid-input')
          await rejection(readAll(store, bad), 'invalid-input')
          await rejection(store.info(bad), 'invalid-input')
          await rejection(store.erase(bad), 'invalid-input')
        }
        await rejection(store.list(name), 'invalid-input')
        await rejection(store.putBlob(name, new Uint8Array(1)), 'invalid-input')
      }
    },
  },
]
