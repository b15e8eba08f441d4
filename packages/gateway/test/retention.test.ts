import { eraseOlderThan, memoryStore } from 'oriel'
import { describe, expect, it } from 'vitest'
import { createGateway, type Gateway } from '../src/index.ts'

type Message = Record<string, unknown>

async function ask(
  gateway: Gateway,
  messages: readonly Message[],
): Promise<{ thread: string | null; answer: Message }> {
  const response = await gateway.fetch(
    new Request('http://localhost/v1/chat/completions', {
      method: 'POST',
      headers: { authorization: 'Bearer a-callers-own-credential' },
      body: JSON.stringify({ model: 'oriel-demo', messages }),
    }),
  )
  const { choices } = (await response.json()) as { choices: { message: Message }[] }
  await gateway.settled()
  return { thread: response.headers.get('x-oriel-thread'), answer: choices[0]?.message ?? {} }
}

describe('retention by age behind the gateway', () => {
  it('[PG10] erases conversations, and the gateway still lists and continues those that come later', async () => {
    const store = memoryStore()
    await ask(createGateway({ store }), [{ role: 'user', content: 'An old one.' }])
    const now = (): number => Date.now() + 1000
    const { threads } = await eraseOlderThan({ store, maxAgeMs: 0, now })
    expect(threads).toHaveLength(1)
    const hello = { role: 'user', content: 'A new one.' }
    const { thread, answer } = await ask(createGateway({ store }), [hello])
    const again = createGateway({ store })
    const next = await ask(again, [hello, answer, { role: 'user', content: 'And more.' }])
    expect(next.thread).toBe(thread)
    const list = await again.fetch(new Request('http://localhost/api/threads'))
    expect(await list.json()).toMatchObject({ threads: [{ id: thread }] })
  })
})
