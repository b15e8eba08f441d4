import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { batchOf } from '../../../test/batch.ts'
import { collect, messages, readAll, rejection } from '../../testing/store-suite-data.ts'
import { createStore } from '../create-store.ts'
import type { Store } from '../store.ts'
import { SqliteBackend } from './backend.ts'
import { HighWater } from './high-water.ts'
import { InlineWriter } from './inline-writer.ts'

process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'oriel-compile-cache')

/** What SQLite throws when fsync fails. */
const failedSync = Object.assign(new Error('disk I/O error'), { errcode: 1034 })
const key = { tenant: 'acme', thread: 'a' }
let directory = ''
let path = ''
let store: Store | undefined

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'oriel-here-'))
  path = join(directory, 'store.db')
})
afterEach(async () => {
  await store?.close()
  rmSync(directory, { recursive: true })
})

/** A store, and how often its calling thread began a write. */
function open(
  at: (point: string) => void = () => {},
  worker = new URL('./worker.ts', import.meta.url),
): {
  readonly store: Store
  readonly begun: () => number
} {
  let begun = 0
  const backend = new SqliteBackend({
    path,
    busyTimeoutMs: 5000,
    truncated: 'refuse',
    maxQueueBytes: 10_000_000,
    maxQueueCount: 1000,
    worker,
    writes: 'auto',
    at: (point) => {
      if (point === 'begin') begun += 1
      at(point)
    },
  })
  store = createStore(backend)
  return { store, begun: () => begun }
}

