import { memoryStore, openThread } from 'oriel'
import { expect, it } from 'vitest'
import { answer } from './agent.ts'
import { scriptedModel } from './scripted-model.ts'

it('answers over three runs; results expire, and the model gets back the one it asks for', async () => {
  const store = memoryStore()
  const model = scriptedModel()
  const run = { model, store, threadId: 'customer' }
  expect(await answer('Where is my refund?', run)).toContain('five days')
  expect(await answer('And my parcel?', run)).toContain('three')
  expect(await answer('How was that with the form?', run)).toContain('R-17')
  const last = JSON.stringify(model.doGenerateCalls.at(-1)?.prompt)
  expect(last).toContain('[Compacted: showing first')
  const log = await (await openThread({ id: 'customer', store })).log()
  const originals = log.flatMap((entry) =>
    entry.type === 'message' && entry.role === 'tool' ? [JSON.stringify(entry.blocks).length] : [],
  )
  expect(originals.slice(0, 2).every((length) => length > 2000)).toBe(true)
})
