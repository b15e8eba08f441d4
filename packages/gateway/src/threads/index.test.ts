import { type HistoryKey, memoryStore } from 'oriel'
import { describe, expect, it } from 'vitest'
import { Background } from '../background.ts'
import { ThreadIndex } from './index.ts'

const scope = { tenant: 'acme', session: '' }
const frame = { tools: '', system: 'abc' }

function answer(key: string): HistoryKey {
  return { role: 'assistant', key, hasCall: false }
}

describe('the index of conversations', () => {
  it('[GW76] forgets what is old: of a conversation that it no longer knows it writes another answer, of others only the first', async () => {
    const store = memoryStore()
    const index = new ThreadIndex(store, new Background(() => {}))
    const add = (conversation: number, key: string): Promise<void> =>
      index.add(scope, answer(key), { root: `r${conversation}`, frame, at: 1 })
    const length = async (): Promise<number> =>
      (await store.info({ tenant: 'index:acme', thread: 'conversations' }))?.version ?? 0
    const count = 50_001
    await Promise.all(Array.from({ length: count }, (_, one) => add(one, `k${one}`)))
    const full = await length()
    expect(full).toBeGreaterThanOrEqual(count)
    await add(count - 1, 'second answer of the newest')
    expect(await length()).toBe(full)
    await add(0, 'second answer of the oldest')
    expect(await length()).toBe(full + 1)
    for (const key of ['k0', 'k5', `k${count - 1}`]) {
      const [found] = await index.find(scope, [answer(key)])
      expect(found).toEqual({ root: `r${key.slice(1)}`, frame })
    }
    expect(await index.find(scope, [answer('never')])).toEqual([])
  })
})
