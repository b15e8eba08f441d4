import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { windowOf } from './window.ts'

const prices = { read: 0.1, write: 1.25 }

describe('the window of a cache-aware view', () => {
  test('[EC2] a short conversation is left alone; a long one carries the square root of its length', () => {
    expect(windowOf({ totalTokens: 5000, steps: 12, prices })).toEqual({ low: 5800, high: 11_392 })
    expect(windowOf({ totalTokens: 40_000, steps: 100, prices }).low).toBe(9000)
    expect(windowOf({ totalTokens: 400_000, steps: 480, prices }).low).toBe(28_460)
  })

  test('[EC2] what four steps bring stays, where steps bring much', () => {
    const early = windowOf({ totalTokens: 35_000, steps: 5, prices })
    expect(early.low).toBe(28_000)
    expect(early.high).toBeGreaterThan(35_000)
    expect(windowOf({ totalTokens: 35_000, steps: 80, prices }).low).toBe(8419)
  })

  test('[EC2] the dearer a rewrite is against a read, the longer it waits', () => {
    const at = (read: number, write: number): number =>
      windowOf({ totalTokens: 100_000, steps: 200, prices: { read, write } }).high
    expect(at(0.5, 1)).toBeLessThan(at(0.1, 1.25))
    expect(at(0.1, 1.25)).toBeLessThan(at(0.02, 1))
  })

  test('[EC2] a limit holds both marks, with room between them', () => {
    expect(windowOf({ totalTokens: 1e7, steps: 9000, prices, limit: 10_000 })).toEqual({
      low: 5000,
      high: 10_000,
    })
  })

  test('[EC6] nothing is folded below `least`, and what stays grows with it', () => {
    const input = { totalTokens: 40_000, steps: 100, prices }
    const usual = windowOf(input)
    expect(windowOf({ ...input, least: usual.high })).toEqual(usual)
    const later = windowOf({ ...input, least: 60_000 })
    expect(later.high).toBe(60_000)
    expect(later.low / usual.low).toBeCloseTo(60_000 / usual.high, 2)
    const limited = windowOf({ ...input, least: 60_000, limit: 30_000 })
    expect(limited.high).toBe(30_000)
    expect(limited.low).toBeLessThanOrEqual(15_000)
  })

  test('[EC2] the marks are ordered and finite for any conversation and prices', () => {
    fc.assert(
      fc.property(
        fc.nat(1e9),
        fc.nat(1e6),
        fc.double({ min: 0, max: 2, noNaN: true }),
        fc.double({ min: 0, max: 3, noNaN: true }),
        (totalTokens, steps, read, write) => {
          const { low, high } = windowOf({ totalTokens, steps, prices: { read, write } })
          expect(low).toBeGreaterThan(0)
          expect(high).toBeGreaterThan(low - 1)
          expect(Number.isFinite(high)).toBe(true)
        },
      ),
    )
  })
})
