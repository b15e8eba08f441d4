import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { LogBackend } from '../backend.ts'
import { Searcher } from './searcher.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** When the threads that grew are looked at, in milliseconds. */
function watched(): { readonly searcher: Searcher; readonly looks: number[] } {
  const looks: number[] = []
  const unindexed = async (): Promise<readonly never[]> => {
    looks.push(performance.now())
    return []
  }
  const backend = { search: { unindexed } } as unknown as LogBackend
  return { searcher: new Searcher(backend, () => false), looks }
}

const key = { tenant: 'acme', thread: 't' }

it('[RK10] appends that follow each other are indexed when they pause', async () => {
  const { searcher, looks } = watched()
  const begun = performance.now()
  for (let append = 0; append < 5; append++) {
    searcher.grew(key)
    await vi.advanceTimersByTimeAsync(900)
  }
  expect(looks).toEqual([])
  await vi.advanceTimersByTimeAsync(100)
  expect(looks.map((at) => at - begun)).toEqual([4600])
  await searcher.close()
})

it('[RK10] appends that never pause are indexed after ten seconds', async () => {
  const { searcher, looks } = watched()
  const begun = performance.now()
  for (let append = 0; append < 120; append++) {
    searcher.grew(key)
    await vi.advanceTimersByTimeAsync(100)
  }
  expect(looks.map((at) => Math.round((at - begun) / 1000))).toEqual([10])
  await searcher.close()
})
