// Store suite cases: watch and leases between users of one store, and hostile names.

import { EventEmitter, once } from 'node:events'
import { expect } from 'vitest'
import type { Entry } from '../core/log/entry.ts'
import type { Json } from '../core/log/json.ts'
import type { Store, StoreChange } from '../stores/store.ts'
import type { StoreCase } from './store-suite.ts'
import {
  collect,
  foreignKey,
  key,
  messages,
  readAll,
  rejection,
  unknownAt,
} from './store-suite-data.ts'

export const sharingCases: readonly StoreCase[] = [
  {
    name: 'tenants are listed page by page, sorted by name in bytes',
    async run({ store }) {
      if (store.tenants === undefined) return
      const names = ['B', 'a', 'é', '～', '😀']
      for (const tenant of names.toReversed()) {
        await store.append({ tenant, thread: 'x' }, messages(1, 1), 0)
        await store.append({ tenant, thread: 'y' }, messages(1, 1), 0)
      }
      expect(await store.tenants()).toEqual(names)
      expect(await store.tenants({ limit: 2 })).toEqual(['B', 'a'])
      expect(await store.tenants({ after: 'a', limit: 2 })).toEqual(['é', '～'])
      expect(await store.tenants({ after: '😀' })).toEqual([])
      await rejection(store.tenants({ limit: 0 }), 'invalid-option')
    },
  },
  {
    name: 'a watch tells of appends and erasures, with ids only, until it is closed',
    async run({ store }) {
      if (store.watch === undefined) return
      const heard = new Heard()
      const bad = await store.watch(() => {
        throw new Error('a listener that throws')
      })
      const watch = await store.watch(heard.listener)
      await store.append(key, messages(1, 2), 0)
      await heard.until({ ...key, version: 2 })
      await store.append(foreignKey, messages(1, 1), 0)
      await heard.until({ ...foreignKey, version: 1 })
      await store.erase(key)
      await heard.until({ ...key, version: 0 })
      for (const change of heard.changes) {
        const known = ['type', 'tenant', 'thread', 'version']
        expect(Object.keys(change).filter((name) => !known.includes(name))).toEqual([])
      }
      await watch.close()
      await bad.close()
      const { length } = heard.changes
      await store.append(foreignKey, messages(2, 1), 1)
      await store.info(foreignKey)
      expect(heard.changes.length).toBe(length)
    },
  },
  {
    name: 'a lease has one holder, until it is given back or over',
    async run({ store }) {
      if (store.lease === undefined) return
      const options = { name: 'compaction', ttlMs: 60_000 }
      const first = await store.lease(key, options)
      expect(first).toBeDefined()
      expect(await store.lease(key, options)).toBeUndefined()
      expect(await store.lease(key, { ...options, name: 'other' })).toBeDefined()
      expect(await store.lease(foreignKey, options)).toBeDefined()
      await first?.release()
      expect(await store.lease(key, { ...options, ttlMs: 1 })).toBeDefined()
      const start = performance.now()
      while (performance.now() - start < 20) await store.info(key)
      const second = await store.lease(key, options)
      expect(second).toBeDefined()
      // The first holder is late: its release must not affect the new holder.
      await first?.release()
      expect(await store.lease(key, options)).toBeUndefined()
      await rejection(store.lease(key, { name: '', ttlMs: 1 }), 'invalid-option')
      await rejection(store.lease(key, { name: 'x', ttlMs: 0 }), 'invalid-option')
    },
  },
  {
    name: 'a lease that is renewed goes on, and one that is over cannot be',
    async run({ store }) {
      if (store.lease === undefined) return
      const options = { name: 'compaction', ttlMs: 1500 }
      const first = await store.lease(key, options)
      const start = performance.now()
      while (performance.now() - start < 2000) {
        expect(await first?.renew()).toBe(true)
        expect(await store.lease(key, options)).toBeUndefined()
      }
      await first?.release()
      expect(await first?.renew()).toBe(false)
      expect(await store.lease(key, options)).toBeDefined()
      expect(await first?.renew()).toBe(false)
    },
  },
  {
    name: 'of many that ask for a lease at once one gets it',
    async run({ store, writers }) {
      const { lease } = store
      if (lease === undefined) return
      const asked = Array.from({ length: writers }, () =>
        lease.call(store, key, { name: 'one', ttlMs: 60_000 }),
      )
      const held = (await Promise.all(asked)).filter((one) => one !== undefined)
      expect(held.length).toBe(1)
    },
  },
  {
    name: 'hostile names are names like any other, or a typed error',
    async run({ store }) {
      await store.append(key, messages(1, 3), 0)
      for (const [index, name] of hostileNames.entries()) await meets(store, name, index)
      // Nothing else was touched.
      expect(await readAll(store, key)).toEqual(messages(1, 3))
      expect(await collect(store.verify())).toEqual([])
      expect(Object.keys(Object.prototype)).toEqual([])
    },
  },
  {
    name: 'hostile keys and values come back exactly, or are a typed error',
    async run({ store }) {
      const entries = [...hostileNames, 'k'.repeat(1024 * 1024)].map((text, index) =>
        unknownAt(
          index + 1,
          JSON.parse(`{${JSON.stringify(text)}:[${JSON.stringify(text)}]}`) as Json,
        ),
      )
      await store.append(key, entries, 0)
      const read = await readAll(store, key)
      expect(JSON.stringify(read)).toBe(JSON.stringify(entries))
      const value = JSON.parse(JSON.stringify((entries.at(-1) as { value?: Json }).value))
      await store.saveSnapshot(key, { version: 1, format: 1, value })
      expect((await store.loadSnapshot(key))?.value).toEqual(value)
      await rejection(
        store.append(
          key,
          [{ ...entries[0], seq: entries.length + 1, type: 'a\0b' } as unknown as Entry],
          entries.length,
        ),
        'invalid-input',
      )
    },
  },
]

