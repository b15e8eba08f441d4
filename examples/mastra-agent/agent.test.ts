import { memoryStore, openThread } from 'oriel'
import { expect, it } from 'vitest'
import { createSupportAgent } from './agent.ts'
import { resultsIn, scriptedModel } from './scripted-model.ts'

it('shows the newest tickets, gives an older one back, and keeps all of them', async () => {
  const store = memoryStore()
  const { model, prompts } = scriptedModel()
  const ask = await createSupportAgent({ model, store, threadId: 'desk' })
  expect(await ask('Read the tickets 1 to 8.')).toBe('I have read eight tickets.')
  const shown = resultsIn(prompts.at(-1) ?? [])
  expect(shown.map((text) => text.startsWith('[Omitted'))).toEqual([
    ...Array(5).fill(true),
    ...Array(3).fill(false),
  ])
  expect(await ask('With which code was ticket 2 closed?')).toBe('K-14')
  const log = await (await openThread({ id: 'desk', store })).log()
  const results = log.filter((entry) => entry.type === 'message' && entry.role === 'tool')
  const whole = results.filter((entry) => JSON.stringify(entry).includes('writes line 59'))
  expect(whole.length).toBe(8)
  expect((await store.list('default')).map(({ thread }) => thread)).toEqual(['desk'])
  expect(log.filter(({ type }) => type === 'usage').length).toBe(prompts.length)
})
