// Store suite cases: snapshots, blobs, tenants, closing.

import { expect } from 'vitest'
import type { ErrorCode } from '../core/log/errors.ts'
import { OrielError } from '../core/log/errors.ts'
import type { Store, ThreadKey } from '../stores/store.ts'
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

export const keepingCases: readonly StoreCase[] = [
  {
    name: 'the newest snapshot is loaded, exactly as it was saved',
    async run({ store }) {
      await store.append(key, messages(1, 5), 0)
      expect(await store.loadSnapshot(key)).toBeUndefined()
      const value = JSON.parse('{"__proto__":1,"text":"\\ud800\\u0000","zero":-0,"b":1,"a":2}')
      await store.saveSnapshot(key, { version: 2, format: 1, value: { old: true } })
      await store.saveSnapshot(key, { version: 4, format: 2, value })
      await store.saveSnapshot(key, { version: 3, format: 1, value: { late: true } })
      const loaded = await store.loadSnapshot(key)
      expect(loaded).toStrictEqual({ version: 4, format: 2, value })
      expect(JSON.stringify(loaded?.value)).toBe(JSON.stringify(value))
      await store.saveSnapshot(key, { version: 4, format: 3, value: { again: true } })
      expect(await store.loadSnapshot(key)).toEqual({
        version: 4,
        format: 3,
        value: { again: true },
      })
    },
  },
  {
    name: 'a snapshot of more than the log, or of no log, is refused',
    async run({ store }) {
      await store.append(key, messages(1, 2), 0)
      const ahead = { version: 3, format: 1, value: {} }
      await rejection(store.saveSnapshot(key, ahead), 'version-conflict')
      await rejection(store.saveSnapshot(absentKey, { ...ahead, version: 0 }), 'not-found')
      await rejection(store.saveSnapshot(key, { ...ahead, version: -1 }), 'invalid-option')
      await rejection(
        store.saveSnapshot(key, { ...ahead, version: 1, value: [] as never }),
        'invalid-input',
      )
      expect(await store.loadSnapshot(key)).toBeUndefined()
    },
  },
  {
    name: 'a large snapshot comes back',
    async run({ store }) {
      await store.append(key, messages(1, 1), 0)
      const value = { table: Array.from({ length: 20_000 }, (_, index) => [index, `row ${index}`]) }
      await store.saveSnapshot(key, { version: 1, format: 1, value })
      expect(await store.loadSnapshot(key)).toEqual({ version: 1, format: 1, value })
    },
  },
  {
    name: 'a blob is found by the SHA-256 of its bytes, in its own tenant only',
    async run({ store }) {
      const contents = [
        new Uint8Array(),
        new Uint8Array([0, 1, 254, 255]),
        new Uint8Array(300_000).fill(7),
      ]
      for (const content of contents) {
        const hash = await store.putBlob('acme', content)
        expect(hash).toMatch(/^[0-9a-f]{64}$/)
        expect(await store.putBlob('acme', content)).toBe(hash)
        expect(await store.readBlob('acme', hash)).toEqual(content)
        expect(await store.readBlob('rival', hash)).toBeUndefined()
        expect(await store.readBlob('acme', hash.toUpperCase().replace(/^./, 'x'))).toBeUndefined()
      }
      const empty = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
      expect(await store.readBlob('acme', empty)).toEqual(new Uint8Array())
      await rejection(store.putBlob('acme', 'text' as never), 'invalid-input')
    },
  },
  {
    name: 'a blob does not change with the bytes it was put from',
    async run({ store }) {
      const content = new Uint8Array([1, 2, 3])
      const putting = store.putBlob('acme', content)
      content.fill(9)
      const hash = await putting
      const read = await store.readBlob('acme', hash)
      expect(read).toEqual(new Uint8Array([1, 2, 3]))
      read?.fill(9)
      expect(await store.readBlob('acme', hash)).toEqual(new Uint8Array([1, 2, 3]))
    },
  },
  {
    name: "another tenant's thread looks exactly like an absent one",
    async run({ store }) {
      const filled: ThreadKey = { tenant: 'rival', thread: 'support-2' }
      await store.append(filled, [messageAt(1, 'secret', { externalId: 'x' })], 0)
      await store.saveSnapshot(filled, { version: 1, format: 1, value: { secret: true } })
      // The same name for both, so that even error messages must be equal.
      const foreign = await answers(store, { tenant: 'acme', thread: 'support-2' })
      await store.erase(filled)
      const absent = await answers(store, { tenant: 'acme', thread: 'support-2' })
      expect(foreign).toEqual(absent)
    },
  },
  {
    name: 'tenants with the same thread name never meet',
    async run({ store }) {
      await store.append(key, messages(1, 2, 'ours'), 0)
      await store.append(foreignKey, messages(1, 3, 'theirs'), 0)
      expect(await readAll(store, key)).toEqual(messages(1, 2, 'ours'))
      expect(await readAll(store, foreignKey)).toEqual(messages(1, 3, 'theirs'))
      expect((await store.list('acme')).map((info) => info.version)).toEqual([2])
    },
  },
  {
    name: 'names that only look alike are different threads',
    async run({ store }) {
      const names = [
        'a',
        'A',
        'a ',
        'á',
        'a\u0301',
        'a"',
        "a'",
        'a%',
        'a_',
        '["a"]',
        '%',
        '1',
        '01',
      ]
      for (const [index, thread] of names.entries()) {
        await store.append({ tenant: 'acme', thread }, messages(1, index + 1), 0)
        await store.append({ tenant: thread, thread: 'acme' }, messages(1, index + 1, 'other'), 0)
      }
      for (const [index, thread] of names.entries()) {
        expect((await store.info({ tenant: 'acme', thread }))?.version).toBe(index + 1)
        expect((await store.info({ tenant: thread, thread: 'acme' }))?.version).toBe(index + 1)
      }
    },
  },
  {
    name: 'a closed store finishes what was begun and refuses everything else',
    async run({ store }) {
      const begun = store.append(key, messages(1, 2), 0)
      const reading = store.read(key)[Symbol.asyncIterator]()
      await store.close()
      expect((await begun).version).toBe(2)
      await rejection(reading.next(), 'closed')
      for (const call of everyCall(store)) await rejection(call(), 'closed')
      await expect(store.close()).resolves.toBeUndefined()
    },
  },
]