const hostileNames: readonly string[] = [
  "'; drop table entries; --",
  "' or 1=1 --",
  '"; drop schema oriel cascade; --',
  '$1',
  '$$',
  '{}',
  '{a,b}',
  '\\x41',
  '\\',
  '%',
  '*',
  '__proto__',
  'constructor',
  'toString',
  '../../etc/passwd',
  '\u202e\u2028\ufeff',
  '\u0001\u001f',
  'lone \ud800',
  'nul \0',
  '',
  ' ',
  'x'.repeat(513),
]

/** Uses one name in every position: it works, or is rejected with a code. */
async function meets(store: Store, name: string, index: number): Promise<void> {
  const isName = name !== '' && name.length <= 512 && name.isWellFormed() && !name.includes('\0')
  const own = { tenant: name, thread: name }
  const entry = { ...unknownAt(1, name), externalId: name } as unknown as Entry
  if (isName) {
    expect((await store.append(own, [entry], 0)).version).toBe(1)
    expect(await readAll(store, own)).toEqual([entry])
    expect((await store.list(name)).map((info) => info.thread)).toEqual([name])
    expect(await store.list(name, { after: name })).toEqual([])
    const blob = await store.putBlob(name, new TextEncoder().encode(name))
    expect(await store.readBlob(name, blob)).toEqual(new TextEncoder().encode(name))
    await (await store.lease?.(own, { name, ttlMs: 1000 }))?.release()
  } else {
    await rejection(store.append(own, [entry], 0), 'invalid-input')
    await rejection(store.list(name), 'invalid-input')
    await rejection(store.eraseTenant(name), 'invalid-input')
  }
  expect(await store.readBlob('acme', name)).toBeUndefined()
  const other = { tenant: 'acme', thread: `external-${index}` }
  await store.append(other, [entry], 0)
  expect(await store.findExternalId(other, name)).toBe(1)
}

/** Records events, and waits for one. */
class Heard {
  readonly changes: StoreChange[] = []
  readonly #emitter = new EventEmitter()

  readonly listener = (change: StoreChange): void => {
    this.changes.push(change)
    this.#emitter.emit('change')
  }

  async until(wanted: { tenant: string; thread: string; version: number }): Promise<void> {
    const isIt = (change: StoreChange): boolean =>
      change.type === 'changed' &&
      change.tenant === wanted.tenant &&
      change.thread === wanted.thread &&
      change.version === wanted.version
    const signal = AbortSignal.timeout(20_000)
    while (!this.changes.some(isIt)) await once(this.#emitter, 'change', { signal })
  }
}
