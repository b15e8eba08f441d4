import { afterEach, describe, expect, it, vi } from 'vitest'
import { memoryStore } from '../../stores/memory/index.ts'
import type { Lease } from '../../stores/store.ts'
import { singleFlight } from './single-flight.ts'

afterEach(() => {
  vi.useRealTimers()
})

const key = { tenant: 'default', thread: 't' }
const job = {
  kind: 'checkpoint',
  text: 'Much.',
  prompt: 'Summarize.',
  targetChars: 100,
  meta: {},
} as never

describe('singleFlight', () => {
  it('[PG6] holds its lease for as long as the model takes, however long that is', async () => {
    vi.useFakeTimers()
    const store = memoryStore()
    const names: string[] = []
    const watched = {
      ...store,
      info: () => Promise.resolve(undefined),
      lease: (...args: Parameters<NonNullable<typeof store.lease>>): Promise<Lease | undefined> => {
        names.push(args[1].name)
        return store.lease?.(...args) ?? Promise.resolve(undefined)
      },
    }
    const { promise, resolve } = Promise.withResolvers<string>()
    const summarize = singleFlight(() => promise, { store: watched as never, key })
    const result = summarize(job)
    await vi.advanceTimersByTimeAsync(60_000)
    const again = { name: names[0] as string, ttlMs: 1 }
    expect(await store.lease?.(key, again)).toBeUndefined()
    resolve('A summary.')
    expect(await result).toBe('A summary.')
    await vi.advanceTimersByTimeAsync(2000)
    expect(await store.lease?.(key, again)).toBeDefined()
  })
})
