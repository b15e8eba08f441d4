import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Entry } from '../../core/log/entry.ts'
import type { Json } from '../../core/log/json.ts'
import { collect, readAll, rejection } from '../../testing/store-suite-data.ts'
import type { ValueKey } from '../backend.ts'
import type { Snapshot, Store, ThreadKey } from '../store.ts'
import { sqliteStore } from './index.ts'
import { migrations } from './schema.ts'

process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'oriel-compile-cache')

interface Expected {
  readonly threads: readonly ThreadKey[]
  readonly heads: readonly string[]
  readonly entries: readonly Entry[]
  readonly snapshot: Snapshot
  readonly erased: ThreadKey
  readonly blob: { readonly hash: string; readonly bytes: readonly number[] }
  /** From version 3 on. */
  readonly values?: readonly (ValueKey & { readonly value: Json })[]
}

it('the steps count from 1 without gaps', () => {
  expect(migrations.map((step) => step.version)).toEqual(migrations.map((_, index) => index + 1))
})

describe.each(migrations.map((step) => step.version))(
  'a store written with schema %i',
  (version) => {
    const fixture = (extension: string): string =>
      fileURLToPath(
        new URL(`../../../test/fixtures/stores/v${version}.${extension}`, import.meta.url),
      )
    let directory = ''
    let store: Store
    let expected: Expected

    beforeEach(() => {
      directory = mkdtempSync(join(tmpdir(), 'oriel-fixture-'))
      copyFileSync(fixture('db'), join(directory, 'store.db'))
      store = sqliteStore(join(directory, 'store.db'))
      expected = JSON.parse(readFileSync(fixture('json'), 'utf8')) as Expected
    })
    afterEach(async () => {
      await store.close()
      rmSync(directory, { recursive: true })
    })

    it('is read as it was written', async () => {
      for (const [index, key] of expected.threads.entries()) {
        const entries = await readAll(store, key)
        expect(JSON.stringify(entries)).toBe(JSON.stringify(expected.entries))
        expect(Object.is((entries[1] as { meta?: { b?: number } }).meta?.b, -0)).toBe(true)
        expect(await store.info(key)).toMatchObject({ version: 4, head: expected.heads[index] })
        expect(await store.findExternalId(key, 'client-1')).toBe(2)
      }
      const [first, second] = expected.threads
      expect(await store.loadSnapshot(first as ThreadKey)).toEqual(expected.snapshot)
      expect(await store.loadSnapshot(second as ThreadKey)).toBeUndefined()
      const { hash, bytes } = expected.blob
      expect(await store.readBlob('acme', hash)).toEqual(Uint8Array.from(bytes))
      for (const { value, ...key } of expected.values ?? [])
        expect(await store.values?.get(key)).toEqual(value)
      expect(await collect(store.verify())).toEqual([])
    })

    it('is continued, and what was appended then can be repeated now', async () => {
      const key = expected.threads[0] as ThreadKey
      const repeated = await readAll(store, key)
      expect(await store.append(key, repeated, 0)).toEqual({ version: 4, head: expected.heads[0] })
      const next = { type: 'x-new', id: 'e5aa', seq: 5, at: 50, value: 1 } as unknown as Entry
      expect((await store.append(key, [next], 4)).version).toBe(5)
      await rejection(store.append(expected.erased, repeated.slice(0, 1), 0), 'not-found')
      expect(await collect(store.verify())).toEqual([])
    })
  },
)
