// kill -9, at named points and at random.

import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  countAcknowledged,
  createAcknowledged,
  filesWithErased,
  runChild,
  violations,
  withDirectory,
} from './harness.ts'
import { createRandom, integer, seed } from './random.ts'

describe(`kill -9 (ORIEL_SEED=${seed})`, () => {
  const points = ['begin', 'before-commit', 'after-commit', 'before-acknowledge']

  const writers = ['auto', 'worker'] as const
  const cases = writers.flatMap((writes) =>
    points.flatMap((point) => [1, 5].map((time) => ({ writes, point, time }))),
  )

  it.each(cases)(
    'at $point, time $time, writes $writes: nothing acknowledged is lost',
    ({ writes, point, time }) =>
      withDirectory(async (directory) => {
        const path = join(directory, 'store.db')
        const acknowledged = createAcknowledged()
        const options = { path, writes, fault: `${point}:${time}:kill` }
        const end = await runChild({ ...options, seed }, acknowledged)
        expect(end).toMatchObject({ signal: 'SIGKILL', errors: '' })
        expect(await violations(path, acknowledged)).toEqual([])
        if (time === 1) return
        // The same store, the same fault, once more: recovery must not depend on a fresh file.
        await runChild({ ...options, seed: seed + 1 }, acknowledged)
        expect(await violations(path, acknowledged)).toEqual([])
      }),
  )

  it.each(['migrate:begin', 'migrate:before-commit', 'migrate:after-commit'])(
    'at %s: the file has no schema or the whole one',
    (point) =>
      withDirectory(async (directory) => {
        const path = join(directory, 'store.db')
        const acknowledged = createAcknowledged()
        const end = await runChild({ path, seed, fault: `${point}:1:kill` }, acknowledged)
        expect(end.signal).toBe('SIGKILL')
        const next = await runChild({ path, seed, mode: 'steady' }, acknowledged)
        expect(next).toMatchObject({ status: 0, errors: '' })
        expect(await violations(path, acknowledged)).toEqual([])
      }),
  )

  it.each(['erase:before-rewrite', 'erase:after-rewrite', 'erase:before-confirm'])(
    'at %s: what was begun is finished when the file is opened again',
    (point) =>
      withDirectory(async (directory) => {
        const path = join(directory, 'store.db')
        const acknowledged = createAcknowledged()
        const options = { path, seed, mode: 'erase', fault: `${point}:2:kill` } as const
        expect((await runChild(options, acknowledged)).signal).toBe('SIGKILL')
        expect(acknowledged.erased.size).toBe(1)
        expect(await violations(path, acknowledged)).toEqual([])
        // The second erasure was not acknowledged, but begun: it is complete now.
        expect(acknowledged.erased.size).toBe(2)
        expect(filesWithErased(directory, acknowledged)).toEqual([])
      }),
  )

  it('at random, again and again on one store: nothing acknowledged is lost', () =>
    withDirectory(async (directory) => {
      const path = join(directory, 'store.db')
      const random = createRandom(seed)
      const acknowledged = createAcknowledged()
      for (let kill = 0; kill < 5; kill++) {
        const killAfterLines = integer(random, [2, 400])
        const end = await runChild({ path, seed: seed + kill, killAfterLines }, acknowledged)
        expect(end).toMatchObject({ signal: 'SIGKILL', errors: '' })
        expect(await violations(path, acknowledged)).toEqual([])
      }
      expect(countAcknowledged(acknowledged)).toBeGreaterThan(5)
    }))
})
