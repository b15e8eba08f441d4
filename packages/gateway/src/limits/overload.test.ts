import { describe, expect, it } from 'vitest'
import { Background } from '../background.ts'
import { OverloadDetector } from './overload.ts'

const background = new Background(() => {})

describe('pressure', () => {
  /** Looks after each of these delays, and tells after each whether it is high. */
  const after = (mostMs: number, delays: readonly number[]) => {
    let now = 0
    const pressure = new OverloadDetector({ mostMs, background, now: () => now })
    const seen = [pressure.isHigh]
    for (const delay of delays) {
      now += delay
      pressure.sample()
      seen.push(pressure.isHigh)
    }
    pressure.close()
    return seen.slice(1)
  }

  it('[GW61] is high when the process comes too late again and again, and not after one long task', () => {
    expect(after(200, [50, 60, 1500, 50, 50])).toEqual([false, false, false, false, false])
    expect(after(200, [50, 400, 400, 400, 50, 50])).toEqual([
      false,
      false,
      true,
      true,
      false,
      false,
    ])
  })

  it('[GW61] is high when not one call of many was sent on in time, for a moment', () => {
    let now = 0
    const pressure = new OverloadDetector({ mostMs: 200, background, now: () => now })
    const calls = (...times: readonly number[]) => {
      for (const ms of times) pressure.noteDuration(ms)
      now += 250
      pressure.noteDuration(0)
      return pressure.isHigh
    }
    expect(calls(900, 3, 800, 700, 900)).toBe(false)
    expect(calls(900)).toBe(false)
    expect(calls(900, 700, 800)).toBe(false)
    now += 250
    for (const ms of [900, 700, 800, 600]) pressure.noteDuration(ms)
    now += 250
    pressure.noteDuration(1)
    expect(pressure.isHigh).toBe(true)
    now += 250
    expect(pressure.isHigh).toBe(false)
    pressure.close()
  })

  it('[GW61] is never high where that is off', () => {
    expect(after(0, [5000, 5000, 5000])).toEqual([false, false, false])
  })
})
