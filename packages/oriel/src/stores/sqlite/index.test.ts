import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { describeStore } from '../../testing/store-suite.ts'
import { key, messages } from '../../testing/store-suite-data.ts'
import { sqliteStore } from './index.ts'

// Every case starts a worker from the TypeScript sources; without a cache each would compile them again.
process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'oriel-compile-cache')

describeStore('sqlite', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'oriel-sqlite-'))
  const path = join(directory, 'data', 'store.db')
  let store = sqliteStore(path)
  return {
    store,
    reopen: async () => {
      await store.close()
      store = sqliteStore(path)
      return store
    },
    cleanup: async () => {
      await store.close()
      rmSync(directory, { recursive: true })
    },
  }
})

describe('options', () => {
  it.each([
    ['', {}],
    [':memory:', {}],
    ['file:store.db', {}],
    ['a\0b', {}],
    [7, {}],
    ['a', { busyTimeoutMs: -1 }],
    ['a', { maxQueueBytes: 0 }],
    ['a', { maxQueueCount: 1.5 }],
    ['a', { truncated: 'maybe' }],
    ['a', { writes: 'sometimes' }],
    [null, {}],
    [{}, {}],
    [{ path: ':memory:' }, {}],
    [{ path: 'a', writes: 'sometimes' }, {}],
  ])('refuses %j with %j at once', (path, options) => {
    expect(() => sqliteStore(path as string, options as object)).toThrow(
      expect.objectContaining({ code: 'invalid-option' }),
    )
  })

  it('may name the path too', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'oriel-sqlite-'))
    const path = join(directory, 'store.db')
    const store = sqliteStore({ path, now: () => 7 })
    await store.append(key, messages(1, 2), 0)
    await store.close()
    const again = sqliteStore(path)
    expect(await again.info(key)).toMatchObject({ createdAt: 7 })
    await again.close()
    rmSync(directory, { recursive: true })
  })
})
