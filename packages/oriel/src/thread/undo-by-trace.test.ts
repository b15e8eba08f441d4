import { describe, expect, it } from 'vitest'
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

describe('why a block looks as it does', () => {
  const policy = { toolResults: { strategy: 'keepRecent', max: 1, cutoff: 0 } } as const
  const exchange = (id: string) => [
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id, type: 'function', function: { name: 'run', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: id, content: `${id} `.repeat(300) },
  ]

  it('[T46] is told by the trace, the live edits and explain, with ids that undo takes', async () => {
    const thread = await openThread({ id: 't', store: memoryStore(), policy })
    const history = [{ role: 'user', content: 'go' }, ...exchange('a'), ...exchange('b')]
    const entries = await thread.append(history, { format: 'openai-chat' })
    await thread.append([{ role: 'assistant', content: 'done' }], { format: 'openai-chat' })
    const [change] = (await thread.view()).trace
    const [edit] = await thread.edits()
    expect(change).toMatchObject({ rule: 'toolResults', form: 'omitted', edit: edit?.id })
    expect(await thread.explain(change?.id as string)).toEqual({
      id: change?.id,
      index: 2,
      form: 'omitted',
      rule: 'toolResults',
      reason: change?.reason,
      edit: edit?.id,
      isPinned: false,
      isExcluded: false,
      tokensBefore: change?.tokensBefore,
      tokensAfter: change?.tokensAfter,
      edits: [edit],
    })
    expect((await thread.view()).trace).toEqual([change])
    await thread.undo(change?.edit as string)
    expect(await thread.explain(change?.id as string)).toMatchObject({ form: 'full', edits: [] })
    expect(await thread.edits()).toEqual([])
    await thread.exclude(entries[0]?.id as string)
    expect(await thread.explain(entries[0]?.id as string)).toMatchObject({
      form: 'dropped',
      rule: 'exclude',
      isExcluded: true,
    })
    await expect(thread.explain('e9zzz9')).rejects.toMatchObject({ code: 'not-found' })
  })

  it('[T46] names no edit where none is kept', async () => {
    const thread = await openThread({ id: 't', store: memoryStore() })
    const history = [{ role: 'user', content: 'go' }, ...exchange('a'), ...exchange('b')]
    await thread.append(history, { format: 'openai-chat' })
    const { trace } = await thread.view({ policy: { toolResults: { strategy: 'dropAll' } } })
    expect(trace.length).toBeGreaterThan(0)
    expect(trace.every((change) => change.edit === undefined)).toBe(true)
    expect(await thread.edits()).toEqual([])
  })
})
