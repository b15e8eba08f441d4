import { describe, expect, it } from 'vitest'
import { Jobs } from './jobs.ts'

const never = (): Promise<never> => new Promise(() => undefined)

describe('jobs', () => {
  it('[J1] one key runs once at a time, and again afterwards', async () => {
    const jobs = new Jobs()
    let runs = 0
    const job = async (): Promise<number> => {
      runs += 1
      return runs
    }
    expect(await Promise.all([jobs.run('a', job), jobs.run('a', job)])).toEqual([1, 1])
    expect(await jobs.run('a', job)).toBe(2)
  })

  it('[J1] no more run at once than allowed', async () => {
    const jobs = new Jobs({ concurrency: 2 })
    let active = 0
    let most = 0
    const job = async (): Promise<void> => {
      active += 1
      most = Math.max(most, active)
      await Promise.resolve()
      await Promise.resolve()
      active -= 1
    }
    await Promise.all(Array.from({ length: 9 }, (_, n) => jobs.run(`k${n}`, job)))
    expect(most).toBe(2)
  })

  it('[J1] one that takes too long is aborted, and its place is free again', async () => {
    const jobs = new Jobs({ concurrency: 1, timeoutMs: 5 })
    let signal: AbortSignal | undefined
    const late = jobs.run('late', (given) => {
      signal = given
      return never()
    })
    await expect(late).rejects.toMatchObject({ code: 'job-failed' })
    expect(signal?.aborted).toBe(true)
    expect(await jobs.run('next', async () => 'ran')).toBe('ran')
  })

  it('[J2] the signal of one that succeeded is not aborted; of one that threw it is', async () => {
    const jobs = new Jobs()
    const signals: AbortSignal[] = []
    const run = (key: string, isGood: boolean): Promise<unknown> =>
      jobs.run(key, async (signal) => {
        signals.push(signal)
        if (!isGood) throw new Error('500')
      })
    await run('good', true)
    await expect(run('bad', false)).rejects.toMatchObject({ code: 'job-failed' })
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, true])
  })

  it('[J1] one that waits for its turn fails at its deadline, and never begins', async () => {
    const jobs = new Jobs({ concurrency: 1 })
    const first = Promise.withResolvers<string>()
    const running = jobs.run('first', () => first.promise)
    let began = 0
    const late = jobs.run('late', async () => ++began, { until: performance.now() + 5 })
    await expect(late).rejects.toMatchObject({ details: { failure: 'timeout' } })
    const next = jobs.run('next', async () => ++began)
    first.resolve('done')
    expect([await running, await next]).toEqual(['done', 1])
  })

  it('[J1] one that throws is an error with a code, and the cause', async () => {
    const cause = new Error('429')
    const failed = new Jobs().run('x', () => Promise.reject(cause))
    await expect(failed).rejects.toMatchObject({ code: 'job-failed', cause })
  })
})
