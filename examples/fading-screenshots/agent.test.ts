import OpenAI from 'openai'
import { memoryStore, openThread, validate } from 'oriel'
import { expect, it } from 'vitest'
import { tell } from './agent.ts'
import { pixel, scriptedServer } from './scripted-server.ts'

it('shows the newest three screens, and keeps all of them', async () => {
  const bodies: NonNullable<Parameters<typeof scriptedServer>[0]> = []
  const server = await scriptedServer(bodies)
  const client = new OpenAI({ apiKey: 'none', baseURL: server.url, maxRetries: 0 })
  const store = memoryStore()
  const answers: string[] = []
  for (const title of ['One', 'Two', 'Three', 'Four', 'Five']) {
    answers.push(
      await tell(`I am at ${title}`, { png: pixel, title }, { client, store, threadId: 's' }),
    )
  }
  expect(answers).toEqual([
    '1 pictures in 1 messages',
    '2 pictures in 3 messages',
    '3 pictures in 5 messages',
    '3 pictures in 7 messages',
    '3 pictures in 9 messages',
  ])
  const last = JSON.stringify(bodies.at(-1))
  expect(last).toContain('I am at One')
  expect(last).not.toContain('Window: One')
  for (const body of bodies) expect(validate('openai-chat', body)).toEqual([])
  const log = await (await openThread({ id: 's', store })).log()
  expect(JSON.stringify(log).split(pixel).length - 1).toBe(5)
  server.close()
})
