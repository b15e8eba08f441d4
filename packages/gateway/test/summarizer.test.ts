// The summarizer of the operator: asked without tools, with models to fall back on, never by a caller's choice.

import { afterEach, describe, expect, it } from 'vitest'
import { createGateway, type Gateway } from '../src/index.ts'

let gateway: Gateway
afterEach(() => gateway.close())

const sections = ['Goal', 'Constraints', 'Progress', 'Decisions', 'Next steps', 'Critical context']

describe('the summarizer', () => {
  it('[GW25] is asked on its own upstream, falls back, and its failure costs only the summary', async () => {
    const asked: { model: string; tools?: unknown }[] = []
    const main = async (): Promise<Response> =>
      Response.json({
        choices: [
          { index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' },
        ],
      })
    const side = async (request: Request): Promise<Response> => {
      const body = (await request.json()) as { model: string }
      asked.push(body)
      if (body.model === 'first')
        return Response.json({ error: { message: 'overloaded' } }, { status: 529 })
      const content = sections.map((name) => `## ${name}\nA summary by the second.`).join('\n')
      return Response.json({ choices: [{ index: 0, message: { content }, finish_reason: 'stop' }] })
    }
    gateway = createGateway({
      policy: { compaction: { maxTokens: 600, keepRecentTokens: 100, keepRecent: 2 } },
      upstreams: [
        { name: 'main', baseUrl: 'http://main.invalid', fetch: main },
        { name: 'side', baseUrl: 'http://side.invalid', key: 'its-own', models: [], fetch: side },
      ],
      summarizer: { upstream: 'side', model: 'first', fallbacks: ['second'] },
    })
    const messages: object[] = []
    for (let turn = 0; turn < 8; turn++) {
      messages.push({
        role: 'user',
        content: `Question ${turn}. ${'Some words of it. '.repeat(20)}`,
      })
      const response = await gateway.fetch(
        new Request('http://localhost/v1/chat/completions', {
          method: 'POST',
          headers: { 'x-oriel-thread': 't' },
          body: JSON.stringify({ model: 'm', messages }),
        }),
      )
      expect(response.status).toBe(200)
      messages.push({ role: 'assistant', content: 'Yes.' })
      await response.text()
    }
    expect(asked.slice(0, 2).map(({ model }) => model)).toEqual(['first', 'second'])
    expect(asked.every(({ tools }) => tools === undefined)).toBe(true)
  })

  it('[GW25] must name an upstream that is there', () => {
    gateway = createGateway()
    const summarizer = { upstream: 'none', model: 'm' }
    expect(() => createGateway({ summarizer })).toThrow(/'none', which is not configured/)
  })
})