/** Everything that a tenant can observe about a thread: values, or error codes with messages. */
async function answers(store: Store, asked: ThreadKey): Promise<unknown[]> {
  const calls = [
    () => readAll(store, asked),
    () => store.info(asked),
    () => store.list(asked.tenant),
    () => store.findExternalId(asked, 'x'),
    () => store.loadSnapshot(asked),
    () => store.saveSnapshot(asked, { version: 1, format: 1, value: {} }),
    () => store.append(asked, messages(2, 1), 1),
    () => store.erase(asked),
    () => collect(store.verify(asked)),
  ]
  const results: unknown[] = []
  for (const call of calls) {
    results.push(
      await call().catch((error: unknown): [ErrorCode, string] | unknown =>
        OrielError.is(error) ? [error.code, error.message, error.details] : error,
      ),
    )
  }
  return results
}

function everyCall(store: Store): readonly (() => Promise<unknown>)[] {
  return [
    () => store.append(key, messages(3, 1), 2),
    () => readAll(store, key),
    () => store.info(key),
    () => store.list('acme'),
    () => store.findExternalId(key, 'x'),
    () => store.saveSnapshot(key, { version: 1, format: 1, value: {} }),
    () => store.loadSnapshot(key),
    () => store.putBlob('acme', new Uint8Array(1)),
    () => store.readBlob('acme', 'x'),
    () => store.erase(key),
    () => store.eraseTenant('acme'),
    () => collect(store.verify()),
  ]
}
