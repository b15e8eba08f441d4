import OpenAI from 'openai'
import { memoryStore, validate } from 'oriel'
import { expect, it } from 'vitest'
import { ask } from './loop.ts'
import { scriptedServer } from './scripted-server.ts'

it('sends only what is new, and the thread adds the rest', async () => {
  const bodies: Parameters<typeof scriptedServer>[0] = []
  const server = await scriptedServer(bodies)
  const client = new OpenAI({ apiKey: 'none', baseURL: server.url, maxRetries: 0 })
  const run = { client, store: memoryStore(), threadId: 'chat' }
  expect(await ask('Weather in Oslo?', run)).toBe('Sunny in Oslo. ')
  expect(await ask('And in Rome?', run)).toBe('Sunny in Rome. ')
  expect(bodies.map(({ messages }) => messages.length)).toEqual([1, 3, 5, 7])
  for (const body of bodies) expect(validate('openai-chat', body)).toEqual([])
  server.close()
})
