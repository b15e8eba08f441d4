import { describe, expect, it } from 'vitest'
import type { TimelineStep } from '../contract.ts'
import { costsOf, runningSums } from './cost.ts'

const prices = { read: 0.1, write: 1.25 }

function step(number: number, part: Partial<TimelineStep>): TimelineStep {
  return {
    step: number,
    seq: number,
    at: 0,
    format: 'openai-chat',
    tokens: { view: 0, log: 0 },
    ...part,
  }
}

const usage = (uncached: number, cacheRead = 0, cacheWrite = 0) => ({
  uncached,
  cacheRead,
  cacheWrite,
  output: 0,
})

describe('costsOf', () => {
  it('is the same with and without while the view is the log', () => {
    const steps = [
      step(1, { tokens: { view: 100, log: 100 }, usage: usage(0, 0, 100) }),
      step(2, { tokens: { view: 150, log: 150 }, usage: usage(0, 100, 50) }),
    ]
    expect(costsOf(steps, prices)).toEqual([
      { step: 1, withOriel: 125, withoutOriel: 125 },
      { step: 2, withOriel: 72.5, withoutOriel: 72.5 },
    ])
  })

  it('charges an edit that breaks the cache to us, and a lost cache to both', () => {
    const first = step(1, { tokens: { view: 100, log: 100 }, usage: usage(100, 0, 0) })
    const second = step(2, {
      tokens: { view: 50, log: 200 },
      usage: usage(50),
      cacheBreak: { cause: 'edit', lost: 0, cost: 0 },
    })
    const third = step(3, { tokens: { view: 50, log: 200 }, usage: usage(0, 50) })
    const [, broken, after] = costsOf([first, second, third], prices)
    expect(broken).toEqual({ step: 2, withOriel: 50, withoutOriel: 0.1 * 100 + 100 })
    expect(after).toEqual({ step: 3, withOriel: 5, withoutOriel: 20 })
    const [, lost] = costsOf(
      [first, { ...second, cacheBreak: { cause: 'ttl', lost: 0, cost: 0 } }, third],
      prices,
    )
    expect(lost?.withoutOriel).toBe(200)
  })

  it('knows no cache where the provider reports none, and skips steps without numbers', () => {
    const steps = [
      step(1, { tokens: { view: 10, log: 10 }, usage: usage(10) }),
      step(2, { tokens: { view: 10, log: 40 } }),
      step(3, { tokens: { view: 10, log: 60 }, usage: usage(10) }),
    ]
    expect(costsOf(steps, prices)).toEqual([
      { step: 1, withOriel: 10, withoutOriel: 10 },
      { step: 3, withOriel: 10, withoutOriel: 60 },
    ])
    expect(runningSums([10, 10])).toEqual([10, 20])
  })
})
