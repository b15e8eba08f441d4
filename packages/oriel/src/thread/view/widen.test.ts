// A window that becomes wider: what it dropped comes back, by `setPolicy` and for one view.

import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../stores/memory/index.ts'
import { openThread, type Thread } from '../thread.ts'

const turns = Array.from({ length: 6 }, (_, turn) => [
  { role: 'user', content: `question ${turn}` },
  { role: 'assistant', content: `answer ${turn}` },
]).flat()

const texts = (messages: readonly unknown[]): readonly string[] =>
  messages.map((message) => (message as { content: string }).content)

async function narrowed(options: { readonly snapshotEvery?: number } = {}): Promise<{
  thread: Thread
  reopen: () => Promise<Thread>
}> {
  const store = memoryStore()
  const history = { policy: 'lastN', length: 1 } as const
  const open = (): Promise<Thread> => openThread({ id: 't', store, ...options })
  const thread = await openThread({ id: 't', store, policy: { history }, ...options })
  for (const message of turns) {
    await thread.append([message])
    await thread.view()
  }
  expect(texts((await thread.view()).messages)).toEqual(['question 5', 'answer 5'])
  return { thread, reopen: open }
}

describe('[DA1] a wider window shows what a narrower one dropped', () => {
  it('[DA1] for good with setPolicy, as an epoch with a reason', async () => {
    const { thread, reopen } = await narrowed()
    await thread.setPolicy({ history: { policy: 'lastN', length: 3 } })
    const view = await thread.view()
    expect(texts(view.messages)).toEqual(texts(turns.slice(-6)))
    expect(view.epoch).toMatchObject({ cause: 'policy' })
    expect(view.epoch.applied).toBeGreaterThan(0)
    await thread.setPolicy({ history: { policy: 'all' } })
    expect(texts((await thread.view()).messages)).toEqual(texts(turns))
    expect((await thread.view()).epoch.applied).toBe(0)
    expect(texts((await (await reopen()).view()).messages)).toEqual(texts(turns))
    // A narrower one drops them again: nothing was vetoed.
    await thread.setPolicy({ history: { policy: 'none' } })
    expect(texts((await thread.view()).messages)).toEqual(['question 5', 'answer 5'])
  })

  it('[DA1] for one view with a policy of its own, and the log is as it was', async () => {
    const { thread } = await narrowed()
    const all = await thread.view({ policy: { history: { policy: 'all' } } })
    expect(texts(all.messages)).toEqual(texts(turns))
    expect(all.trace).toEqual([])
    const some = await thread.view({ policy: { history: { length: 2 } } })
    expect(texts(some.messages)).toEqual(texts(turns.slice(-4)))
    const { exact } = await thread.requestAt(7)
    expect(exact).toBe(true)
    expect(texts((await thread.view()).messages)).toEqual(['question 5', 'answer 5'])
    for await (const { type } of thread.log()) expect(type).not.toBe('undo')
  })

  it('[DA1] after a snapshot without the messages, also for a dry run and a resent history', async () => {
    const { thread, reopen } = await narrowed({ snapshotEvery: 1 })
    await thread.settled()
    const policy = { history: { policy: 'all' } } as const
    const dry = await (await reopen()).view({ policy, dryRun: true })
    expect(texts(dry.messages)).toEqual(texts(turns))
    const resent = [...turns, { role: 'user', content: 'question 6' }]
    const { view } = await (await reopen()).request(resent, { policy })
    expect(texts(view.messages)).toEqual(texts(resent))
    const other = await reopen()
    await other.setPolicy(policy)
    expect(texts((await other.view({ dryRun: true })).messages)).toEqual(texts(resent))
    expect(texts((await other.view()).messages)).toEqual(texts(resent))
  })

  it('[DA1] a wider cap on messages, and system messages that are preserved again', async () => {
    const store = memoryStore()
    const thread = await openThread({ id: 't', store })
    const system = { role: 'system', content: 'be brief' }
    await thread.setPolicy({ history: { maxMessages: 2, preserveSystemMessages: false } })
    await thread.append([system, ...turns])
    expect(texts((await thread.view()).messages)).toEqual(['question 5', 'answer 5'])
    await thread.setPolicy({ history: { maxMessages: 4 } })
    expect(texts((await thread.view()).messages)).toEqual(['be brief', ...texts(turns.slice(-4))])
    await thread.setPolicy({})
    expect(texts((await thread.view()).messages)).toEqual(['be brief', ...texts(turns)])
  })

  it('[DA1] what was dropped before a checkpoint stays with it', async () => {
    const long = turns.map(({ role, content }) => ({ role, content: content + ' more'.repeat(50) }))
    const history = { policy: 'lastN', length: 4 } as const
    const compaction = { auto: false, keepRecent: 2, keepRecentTokens: 0 }
    const thread = await openThread({
      id: 't',
      store: memoryStore(),
      policy: { history, compaction },
    })
    await thread.append(long)
    await thread.view()
    await thread.compact()
    await thread.setPolicy({ history: { length: 1 }, compaction })
    await thread.view()
    await thread.setPolicy({ history: { policy: 'all' }, compaction })
    const shown = texts((await thread.view()).messages).map((text) => text.slice(0, 10))
    expect(shown).toEqual(['question 2', '[Previous ', 'question 5', 'answer 5 m'])
  })
})

it('[I2] a view that would be empty is an error, in a thread as in `project`', async () => {
  const thread = await openThread({
    id: 't',
    store: memoryStore(),
    policy: { history: { policy: 'none' } },
  })
  const messages = [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: 'hello' },
    { role: 'user', content: ' ' },
  ]
  await thread.append(messages, { format: 'anthropic' })
  const refused = { code: 'cannot-project', message: expect.stringContaining('none is left') }
  await expect(thread.view({ format: 'anthropic' })).rejects.toMatchObject(refused)
  await expect(thread.view({ format: 'anthropic', dryRun: true })).rejects.toMatchObject(refused)
  expect((await thread.view()).messages).toEqual([{ role: 'user', content: ' ' }])
})
