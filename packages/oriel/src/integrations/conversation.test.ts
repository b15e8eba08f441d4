import { expect, it } from 'vitest'
import { memoryStore } from '../stores/memory/index.ts'
import { openThread } from '../thread/thread.ts'
import { threadConversation } from './conversation.ts'

const user = (content: string) => ({ role: 'user', content })
const said = (content: string) => ({ role: 'assistant', content })
const call = { format: 'openai-chat' } as const
const usage = { uncached: 10, cacheRead: 0, cacheWrite: 0, output: 2 }

it('[Y6] an answer goes to the branch that was asked, wherever another call took the thread meanwhile', async () => {
  const thread = await openThread({ id: 't', store: memoryStore() })
  const conversation = threadConversation(thread, { sends: 'all' })
  const start = [user('one'), said('a')]
  const first = await conversation.begin([...start, user('two')], call)
  const second = await conversation.begin([...start, user('other')], call)
  const fork = thread.id
  expect(fork).not.toBe('t')
  await first.record({ messages: [said('b')], usage })
  await second.record({ messages: [said('c')], usage })
  expect((await thread.view()).messages).toEqual([...start, user('other'), said('c')])
  const root = await thread.branch('t')
  expect((await root?.view())?.messages).toEqual([...start, user('two'), said('b')])
  const log = (await root?.log()) ?? []
  expect(log.filter(({ type }) => type === 'usage')).toHaveLength(1)
})
