import { describe, expect, test } from 'vitest'
import { type BreakInput, findBreak } from './breaks.ts'

const prices = { read: 0.1, write: 1.25, ttlMs: 300_000, coldMs: 300_000, minimumTokens: 1024 }
const warm: BreakInput = {
  before: { input: 20_000, cacheRead: 18_000, cacheWrite: 2000 },
  now: { input: 21_000, cacheRead: 20_000, cacheWrite: 1000 },
  idleMs: 1000,
  prices,
  changed: {},
}
const missed = { input: 21_000, cacheRead: 0, cacheWrite: 21_000 }

describe('finding a break of the cache', () => {
  test('[EC5] a request that reads what the one before wrote breaks nothing', () => {
    expect(findBreak(warm)).toBeUndefined()
    const blocks = { ...warm, now: { input: 21_000, cacheRead: 17_500, cacheWrite: 3500 } }
    expect(findBreak(blocks)).toBeUndefined()
  })

  test.each([
    ['model', { changed: { model: true, edit: true } }],
    ['tools', { changed: { tools: true, edit: true } }],
    ['system', { changed: { system: true } }],
    ['parameters', { changed: { parameters: true } }],
    ['edit', { changed: { edit: true } }],
    ['ttl', { idleMs: 301_000 }],
    ['routing', {}],
  ] as const)('[EC5] a miss is put down to %s', (cause, difference) => {
    const found = findBreak({ ...warm, now: missed, ...difference })
    expect(found).toEqual({ cause, lost: 20_000, cost: expect.closeTo(23_000, 6) })
  })

  test('[EC9] what the provider says of a miss stands over what can be inferred', () => {
    const told = { cause: 'tools', word: 'tools_changed', tokens: 4000 } as const
    const found = { cause: 'tools', lost: 4000, cost: expect.closeTo(4600, 6), told: told.word }
    expect(findBreak({ ...warm, now: missed, changed: { edit: true }, told })).toEqual(found)
    // A small loss, too, and one of which no count tells.
    expect(findBreak({ ...warm, told })).toEqual(found)
    const uncounted = { cause: 'system', word: 'system_changed' } as const
    expect(findBreak({ ...warm, now: missed, told: uncounted })).toMatchObject({ lost: 20_000 })
    expect(findBreak({ ...warm, told: { ...told, tokens: 0 } })).toBeUndefined()
  })

  test('[EC5] a part that was read without any change has an unknown cause', () => {
    const partly = { input: 21_000, cacheRead: 5000, cacheWrite: 16_000 }
    expect(findBreak({ ...warm, now: partly })).toMatchObject({ cause: 'unknown', lost: 15_000 })
  })

  test('[EC5] nothing is said of providers without cache numbers, nor of prompts too short for one', () => {
    const silent = { input: 20_000, cacheRead: 0, cacheWrite: 0 }
    expect(findBreak({ ...warm, before: silent, now: { ...silent } })).toBeUndefined()
    const short = { input: 900, cacheRead: 0, cacheWrite: 900 }
    expect(findBreak({ ...warm, before: short, now: short })).toBeUndefined()
  })
})
