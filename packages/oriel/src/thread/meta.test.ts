import { describe, expect, expectTypeOf, it } from 'vitest'
import type { Message, MessageEntry } from '../core/log/entry.ts'
import { withOriel } from '../integrations/ai-sdk.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { openThread } from './thread.ts'

interface Ticket {
  readonly ticket: string
  readonly rank: number
}

const message: Message<Ticket> = {
  role: 'user',
  content: 'The printer is on fire.',
  meta: { ticket: 'T-1', rank: 2 },
}

describe("the host's own data", () => {
  it('[MT1] keeps its type from append to the log and events', async () => {
    const seen: (Ticket | undefined)[] = []
    const thread = await openThread<Ticket>({
      store: memoryStore(),
      on(event) {
        if (event.type !== 'message-added') return
        expectTypeOf(event.message.meta).toEqualTypeOf<Ticket | undefined>()
        seen.push(event.message.meta)
      },
    })
    const [entry] = await thread.append(message)
    expectTypeOf(entry).toEqualTypeOf<MessageEntry<Ticket> | undefined>()
    expect(entry?.meta?.ticket).toBe('T-1')
    for await (const one of thread.log()) {
      if (one.type === 'message') expect(one.meta?.rank).toBe(2)
    }
    const logged = (await thread.log()).find((one) => one.type === 'message')
    expectTypeOf(logged?.meta).toEqualTypeOf<Ticket | undefined>()
    const fork = await thread.fork(1)
    expectTypeOf(fork).toEqualTypeOf(thread)
    expect(seen).toEqual([message.meta])
  })

  it('[MT1] does not keep a thread from the integrations', async () => {
    const thread = await openThread<Ticket>({ store: memoryStore() })
    const nothing = () => Promise.resolve({})
    const model = {
      specificationVersion: 'v3',
      provider: 'p',
      modelId: 'm',
      doGenerate: nothing,
      doStream: nothing,
    }
    expect(withOriel(model, { thread }).modelId).toBe('m')
  })

  it.each([
    [null, 'messages[0]'],
    ['hello', 'messages[0]'],
    [{ role: 'user' }, 'messages[0].content'],
    [{ role: 'king', content: 'x' }, 'messages[0].role'],
    [{ role: 'user', content: [{ type: 'text' }] }, 'messages[0].content[0].text'],
  ])('[MT2] append rejects %j, which is no message, with a path', async (wrong, path) => {
    const thread = await openThread({ store: memoryStore() })
    await expect(thread.append([wrong])).rejects.toMatchObject({ code: 'invalid-input', path })
    expect(await thread.log()).toEqual([])
  })
})
