// Several processes on one file, and a clock that goes backwards.

import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Entry } from '../../src/core/log/entry.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import {
  countAcknowledged,
  createAcknowledged,
  runChild,
  violations,
  withDirectory,
} from './harness.ts'
import { seed } from './random.ts'

describe(`several processes (ORIEL_SEED=${seed})`, () => {
  it('that race for one thread lose nothing and double nothing', () =>
    withDirectory(async (directory) => {
      const path = join(directory, 'store.db')
      const logs = [1, 2, 3, 4].map(() => createAcknowledged())
      const ends = await Promise.all(
        logs.map((acknowledged, index) =>
          runChild({ path, seed: seed + index, mode: 'race' }, acknowledged),
        ),
      )
      for (const end of ends) expect(end).toMatchObject({ status: 0, errors: '' })
      const all = createAcknowledged()
      const merged = new Map<number, string>()
      for (const log of logs)
        for (const [seq, digest] of log.threads.get('race') ?? []) merged.set(seq, digest)
      all.threads.set('race', merged)
      // No position was acknowledged to two processes.
      expect(merged.size).toBe(logs.reduce((sum, log) => sum + countAcknowledged(log), 0))
      expect(Math.max(...merged.keys())).toBe(merged.size)
      expect(await violations(path, all)).toEqual([])
    }))

  it('that make the same appends are answered the same, and it is stored once', () =>
    withDirectory(async (directory) => {
      const path = join(directory, 'store.db')
      const options = { path, seed, mode: 'same' } as const
      const ends = await Promise.all([1, 2, 3].map(() => runChild(options, createAcknowledged())))
      const [first, ...others] = ends.map(({ lines }) =>
        lines.filter((line) => line.startsWith('head')),
      )
      expect(first?.length).toBe(20)
      for (const other of others) expect(other).toEqual(first)
      const store = sqliteStore(path)
      expect((await store.info({ tenant: 'acme', thread: 'same' }))?.version).toBe(40)
      await store.close()
    }))

  it('of which one is killed while the others go on', () =>
    withDirectory(async (directory) => {
      const path = join(directory, 'store.db')
      const acknowledged = createAcknowledged()
      const ends = await Promise.all([
        runChild({ path, seed, fault: 'before-commit:9:kill' }, acknowledged),
        runChild({ path, seed: seed + 1, mode: 'race' }, acknowledged),
      ])
      expect(ends.map(({ signal }) => signal)).toEqual(['SIGKILL', null])
      expect(await violations(path, acknowledged)).toEqual([])
    }))
})

describe('a clock that goes backwards', () => {
  it('changes neither order nor age', () =>
    withDirectory(async (directory) => {
      const times = [1_700_000_000_000, 1_699_996_400_000, 0, -5, 2_000_000_000_000, 1_000]
      const clock = times.values()
      const store = sqliteStore(join(directory, 'store.db'), { now: () => clock.next().value ?? 0 })
      const key = { tenant: 'acme', thread: 'clock' }
      let before = 0
      for (const [version, at] of times.entries()) {
        const entry = { type: 'x-fault', id: `e${version}`, seq: version + 1, at, value: version }
        await store.append(key, [entry as unknown as Entry], version)
        const info = await store.info(key)
        expect(info?.updatedAt).toBeGreaterThanOrEqual(Math.max(before, info?.createdAt ?? 0))
        before = info?.updatedAt ?? 0
      }
      const read: number[] = []
      for await (const entry of store.read(key)) read.push(entry.at)
      expect(read).toEqual(times)
      await store.close()
    }))
})
