import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { AdmissionQueue } from './admission.ts'

/** Enters so many calls; those that wait are promises. */
function enter(turns: AdmissionQueue, calls: number): readonly (Promise<boolean> | undefined)[] {
  return Array.from({ length: calls }, () => turns.enter())
}

describe('turns', () => {
  it('[GW75] are taken at once while few calls come', async () => {
    const turns = new AdmissionQueue({ mostMs: 500 })
    for (let turn = 0; turn < 5; turn++) {
      expect(enter(turns, 3)).toEqual([undefined, undefined, undefined])
      await setImmediate()
      await setImmediate()
    }
  })

  it('[GW75] come in the order of the calls, a few in each turn of the event loop', async () => {
    const turns = new AdmissionQueue({ mostMs: 500 })
    const begun: number[] = []
    enter(turns, 40).forEach((turn, call) => {
      if (turn === undefined) begun.push(call)
      else void turn.then(() => begun.push(call))
    })
    const steps = new Set<number>()
    while (begun.length < 40) {
      steps.add(begun.length)
      await setImmediate()
    }
    expect(begun).toEqual(Array.from({ length: 40 }, (_, call) => call))
    expect(steps.size).toBeGreaterThanOrEqual(4)
  })

  it('[GW75] are refused to nobody for a pause, however many have waited', async () => {
    let now = 0
    const turns = new AdmissionQueue({ mostMs: 500, now: () => now })
    const waiting = enter(turns, 100)
    now = 450
    expect(turns.isFull).toBe(false)
    const results = await Promise.all(waiting)
    expect(results.filter((one) => one === false)).toEqual([])
    expect(turns.isFull).toBe(false)
  })

  it('[GW75] are refused while more come than can be served, until hardly anybody waits', async () => {
    let now = 0
    const turns = new AdmissionQueue({ mostMs: 500, now: () => now })
    let refused = 0
    let late = 0
    let served = 0
    const load = async (perStep: number, steps: number): Promise<void> => {
      for (let step = 0; step < steps; step++) {
        for (let call = 0; call < perStep; call++) {
          if (turns.isFull) refused += 1
          else
            void turns.enter()?.then((isTurn) => {
              if (isTurn) served += 1
              else late += 1
            })
        }
        // A turn of the event loop takes 20 ms here.
        now += 20
        await setImmediate()
      }
    }
    await load(3, 50)
    expect({ refused, late }).toEqual({ refused: 0, late: 0 })
    await load(60, 300)
    expect(refused).toBeGreaterThan(3000)
    expect(served).toBeGreaterThan(500)
    const before = refused
    await load(0, 100)
    await load(2, 50)
    expect(refused).toBe(before)
  })

  it('[GW121] three times too many leave at least 80 % of what can be served, and none of these waits long', async () => {
    let now = 0
    const turns = new AdmissionQueue({ mostMs: 2000, now: () => now })
    // What a call costs, and what it costs to reject one: a durable call of 2 KB, as measured.
    const [servedMs, rejectedMs] = [0.8, 0.04]
    const counts = { served: 0, rejected: 0, late: 0 }
    const waits: number[] = []
    let owed = 0
    let turnMs = 1
    while (now < 20_000) {
      const before = { ...counts }
      owed += (3 * turnMs) / servedMs
      for (; owed >= 1; owed -= 1) {
        if (turns.isFull) {
          counts.rejected += 1
          continue
        }
        const since = now
        const serve = (): void => {
          counts.served += 1
          waits.push(now - since)
        }
        const turn = turns.enter()
        if (turn === undefined) serve()
        else
          void turn.then((isTurn) => {
            if (isTurn) serve()
            else counts.late += 1
          })
      }
      await setImmediate()
      turnMs =
        0.1 +
        (counts.served - before.served) * servedMs +
        (counts.rejected + counts.late - before.rejected - before.late) * rejectedMs
      now += turnMs
    }
    const capacity = now / servedMs
    expect(counts.served / capacity).toBeGreaterThan(0.8)
    expect(counts.rejected).toBeGreaterThan(capacity)
    // After the first second, in which nobody can know that it will not pass.
    const settled = waits.slice(waits.length / 10).sort((a, b) => a - b)
    expect(settled[Math.floor(settled.length * 0.99)]).toBeLessThan(300)
  })

  it('[GW75] are waited for as long as it takes where nothing is too late', async () => {
    let now = 0
    const turns = new AdmissionQueue({ mostMs: 0, now: () => now })
    const waiting = enter(turns, 50)
    now = 1e9
    expect(turns.isFull).toBe(false)
    const results = await Promise.all(waiting)
    expect(results.filter((one) => one === false)).toEqual([])
  })
})
