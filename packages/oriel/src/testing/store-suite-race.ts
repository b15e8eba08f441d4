// Store suite cases: concurrent writers, and random operations against a model array.

import fc from 'fast-check'
import { expect } from 'vitest'
import type { Entry } from '../core/log/entry.ts'
import { OrielError } from '../core/log/errors.ts'
import type { Store, ThreadKey } from '../stores/store.ts'
import type { StoreCase, StoreCaseContext } from './store-suite.ts'
import { collect, key, messageAt, messages, readAll, rejection } from './store-suite-data.ts'

export const raceCases: readonly StoreCase[] = [
  {
    name: 'writers that race for one thread lose nothing and double nothing',
    async run({ store, writers }) {
      const each = 12
      const labels = Array.from({ length: writers }, (_, writer) => `writer ${writer}`)
      const acknowledged = await Promise.all(labels.map((label) => writeLoop(store, label, each)))
      const entries = await readAll(store, key)
      expect(entries.map((entry) => entry.seq)).toEqual(entries.map((_, index) => index + 1))
      const texts = entries.map((entry) => JSON.stringify((entry as { blocks?: unknown }).blocks))
      expect(texts.length).toBe(writers * each)
      expect(new Set(texts).size).toBe(writers * each)
      for (const { seq, text } of acknowledged.flat()) {
        expect(texts[seq - 1]).toContain(JSON.stringify(text))
      }
      expect(await collect(store.verify(key))).toEqual([])
    },
  },
  {
    name: 'of several appends to one position one wins and the others conflict',
    async run({ store, writers }) {
      for (let expected = 0; expected < 10; expected++) {
        const outcomes = await Promise.allSettled(
          Array.from({ length: writers }, (_, writer) =>
            store.append(key, [messageAt(expected + 1, `from ${writer}`)], expected),
          ),
        )
        const lost = outcomes.filter((outcome) => outcome.status === 'rejected')
        expect(lost.length).toBe(writers - 1)
        for (const { reason } of lost) expect(OrielError.is(reason, 'version-conflict')).toBe(true)
      }
      expect((await store.info(key))?.version).toBe(10)
    },
  },
  {
    name: 'the same append made many times at once is stored once, with one result',
    async run({ store, writers }) {
      const results = await Promise.all(
        Array.from({ length: writers }, () => store.append(key, messages(1, 3), 0)),
      )
      expect(new Set(results.map((result) => JSON.stringify(result))).size).toBe(1)
      expect(await readAll(store, key)).toEqual(messages(1, 3))
    },
  },
  {
    name: 'appends issued in order without waiting are applied in order',
    async run({ store }) {
      const results = await Promise.all(
        Array.from({ length: 200 }, (_, index) => store.append(key, messages(index + 1, 1), index)),
      )
      expect(results.map((result) => result.version)).toEqual(results.map((_, index) => index + 1))
      expect(await readAll(store, key)).toEqual(messages(1, 200))
    },
  },
  {
    name: 'what was acknowledged is read, by every reader, at once',
    async run({ store, writers }) {
      await Promise.all(
        Array.from({ length: writers }, async (_, writer) => {
          const own: ThreadKey = { tenant: 'acme', thread: `own-${writer}` }
          for (let version = 0; version < 10; version++) {
            await store.append(own, messages(version + 1, 1), version)
            expect((await readAll(store, own)).length).toBe(version + 1)
          }
        }),
      )
    },
  },
  { name: 'random operations agree with plain arrays', run: randomOperations },
]

/** Appends with optimistic concurrency: reads again on a conflict. */
async function writeLoop(
  store: Store,
  label: string,
  count: number,
): Promise<{ seq: number; text: string }[]> {
  const acknowledged: { seq: number; text: string }[] = []
  let version = 0
  while (acknowledged.length < count) {
    const text = `${label}, ${acknowledged.length}`
    try {
      version = (await store.append(key, [messageAt(version + 1, text)], version)).version
      acknowledged.push({ seq: version, text })
    } catch (error) {
      if (!OrielError.is(error, 'version-conflict')) throw error
      version = (await store.info(key))?.version ?? 0
    }
  }
  return acknowledged
}

const operation = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant('append'), count: fc.nat(4) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('repeat'), count: fc.nat(5) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('stale'), count: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('snapshot'), count: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('reopen'), count: fc.constant(0) }) },
)

async function randomOperations({ store, reopen, property }: StoreCaseContext): Promise<void> {
  let current = store
  let run = 0
  const step = fc.tuple(fc.nat(2), operation)
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      run++
      const logs = new Map<string, Entry[]>()
      const snapshots = new Map<string, number>()
      for (const [thread, { type, count }] of steps) {
        const own = { tenant: 'acme', thread: `random-${run}-${thread}` }
        const log = logs.get(own.thread) ?? []
        if (type === 'reopen') current = (await reopen?.()) ?? current
        if (type === 'append') {
          const added = messages(log.length + 1, count, `run ${run}`)
          const result = await current.append(own, added, log.length)
          logs.set(own.thread, log.concat(added))
          expect(result.version).toBe(log.length + count)
        }
        if (type === 'repeat') {
          const from = Math.max(0, log.length - count)
          expect((await current.append(own, log.slice(from), from)).version).toBe(log.length)
        }
        if (type === 'stale') {
          const expected = log.length + (count === 0 ? 1 : -Math.min(count, log.length))
          if (expected === log.length) continue
          const other = [messageAt(expected + 1, 'late')]
          await rejection(current.append(own, other, expected), 'version-conflict')
        }
        if (type === 'snapshot' && log.length > 0) {
          const version = Math.min(count, log.length)
          await current.saveSnapshot(own, { version, format: 1, value: { version } })
          snapshots.set(own.thread, Math.max(version, snapshots.get(own.thread) ?? 0))
        }
      }
      for (const [thread, log] of logs) {
        const own = { tenant: 'acme', thread }
        expect(await readAll(current, own)).toStrictEqual(log)
        expect((await current.info(own))?.version ?? 0).toBe(log.length)
        expect((await current.loadSnapshot(own))?.version).toBe(snapshots.get(thread))
        expect(await collect(current.verify(own))).toEqual([])
      }
    }),
    property,
  )
}
