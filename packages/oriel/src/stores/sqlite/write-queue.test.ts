import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { collect, messages, readAll, rejection } from '../../testing/store-suite-data.ts'
import { createStore } from '../create-store.ts'
import { SqliteBackend } from './backend.ts'
import { sqliteStore } from './index.ts'
import type { WriterSettings } from './write-queue.ts'
import { SqliteWriter } from './write-queue.ts'

process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'oriel-compile-cache')

const key = { tenant: 'acme', thread: 'a' }
let directory = ''
let settings: WriterSettings

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'oriel-writer-'))
  settings = {
    path: join(directory, 'store.db'),
    busyTimeoutMs: 1000,
    truncated: 'refuse',
    maxQueueBytes: 1_000_000,
    maxQueueCount: 1000,
    worker: new URL('../../../test/faults/fault-worker.ts', import.meta.url),
    writes: 'worker',
  }
})
afterEach(() => rmSync(directory, { recursive: true }))

/** A worker that only counts: it answers each request with how many requests and bytes it held at most. */
const countingWorker = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort } from 'node:worker_threads'
    const held = []
    let mostCount = 0
    let mostBytes = 0
    const answer = () => {
      mostCount = Math.max(mostCount, held.length)
      mostBytes = Math.max(mostBytes, held.reduce((sum, request) => sum + request.bytes, 0))
      const { id, bytes } = held.shift()
      parentPort.postMessage({ type: 'done', isReopened: false, results: [{ id, ok: true, value: { bytes, mostCount, mostBytes } }] })
      if (held.length > 0) setImmediate(answer)
    }
    parentPort.postMessage({ type: 'opened' })
    parentPort.on('message', (requests) => {
      if (requests === 'close') return parentPort.close()
      const isIdle = held.length === 0
      held.push(...requests)
      if (isIdle) setImmediate(answer)
    })
  `)}`,
)

describe('the queue', () => {
  it('holds no more operations and bytes than it may, and keeps their order', async () => {
    const limits = { maxQueueCount: 7, maxQueueBytes: 1000 }
    const writer = new SqliteWriter({ ...settings, ...limits, worker: countingWorker })
    const sizes = Array.from({ length: 300 }, (_, index) => 1 + ((index * 37) % 400))
    const done: number[] = []
    const answers = await Promise.all(
      sizes.map(async (bytes, index) => {
        const answer = await writer.perform({ type: 'check' }, bytes)
        done.push(index)
        return answer as { bytes: number; mostCount: number; mostBytes: number }
      }),
    )
    expect(answers.map(({ bytes }) => bytes)).toEqual(sizes)
    expect(done).toEqual(sizes.map((_, index) => index))
    expect(Math.max(...answers.map(({ mostCount }) => mostCount))).toBeLessThanOrEqual(7)
    expect(Math.max(...answers.map(({ mostBytes }) => mostBytes))).toBeLessThanOrEqual(1000)
    await writer.close()
  })

  it('lets an operation larger than itself pass alone', async () => {
    const writer = new SqliteWriter({ ...settings, maxQueueBytes: 10, worker: countingWorker })
    const answers = await Promise.all(
      [5, 5000, 5].map((bytes) => writer.perform({ type: 'check' }, bytes)),
    )
    expect(answers).toMatchObject([{ mostBytes: 5 }, { mostBytes: 5000 }, { mostBytes: 5000 }])
    await writer.close()
  })
})

describe('a worker that dies', () => {
  const points = ['begin', 'before-commit', 'after-commit', 'before-acknowledge']

  it.each(points)(
    'at %s: what was pending is rejected, the next call starts another',
    async (point) => {
      process.env.ORIEL_FAULT = `${point}:2:exit`
      const store = createStore(new SqliteBackend(settings))
      const first = await store.append(key, messages(1, 2), 0)
      const pending = [store.append(key, messages(3, 1), 2), store.append(key, messages(4, 1), 3)]
      for (const append of pending) await rejection(append, 'storage-failed')
      process.env.ORIEL_FAULT = ''
      // The outcome is not known, so an honest caller repeats.
      expect((await store.append(key, messages(3, 1), 2)).version).toBe(3)
      expect((await store.append(key, messages(4, 1), 3)).version).toBe(4)
      expect(await store.append(key, messages(1, 2), 0)).toEqual(first)
      expect(await readAll(store, key)).toEqual(messages(1, 4))
      await store.close()
    },
  )

  it('while it opens: the call is rejected, the next one works', async () => {
    process.env.ORIEL_FAULT = 'migrate:before-commit:1:exit'
    const store = createStore(new SqliteBackend(settings))
    await rejection(store.info(key), 'storage-failed')
    process.env.ORIEL_FAULT = ''
    expect((await store.append(key, messages(1, 1), 0)).version).toBe(1)
    await store.close()
  })
})

