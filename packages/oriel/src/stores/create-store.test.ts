import { describe, expect, it } from 'vitest'
import { messageAt, messages, readAll, rejection } from '../testing/store-suite-data.ts'
import type { LogBackend, LogPage } from './backend.ts'
import { createStore } from './create-store.ts'
import { MemoryBackend } from './memory/backend.ts'
import type { Store } from './store.ts'

const key = { tenant: 'acme', thread: 'a' }
const foreign = { tenant: 'rival', thread: 'a' }

/** A store over a backend that answers as it should, except where `change` says otherwise. */
async function openWith(change: (backend: LogBackend) => Partial<LogBackend>): Promise<Store> {
  const backend = new MemoryBackend()
  const sound = createStore(backend)
  const entries = [messageAt(1, 'one', { externalId: 'x' }), ...messages(2, 2)]
  for (const asked of [key, foreign]) {
    await sound.append(asked, entries, 0)
    await sound.saveSnapshot(asked, { version: 3, format: 1, value: {} })
  }
  const changes = change(backend)
  return createStore(
    new Proxy<LogBackend>(backend, {
      get(target, name) {
        const value: unknown = changes[name as keyof LogBackend] ?? Reflect.get(target, name)
        return typeof value === 'function' ? value.bind(target) : value
      },
    }),
  )
}

it.each([
  ['no backend', null, 'backend'],
  ['no name', {}, 'backend.name'],
  ['a missing method', { ...methodsOf(), readBlob: undefined }, 'backend.readBlob'],
])('[LB4] refuses %s at once, with its path', (_name, backend, path) => {
  expect(() => createStore(backend as unknown as LogBackend)).toThrow(
    expect.objectContaining({ code: 'invalid-option', path }),
  )
})

/** A complete backend as a plain object. */
function methodsOf(): Readonly<Record<string, unknown>> {
  const names = Object.getOwnPropertyNames(MemoryBackend.prototype)
  return { name: 'plain', ...Object.fromEntries(names.map((name) => [name, () => undefined])) }
}

/** A page with its second row changed. */
async function changedPage(
  backend: LogBackend,
  asked: Parameters<LogBackend['page']>,
  change: (page: LogPage) => Partial<LogPage>,
): Promise<LogPage | undefined> {
  const page = await backend.page(...asked)
  return page === undefined ? undefined : { ...page, ...change(page) }
}

describe('a backend that gives rows of another tenant', () => {
  it('[LB4] is found out, whatever was asked for', async () => {
    const store = await openWith((backend) => ({
      thread: () => backend.thread(foreign),
      page: (_, from, to) => backend.page(foreign, from, to),
      loadSnapshot: () => backend.loadSnapshot(foreign),
      threads: (query) => backend.threads({ ...query, tenant: 'rival' } as typeof query),
    }))
    await rejection(readAll(store, key), 'isolation')
    await rejection(store.info(key), 'isolation')
    await rejection(store.loadSnapshot(key), 'isolation')
    await rejection(store.findExternalId(key, 'x'), 'isolation')
    await rejection(store.append(key, messages(4, 1), 3), 'isolation')
    await rejection(store.erase(key), 'isolation')
    await rejection(store.list('acme'), 'isolation')
    await rejection(store.newest?.('acme') ?? store.list('acme'), 'isolation')
  })
})

describe('a backend that lost or changed rows', () => {
  const cases: readonly [string, (page: LogPage) => Partial<LogPage>, string][] = [
    ['a row', ({ rows }) => ({ rows: rows.filter(({ seq }) => seq !== 2) }), 'corrupt-entry'],
    ['all rows', () => ({ rows: [] }), 'log-truncated'],
    [
      'a text',
      ({ rows }) => ({ rows: rows.map((row) => ({ ...row, body: '{}' })) }),
      'corrupt-entry',
    ],
    ['a head', ({ thread }) => ({ thread: { ...thread, head: 'aa' } }), 'corrupt-entry'],
    [
      'a form',
      ({ rows }) => ({ rows: rows.map((row) => ({ ...row, form: 99 })) }),
      'schema-version',
    ],
  ]

  it.each(cases)('[LB4] %s: reading says so', async (_, change, code) => {
    const store = await openWith((backend) => ({
      page: (...asked) => changedPage(backend, asked, change),
    }))
    await rejection(readAll(store, key), code as 'isolation')
  })

  it('[LB4] a blob: reading says so', async () => {
    const store = await openWith(() => ({ readBlob: async () => new Uint8Array([7]) }))
    const hash = await store.putBlob('acme', new Uint8Array([1]))
    await rejection(store.readBlob('acme', hash), 'corrupt-entry')
  })

  it('[LB4] a snapshot: it is as good as none', async () => {
    const store = await openWith((backend) => ({
      loadSnapshot: async (asked) => {
        const found = await backend.loadSnapshot(asked)
        return found && { ...found, snapshot: { ...found.snapshot, text: '{"changed":1}' } }
      },
    }))
    expect(await store.loadSnapshot(key)).toBeUndefined()
  })
})

describe('a backend that throws', () => {
  it('[LB4] gives its error to the call, with a code and its cause', async () => {
    const cause = new Error('the database is on fire')
    const fail = async (): Promise<never> => {
      throw cause
    }
    const store = await openWith(() => ({ append: fail, page: fail, putValue: fail }))
    const value = { tenant: 'acme', space: 's', name: 'n' }
    for (const call of [
      () => store.append(key, messages(4, 1), 3),
      () => readAll(store, key),
      async () => store.values?.put(value, 1),
    ]) {
      const error = await rejection(call(), 'storage-failed')
      expect(error.cause).toBe(cause)
      expect(error.message).toContain('memory')
    }
  })

  it('[LB4] while it closes: the first call has the error, and the store is closed', async () => {
    const store = await openWith(() => ({
      close: async () => {
        throw new Error('cannot sync')
      },
    }))
    await expect(store.close()).rejects.toThrow('cannot sync')
    await expect(store.close()).resolves.toBeUndefined()
    await rejection(store.info(key), 'closed')
  })
})
