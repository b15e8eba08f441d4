import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../stores/memory/index.ts'
import { openThread } from '../thread.ts'

const user = (content: string) => ({ role: 'user', content })
const said = (content: string) => ({ role: 'assistant', content })

const start = [user('one'), said('a'), user('two')]
const edited = [user('one'), said('a'), user('other')]

describe('branches of one conversation', () => {
  it('[Y6] are threads with ids of their own, which no sync of another object changes', async () => {
    const thread = await openThread({ id: 't', store: memoryStore() })
    const first = await thread.request(start)
    const second = await thread.sync(edited)
    expect([first.branch.id, second.branch.id, thread.id]).toEqual(['t', second.thread, thread.id])
    expect(second.isForked).toBe(true)
    await first.branch.append([said('b')])
    await second.branch.append([said('c')])
    expect((await first.branch.view()).messages).toEqual([...start, said('b')])
    expect((await second.branch.view()).messages).toEqual([...edited, said('c')])
    // What one object does is done on the branch, whichever object looks at it.
    expect((await thread.view()).messages).toEqual([...edited, said('c')])
    expect(await thread.match([...start, said('b')])).toEqual({
      thread: 't',
      matched: 4,
      behind: 0,
    })
  })

  it('[Y6] are found by their ids, those that other objects made too', async () => {
    const store = memoryStore()
    const thread = await openThread({ id: 't', store })
    await thread.sync(start)
    const elsewhere = await openThread({ id: 't', store })
    const fork = await elsewhere.sync(edited)
    const found = await thread.branch(fork.thread)
    expect((await found?.view())?.messages).toEqual(edited)
    expect(thread.id).toBe('t')
    const stranger = await openThread({ id: 'stranger', store })
    await stranger.append(user('hello'))
    expect(await thread.branch('stranger')).toBeUndefined()
  })

  it('[Y3] [PG9] that were erased are no place for a history, and stop none', async () => {
    const store = memoryStore()
    const thread = await openThread({ id: 't', store })
    await thread.sync(start)
    const fork = await thread.sync(edited)
    const other = await fork.branch.fork(3)
    await thread.sync(start)
    await store.erase({ tenant: 'default', thread: fork.thread })
    await store.erase({ tenant: 'default', thread: other.id })
    expect(await thread.sync([...start, said('b')])).toMatchObject({ thread: 't', appended: 1 })
    const again = await thread.request(edited)
    expect(again).toMatchObject({ isForked: true, matched: 2 })
    expect([fork.thread, other.id, 't']).not.toContain(again.thread)
    await expect(fork.branch.view()).rejects.toMatchObject({ code: 'not-found' })
  })

  it('[Y7] a checkpoint that is asked for in an exclusive task waits for no other task', async () => {
    const thread = await openThread({
      id: 't',
      store: memoryStore(),
      summarize: async () => 'Sum.',
    })
    await thread.sync(
      Array.from({ length: 40 }, (_, at) => (at % 2 ? said : user)(`${at} `.repeat(99))),
    )
    const { tokensSaved } = await thread.exclusive((own) => own.compact())
    expect(tokensSaved).toBeGreaterThan(0)
  })

  it('[Y3] take the policy along that is in force, there and back', async () => {
    const thread = await openThread({ id: 't', store: memoryStore() })
    await thread.setPolicy({ history: { length: 9 } })
    const { branch: root } = await thread.sync(start)
    const { branch: fork } = await thread.sync(edited)
    expect(fork.policy).toEqual({ history: { length: 9 } })
    await thread.setPolicy({ history: { length: 4 } })
    expect(root.policy).toEqual({ history: { length: 9 } })
    await thread.sync(start)
    expect([thread.id, thread.policy]).toEqual(['t', { history: { length: 4 } }])
    const log = await root.log()
    const logged = log.flatMap((entry) =>
      entry.type === 'setting' && entry.name === 'policy' ? [entry.value] : [],
    )
    expect(logged).toEqual([{ history: { length: 9 } }, { history: { length: 4 } }])
  })

  it('[Y7] no operation comes between those of an exclusive task, on whichever branch', async () => {
    const thread = await openThread({ id: 't', store: memoryStore() })
    const { branch } = await thread.sync(start)
    const gate = Promise.withResolvers<void>()
    const task = branch.exclusive(async (own) => {
      await own.append([said('b')])
      await gate.promise
      const { messages } = await own.view()
      return messages.length
    })
    const later = [thread.append([user('late')]), branch.append([user('later')])]
    await setImmediate()
    gate.resolve()
    expect(await task).toBe(4)
    await Promise.all(later)
    expect((await thread.view()).messages).toHaveLength(6)
  })

  it('[Y7] operations of an exclusive task run in their order, also where it does not wait for them', async () => {
    const thread = await openThread({ id: 't', store: memoryStore() })
    await thread.exclusive(async (own) => {
      const texts = ['a', 'b', 'c', 'd']
      for (const text of texts) void own.append([user(text)])
    })
    const { messages } = await thread.view()
    expect(messages).toEqual([user('a'), user('b'), user('c'), user('d')])
  })

  it('[Y7] what an exclusive task hands out queues again when it is over', async () => {
    const thread = await openThread({ id: 't', store: memoryStore() })
    const { own, branch } = await thread.exclusive(async (inside) => {
      const { branch: made } = await inside.request(start)
      await made.append([said('b')])
      return { own: inside, branch: made }
    })
    const order: string[] = []
    const gate = Promise.withResolvers<void>()
    const task = thread.exclusive(async () => {
      await gate.promise
      order.push('task')
    })
    const later = [own, branch].map(async (one) => {
      await one.append([user('late')])
      order.push('append')
    })
    await setImmediate()
    gate.resolve()
    await Promise.all([task, ...later])
    expect(order).toEqual(['task', 'append', 'append'])
  })

  it('[Y7] an exclusive task that fails lets the next one run, and leaves the thread on its branch', async () => {
    const thread = await openThread({ id: 't', store: memoryStore() })
    await thread.sync(start)
    const failing = thread.exclusive(async (own) => {
      await own.sync(edited)
      throw new Error('no')
    })
    await expect(failing).rejects.toThrow('no')
    expect(thread.id).toBe('t')
    expect((await thread.view()).messages).toEqual(start)
  })
})
