import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import OpenAI from 'openai'
import { memoryStore, openThread, validate } from 'oriel'
import { afterEach, describe, expect, it } from 'vitest'
import { ask } from './loop.ts'

/** What the scripted model streams, one request after the other. */
const script = [
  [
    {
      role: 'assistant',
      tool_calls: [
        { index: 0, id: 'call_1', type: 'function', function: { name: 'read', arguments: '' } },
      ],
    },
    { tool_calls: [{ index: 0, function: { arguments: '{"path":"main.ts"}' } }] },
  ],
  [{ role: 'assistant', content: 'It prints ' }, { content: 'hello.' }],
  [{ role: 'assistant', content: 'You are welcome.' }],
]

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

async function scriptedModel(bodies: unknown[]): Promise<string> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const deltas = script[bodies.length] ?? []
    bodies.push(JSON.parse(Buffer.concat(chunks).toString('utf8')))
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const send = (fields: object): void => {
      const base = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'scripted' }
      response.write(`data: ${JSON.stringify({ ...base, ...fields })}\n\n`)
    }
    for (const delta of deltas) send({ choices: [{ index: 0, delta, finish_reason: null }] })
    const finish = bodies.length === 1 ? 'tool_calls' : 'stop'
    send({ choices: [{ index: 0, delta: {}, finish_reason: finish }] })
    send({ choices: [], usage: { prompt_tokens: 50, completion_tokens: 5, total_tokens: 55 } })
    response.end('data: [DONE]\n\n')
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
}

describe('your own loop', () => {
  it('asks, runs tools, streams the answer, and goes on from the log the next time', async () => {
    const bodies: { messages: unknown[] }[] = []
    const client = new OpenAI({
      apiKey: 'none',
      baseURL: await scriptedModel(bodies),
      maxRetries: 0,
    })
    const store = memoryStore()
    let heard = ''
    const agent = {
      client,
      model: 'scripted',
      store,
      tools: { read: async () => 'console.log("hello")' },
      onText: (text: string) => {
        heard += text
      },
    }
    await ask(agent, 'thread-1', 'What does main.ts do?')
    expect(heard).toBe('It prints hello.')
    await ask(agent, 'thread-1', 'Thanks')
    expect(heard).toContain('You are welcome.')
    expect(bodies.map(({ messages }) => messages.length)).toEqual([1, 3, 5])
    for (const body of bodies) expect(validate('openai-chat', body)).toEqual([])
    const thread = await openThread({ id: 'thread-1', store })
    const { body, exact } = await thread.requestAt(2)
    expect(exact).toBe(true)
    expect(body.messages).toEqual(bodies[1]?.messages)
    expect(thread.estimate()).toBeGreaterThanOrEqual(50)
  })
})
