// kill -9 of a gateway that serves six clients: what a client saw whole is kept, and it continues where it was (RELIABILITY F1, issue of the log's promise).

import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { withDirectory } from '../../../oriel/test/faults/harness.ts'
import { choose, createRandom, integer, seed } from '../../../oriel/test/faults/random.ts'
import { doctor, Scene } from './kill-harness.ts'

describe(`kill -9 of the gateway (ORIEL_SEED=${seed})`, () => {
  it('[GW71] what a client saw whole is in the log with its history, once; asked again, it goes on in its thread', () =>
    withDirectory(async (directory) => {
      const random = createRandom(seed)
      const place = join(directory, 'oriel.db')
      const scene = await Scene.open(place)
      try {
        const lives = [
          'before-commit:late',
          'before-commit:late',
          'after-commit:kill',
          'before-commit:late',
          'before-acknowledge:late',
        ].map((fault) => ({
          fault: fault.replace(':', `:${integer(random, [2, 25])}:`),
          writes: choose(random, ['auto', 'worker'] as const),
        }))
        for (const life of [...lives, { killAfterMs: integer(random, [50, 400]) }]) {
          await scene.live(life)
          expect(await scene.violations()).toEqual([])
        }
        const before = scene.answered
        await scene.live({ answers: 3 })
        expect(scene.answered).toBe(before + 3 * scene.conversations.length)
        expect(await scene.violations()).toEqual([])
        expect(await doctor(place)).toBeUndefined()
        expect(scene.errors).toBe('')
      } finally {
        await scene.close()
      }
    }))
})