describe('the calling thread', () => {
  it('writes what is small, in one transaction for what was asked for in one turn, unless that is much', async () => {
    const { store, begun } = open()
    await store.append(key, messages(1, 2), 0)
    expect(begun()).toBe(1)
    await Promise.all([
      store.append(key, messages(3, 1), 2),
      store.append({ tenant: 'acme', thread: 'b' }, messages(1, 1), 0),
    ])
    expect(begun()).toBe(2)
    const others = ['c', 'd', 'e'].map((thread) => ({ tenant: 'acme', thread }))
    await Promise.all(others.map((other) => store.append(other, messages(1, 1), 0)))
    expect(begun()).toBe(2)
    // Of one thread they are one write.
    await Promise.all([4, 5, 6].map((seq) => store.append(key, messages(seq, 1), seq - 1)))
    expect(begun()).toBe(3)
    expect(await readAll(store, key)).toEqual(messages(1, 6))
    expect(await collect(store.verify())).toEqual([])
  })

  it('answers each by itself, conflicts too', async () => {
    const { store } = open()
    const both = await Promise.allSettled([
      store.append(key, messages(6, 1), 5),
      store.append(key, messages(1, 1), 0),
    ])
    expect(both).toMatchObject([
      { status: 'rejected', reason: { code: 'version-conflict' } },
      { status: 'fulfilled', value: { version: 1 } },
    ])
  })

  it('leaves to the worker what is large, and goes on behind it in order', async () => {
    const { store, begun } = open()
    await store.append(key, messages(1, 1), 0)
    const before = begun()
    const large = { ...messages(2, 1)[0], blocks: [{ type: 'text', text: 'x'.repeat(200_000) }] }
    const appends = [
      store.append(key, [large as ReturnType<typeof messages>[0]], 1),
      store.append(key, messages(3, 1), 2),
    ]
    await Promise.all(appends)
    expect(begun()).toBe(before)
    await store.append(key, messages(4, 1), 3)
    expect(begun()).toBe(before + 1)
    expect((await readAll(store, key)).map(({ seq }) => seq)).toEqual([1, 2, 3, 4])
  })

  it('does not wait for a lock: the worker does', async () => {
    const { store, begun } = open()
    await store.append(key, messages(1, 1), 0)
    const other = new DatabaseSync(path)
    other.exec('begin immediate')
    const turns: string[] = []
    const appended = store.append(key, messages(2, 1), 1).then(() => turns.push('appended'))
    await new Promise((resolve) => setTimeout(resolve, 100))
    // This line is reached although the lock is held: nothing blocked this thread.
    turns.push('unlocked')
    other.exec('commit')
    other.close()
    await appended
    expect(turns).toEqual(['unlocked', 'appended'])
    expect(begun()).toBe(2)
    expect(await readAll(store, key)).toEqual(messages(1, 2))
  })

  it('rests while the disk is slow', async () => {
    const pause = new Int32Array(new SharedArrayBuffer(4))
    const { store, begun } = open((point) => {
      if (point === 'before-commit') Atomics.wait(pause, 0, 0, 7)
    })
    for (let seq = 1; seq <= 30; seq++) await store.append(key, messages(seq, 1), seq - 1)
    expect(begun()).toBe(8)
    expect(await readAll(store, key)).toEqual(messages(1, 30))
  })

  it('leaves to the worker what would take more than a quarter of its time', async () => {
    await open().store.append(key, messages(1, 1), 0)
    await store?.close()
    let nowMs = 0
    const here = new InlineWriter(
      { path, busyTimeoutMs: 0, truncated: 'refuse' },
      // Each write takes three milliseconds.
      (point) => {
        if (point === 'before-commit') nowMs += 3
      },
      () => nowMs,
    )
    const own = { tenant: 'acme', thread: 'own' }
    let written = 0
    for (let turn = 0; turn < 1000; turn++) {
      nowMs += 1
      const batch = batchOf(own, messages(1, written + 1), written)
      const operations = [{ type: 'append', batch } as const]
      if (!here.takes(operations, 100)) continue
      expect(here.write(operations, 1)).toEqual({ outcomes: [{ ok: true, value: true }] })
      written += 1
    }
    here.close()
    // A quarter of all that time, and what it may take at once.
    expect(3 * written).toBeLessThanOrEqual(nowMs / 4 + 103)
    expect(3 * written).toBeGreaterThan(nowMs / 4)
  })

  it.each(['before-commit', 'after-commit', 'sync', 'before-acknowledge'])(
    'writes nothing more after a failure at %s that leaves the outcome open; the worker checks and goes on',
    async (failing) => {
      let isFirst = true
      const { store, begun } = open((point) => {
        if (point !== failing || begun() < 2 || !isFirst) return
        isFirst = false
        throw failedSync
      })
      await store.append(key, messages(1, 1), 0)
      expect((await store.append(key, messages(2, 1), 1)).version).toBe(2)
      await store.append(key, messages(3, 1), 2)
      expect(isFirst).toBe(false)
      expect(begun()).toBe(2)
      expect(await readAll(store, key)).toEqual(messages(1, 3))
      expect(await collect(store.verify())).toEqual([])
    },
  )

  it('raises the mark for what is durable soon when something is durable now', async () => {
    const { store, begun } = open()
    const mark = new HighWater(path)
    await store.append(key, messages(1, 1), 0)
    await store.append(key, messages(2, 1), 1, { durable: 'soon' })
    expect(mark.read()?.position).toBe(1)
    expect(await readAll(store, key)).toEqual(messages(1, 2))
    await store.append({ tenant: 'acme', thread: 'b' }, messages(1, 1), 0)
    expect(mark.read()?.position).toBe(3)
    expect(begun()).toBe(3)
    mark.close()
  })

  it('makes nothing durable in a file that was moved away', async () => {
    const { store, begun } = open()
    await store.append(key, messages(1, 1), 0)
    renameSync(path, `${path}.away`)
    await store.append(key, messages(2, 1), 1, { durable: 'soon' })
    await rejection(store.append(key, messages(3, 1), 2), 'storage-failed')
    renameSync(`${path}.away`, path)
    expect((await store.append(key, messages(3, 1), 2)).version).toBe(3)
    expect(begun()).toBe(3)
    expect(await readAll(store, key)).toEqual(messages(1, 3))
  })

  it('finds the write-ahead log of a database behind a link', async () => {
    const target = join(directory, 'target')
    mkdirSync(target)
    writeFileSync(join(target, 'own.db'), '')
    symlinkSync(join(target, 'own.db'), path)
    const { store, begun } = open()
    await store.append(key, messages(1, 1), 0)
    await store.append(key, messages(2, 1), 1, { durable: 'soon' })
    await store.append(key, messages(3, 1), 2)
    expect(begun()).toBe(3)
    expect(readdirSync(target).toSorted()).toEqual(['own.db', 'own.db-shm', 'own.db-wal'])
  })

  it('writes nothing more when what is durable soon cannot be synced; the worker checks and goes on', async () => {
    const worker = new URL('../../../test/faults/failing-sync-worker.ts', import.meta.url)
    const { store, begun } = open(() => {}, worker)
    await store.append(key, messages(1, 1), 0)
    let version = 1
    let before = -1
    const deadline = Date.now() + 10_000
    while (begun() > before && Date.now() < deadline) {
      before = begun()
      await store.append(key, messages(version + 1, 1), version, { durable: 'soon' })
      version += 1
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
    expect(begun()).toBe(before)
    expect(await readAll(store, key)).toEqual(messages(1, version))
    expect(await collect(store.verify())).toEqual([])
  })

  it('keeps the write-ahead log short, although it never copies it itself', async () => {
    const { store } = open()
    for (let seq = 1; seq <= 1500; seq++) await store.append(key, messages(seq, 1), seq - 1)
    // 1500 commits of some five pages are 30 MB.
    expect(statSync(`${path}-wal`).size).toBeLessThan(12_000_000)
  })
})
