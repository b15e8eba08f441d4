// Store suite cases: erasing a thread or a tenant, and what must remain.

import { expect } from 'vitest'
import type { StoreCase } from './store-suite.ts'
import {
  collect,
  foreignKey,
  key,
  messageAt,
  messages,
  readAll,
  rejection,
  unknownAt,
} from './store-suite-data.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

export const eraseCases: readonly StoreCase[] = [
  {
    name: 'an erased thread is gone, and its name is not used again',
    async run({ store }) {
      await store.append(
        key,
        [messageAt(1, 'forget me', { externalId: 'x' }), ...messages(2, 2)],
        0,
      )
      await store.saveSnapshot(key, { version: 3, format: 1, value: { text: 'forget me' } })
      await store.erase(key)
      expect(await readAll(store, key)).toEqual([])
      expect(await store.info(key)).toBeUndefined()
      expect(await store.list(key.tenant)).toEqual([])
      expect(await store.loadSnapshot(key)).toBeUndefined()
      expect(await store.findExternalId(key, 'x')).toBeUndefined()
      await rejection(store.append(key, messages(1, 1), 0), 'not-found')
      await rejection(store.append(key, messages(4, 1), 3), 'not-found')
      await rejection(store.saveSnapshot(key, { version: 1, format: 1, value: {} }), 'not-found')
      await expect(store.erase(key)).resolves.toBeUndefined()
    },
  },
  {
    name: 'the chain of an erased thread can still be verified',
    async run({ store }) {
      await store.append(key, messages(1, 5), 0)
      await store.append({ ...key, thread: 'other' }, messages(1, 5), 0)
      await store.erase(key)
      expect(await collect(store.verify(key))).toEqual([])
      expect(await collect(store.verify())).toEqual([])
    },
  },
  {
    name: 'erasing one thread leaves the others whole, also where they share large content',
    async run({ store }) {
      const long = 'shared by three threads '.repeat(5000)
      const others = [{ ...key, thread: 'other' }, foreignKey]
      for (const asked of [key, ...others]) await store.append(asked, [messageAt(1, long)], 0)
      await store.erase(key)
      for (const asked of others) {
        expect(await readAll(store, asked)).toEqual([messageAt(1, long)])
        expect(await collect(store.verify(asked))).toEqual([])
      }
    },
  },
  {
    name: 'a blob goes with the last thread whose entries name it',
    async run({ store }) {
      const shared = await store.putBlob('acme', bytes('shared'))
      const own = await store.putBlob('acme', bytes('own'))
      const foreign = await store.putBlob('rival', bytes('own'))
      const other = { ...key, thread: 'other' }
      await store.append(key, [unknownAt(1, { result: [shared, own] })], 0)
      await store.append(other, [unknownAt(1, { shared })], 0)
      await store.erase(key)
      expect(await store.readBlob('acme', own)).toBeUndefined()
      expect(await store.readBlob('acme', shared)).toEqual(bytes('shared'))
      expect(await store.readBlob('rival', foreign)).toEqual(bytes('own'))
      await store.erase(other)
      expect(await store.readBlob('acme', shared)).toBeUndefined()
    },
  },
  {
    name: 'a blob that was put and is not yet named survives the erasure of other threads',
    async run({ store }) {
      const hash = await store.putBlob('acme', bytes('content'))
      await store.append(key, [unknownAt(1, hash)], 0)
      // A second writer puts the same content and has not appended its entry yet.
      expect(await store.putBlob('acme', bytes('content'))).toBe(hash)
      await store.erase(key)
      expect(await store.readBlob('acme', hash)).toEqual(bytes('content'))
    },
  },
  {
    name: 'erasing a tenant erases its threads and blobs and no other tenant',
    async run({ store }) {
      const keys = ['one', 'two', 'three'].map((thread) => ({ tenant: 'acme', thread }))
      for (const asked of keys) await store.append(asked, messages(1, 2), 0)
      await store.append(foreignKey, messages(1, 2), 0)
      const ours = await store.putBlob('acme', bytes('blob'))
      const theirs = await store.putBlob('rival', bytes('blob'))
      await store.eraseTenant('acme')
      await store.eraseTenant('nobody')
      for (const asked of keys) {
        expect(await readAll(store, asked)).toEqual([])
        await rejection(store.append(asked, messages(1, 1), 0), 'not-found')
      }
      expect(await store.list('acme')).toEqual([])
      expect(await store.readBlob('acme', ours)).toBeUndefined()
      expect(await readAll(store, foreignKey)).toEqual(messages(1, 2))
      expect(await store.readBlob('rival', theirs)).toEqual(bytes('blob'))
      expect(await collect(store.verify())).toEqual([])
      expect(
        (await store.append({ tenant: 'acme', thread: 'new' }, messages(1, 1), 0)).version,
      ).toBe(1)
    },
  },
  {
    name: 'an erasure survives reopening',
    needsReopen: true,
    async run({ store, reopen }) {
      await store.append(key, messages(1, 3), 0)
      await store.erase(key)
      const reopened = await reopen?.()
      if (reopened === undefined) return
      expect(await readAll(reopened, key)).toEqual([])
      await rejection(reopened.append(key, messages(1, 1), 0), 'not-found')
      expect(await collect(reopened.verify())).toEqual([])
    },
  },
  {
    name: 'a read that an erasure overtakes ends with an error, not with half a log',
    async run({ store }) {
      await store.append(key, messages(1, 3000), 0)
      let count = 0
      const reading = (async () => {
        for await (const _ of store.read(key)) if (++count === 5) await store.erase(key)
      })()
      await rejection(reading, 'not-found')
      expect(count).toBeLessThan(3000)
    },
  },
]
