import { expect, it } from 'vitest'
import { describeStore } from '../../testing/store-suite.ts'
import { messages } from '../../testing/store-suite-data.ts'
import { memoryStore } from './index.ts'

describeStore('memory', async () => {
  const store = memoryStore()
  return { store, cleanup: () => store.close() }
})

it('a clock that goes backwards does not make a thread younger than it was', async () => {
  const times = [5000, 4000, 6000]
  const store = memoryStore({ now: () => times.shift() ?? 0 })
  const key = { tenant: 'acme', thread: 'a' }
  await store.append(key, messages(1, 1), 0)
  await store.append(key, messages(2, 1), 1)
  expect(await store.info(key)).toMatchObject({ createdAt: 5000, updatedAt: 5000 })
  await store.append(key, messages(3, 1), 2)
  expect(await store.info(key)).toMatchObject({ createdAt: 5000, updatedAt: 6000 })
})
