import { describe, expect, it } from 'vitest'
import { choose, createRandom, integer, seed } from '../../../oriel/test/faults/random.ts'
import { deaths, ShortLives } from './short-lives.ts'

describe(`a gateway that dies at some write (ORIEL_SEED=${seed})`, () => {
  it('[GW71] what a client saw whole is in the log, once, and no model asks for a result that it was given', async () => {
    const random = createRandom(seed)
    const scene = await ShortLives.open()
    try {
      for (let life = 0; life < 12; life++) {
        const [writes, death] = [integer(random, [1, 90]), choose(random, deaths)]
        await scene.live(writes, death)
        expect(await scene.violations(), `life ${life}: ${death} write ${writes}`).toEqual([])
      }
    } finally {
      await scene.close()
    }
  })
})
