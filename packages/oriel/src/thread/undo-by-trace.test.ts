import { expect, it } from 'vitest'
import { memoryStore } from '../stores/memory/index.ts'
import { openThread } from './thread.ts'

const round = (id: string) => [
  {
    role: 'assistant',
    tool_calls: [{ id, type: 'function', function: { name: 'read', arguments: '{}' } }],
  },
  { role: 'tool', tool_call_id: id, content: `text of ${id} `.repeat(50) },
]

it('[T45] an id of the trace takes back the change that it names, and no other', async () => {
  const policy = { toolResults: { strategy: 'keepOne', cutoff: 0 } } as const
  const thread = await openThread({ store: memoryStore(), policy })
  await thread.append({ role: 'user', content: 'Read.' })
  for (const id of ['a', 'b', 'c']) await thread.append(round(id), { format: 'openai-chat' })
  const { trace } = await thread.view()
  expect(trace).toHaveLength(2)
  await thread.undo(trace[0]?.id ?? '')
  const view = await thread.view()
  expect(view.trace.map(({ id }) => id)).toEqual([trace[1]?.id])
  expect(JSON.stringify(view.messages)).toContain('text of a')
})

it('[T45] of a message that was dropped, the drop is taken back', async () => {
  const thread = await openThread({ store: memoryStore(), policy: { history: { length: 1 } } })
  await thread.append(['one', 'two', 'three'].map((content) => ({ role: 'user', content })))
  const { trace } = await thread.view()
  expect(trace).toHaveLength(2)
  await thread.undo(trace[0]?.id ?? '')
  expect((await thread.view()).messages).toContainEqual({ role: 'user', content: 'one' })
})

it('[T45] an id of something that nothing changed cannot be undone', async () => {
  const thread = await openThread({ store: memoryStore() })
  const [entry] = await thread.append({ role: 'user', content: 'one' })
  await expect(thread.undo(entry?.id ?? '')).rejects.toMatchObject({ code: 'cannot-undo' })
})
