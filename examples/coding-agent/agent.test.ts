import { memoryStore, openThread } from 'oriel'
import { expect, it } from 'vitest'
import { work } from './agent.ts'
import { ScriptedModel } from './scripted-model.ts'

it('shows bounded outputs and placeholders, and keeps every line', async () => {
  const store = memoryStore()
  const model = new ScriptedModel()
  const report = await work('Which tests fail?', { model, store, threadId: 'task' })
  expect(report).toContain('linker fails at line 42')
  const last = model.shown.at(-1) ?? []
  const shown = last.map(({ text }) => text)
  expect(shown.filter((text) => text.startsWith('[Omitted')).length).toBe(2)
  expect(Math.max(...shown.map((text) => text.split('\n').length))).toBeLessThan(50)
  const thread = await openThread({ id: 'task', store })
  const log = await thread.log()
  const lines = log.flatMap((entry) =>
    entry.type === 'message' && entry.role === 'tool'
      ? [JSON.stringify(entry.blocks).split('\\n').length]
      : [],
  )
  expect(lines).toEqual([3001, 3001, 3001, 3001])
})