describe('closing', () => {
  it.each(['auto', 'worker'] as const)(
    'waits for what was begun, also while the file is being opened (%s)',
    async (writes) => {
      for (const expected of [0, 3]) {
        const store = createStore(new SqliteBackend({ ...settings, writes }))
        const appends = [1, 2, 3].map((count) =>
          store.append(key, messages(expected + count, 1), expected + count - 1),
        )
        const order: string[] = []
        void Promise.all(appends).then(() => order.push('appended'))
        await store.close()
        expect([...order, 'closed']).toEqual(['appended', 'closed'])
        expect((await Promise.all(appends)).at(-1)?.version).toBe(expected + 3)
      }
    },
  )

  it('does not wait for ever when the worker dies meanwhile', async () => {
    process.env.ORIEL_FAULT = 'before-commit:1:exit'
    const store = createStore(new SqliteBackend(settings))
    const append = rejection(store.append(key, messages(1, 1), 0), 'storage-failed')
    await store.close()
    process.env.ORIEL_FAULT = ''
    await append
  })
})

describe('the process', () => {
  const run = (code: string): { status: number | null; output: string } => {
    const source = `
      const { sqliteStore } = await import(${JSON.stringify(new URL('./index.ts', import.meta.url).href)})
      const entry = (seq) => ({ type: 'x-test', id: 'e' + seq, seq, at: seq, value: seq })
      const key = { tenant: 'acme', thread: 'a' }
      const store = sqliteStore(${JSON.stringify(settings.path)})
      ${code}`
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ['--input-type=module', '-e', source],
      { encoding: 'utf8', timeout: 30_000 },
    )
    return { status, output: stdout + stderr }
  }

  it('ends by itself while the store is open and idle', () => {
    const ended = run(`await store.append(key, [entry(1)], 0); console.log('done')`)
    expect(ended).toEqual({ status: 0, output: 'done\n' })
  })

  it('does not end before what was begun is done', async () => {
    const ended = run(
      'for (let seq = 1; seq <= 50; seq++) void store.append(key, [entry(seq)], seq - 1)',
    )
    expect(ended).toEqual({ status: 0, output: '' })
    const store = sqliteStore(settings.path)
    expect((await store.info(key))?.version).toBe(50)
    await store.close()
  })

  it('can close and open a store again and again', () => {
    const ended = run(`await store.append(key, [entry(1)], 0)
      await store.close()
      for (let turn = 0; turn < 3; turn++) {
        const again = sqliteStore(${JSON.stringify(settings.path)})
        console.log((await again.info(key)).version)
        await again.close()
      }`)
    expect(ended).toEqual({ status: 0, output: '1\n1\n1\n' })
  })
})

describe('a store that lost acknowledged entries', () => {
  it('refuses every call, says why when it is verified, and can be opened for repair', async () => {
    const first = sqliteStore(settings.path)
    await first.append(key, messages(1, 3), 0)
    await first.close()
    const database = new DatabaseSync(settings.path)
    database.exec('delete from entries where seq = 3')
    database.close()
    const store = sqliteStore(settings.path)
    await rejection(store.append(key, messages(4, 1), 3), 'log-truncated')
    await rejection(readAll(store, key), 'log-truncated')
    const problem = { tenant: '', thread: '', code: 'log-truncated' }
    expect(await collect(store.verify())).toMatchObject([problem])
    await store.close()
    const repair = sqliteStore(settings.path, { truncated: 'accept' })
    expect(await readAll(repair, key, { to: 2 })).toEqual(messages(1, 2))
    expect(await collect(repair.verify())).toMatchObject([
      { ...key, code: 'log-truncated', seq: 3 },
    ])
    await repair.close()
  })
})

describe('a file that cannot be opened', () => {
  it('is an error of the call; when the reason is gone, the next call works', async () => {
    const store = sqliteStore(join(directory, 'file', 'store.db'))
    writeFileSync(join(directory, 'file'), 'in the way')
    await rejection(store.append(key, messages(1, 1), 0), 'storage-failed')
    await rejection(readAll(store, key), 'storage-failed')
    rmSync(join(directory, 'file'))
    expect((await store.append(key, messages(1, 1), 0)).version).toBe(1)
    await store.close()
  })

  it('can be closed without having been opened, or after a failure', async () => {
    await sqliteStore(join(directory, 'never.db')).close()
    const store = sqliteStore('/proc/none/store.db')
    const error = await rejection(store.info(key), 'storage-failed')
    expect(error.message).toContain('The store at /proc/none/store.db cannot be opened')
    await store.close()
    await rejection(store.info(key), 'closed')
  })
})
