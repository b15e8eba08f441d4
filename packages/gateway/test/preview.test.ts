// A preview beside the call that follows it: the same messages, also where a checkpoint falls due in between.

import { afterEach, describe, expect, it } from 'vitest'
import { createGateway, type Gateway, type GatewayOptions } from '../src/index.ts'

let gateway: Gateway
afterEach(() => gateway.close())

type Body = { readonly messages: readonly object[] }

/** Bodies as the upstream gets them; it says more tokens than we count. */
function open(options: GatewayOptions, side?: (request: Request) => Promise<Response>): Body[] {
  const sent: Body[] = []
  const fetch = async (request: Request): Promise<Response> => {
    const body = await request.text()
    sent.push(JSON.parse(body))
    const message = { role: 'assistant', content: `Answer ${sent.length}.` }
    return Response.json({
      choices: [{ index: 0, message, finish_reason: 'stop' }],
      usage: { prompt_tokens: Math.ceil(body.length / 2), completion_tokens: 5 },
    })
  }
  const upstreams = [
    { name: 'main', baseUrl: 'http://main.invalid', fetch },
    ...(side === undefined
      ? []
      : [{ name: 'side', baseUrl: 'http://side.invalid', models: [], fetch: side }]),
  ]
  gateway = createGateway({ ...options, upstreams })
  return sent
}

async function post(path: string, body: object): Promise<Body> {
  const headers = { 'x-oriel-thread': 't' }
  const request = { method: 'POST', headers, body: JSON.stringify(body) }
  const response = await gateway.fetch(new Request(`http://localhost${path}`, request))
  expect(response.status).toBe(200)
  return (await response.json()) as Body
}

/** How many messages each call sent, after a preview that showed the same. */
async function talk(sent: readonly Body[], turns: number): Promise<readonly number[]> {
  const messages: object[] = []
  for (let turn = 0; turn < turns; turn++) {
    const content = `Question ${turn}. ${'Some words of it. '.repeat(100)}`
    messages.push({ role: 'user', content })
    const body = { model: 'm', messages }
    const preview = await post('/v1/preview', body)
    await post('/v1/chat/completions', body)
    expect(preview.messages).toEqual(sent.at(-1)?.messages)
    messages.push({ role: 'assistant', content: `Answer ${sent.length}.` })
  }
  return sent.map((body) => body.messages.length)
}

/** Whether a request was shorter than the one before. */
const isFolded = (counts: readonly number[]): boolean =>
  counts.some((count, at) => count < (counts[at - 1] ?? 0))

const compaction = { maxTokens: 4000, keepRecentTokens: 1000 }

describe('a preview', () => {
  it.each(['immediate', 'cache-aware'] as const)(
    '[GW12] shows the checkpoint that the call makes: %s',
    async (schedule) => {
      const sent = open({ policy: { compaction, schedule } })
      expect(isFolded(await talk(sent, 16))).toBe(true)
    },
  )

  it('[GW12] shows no checkpoint that the call does not wait for', async () => {
    const asked: string[] = []
    const answer = Promise.withResolvers<Response>()
    const side = (request: Request): Promise<Response> => {
      asked.push(request.url)
      return answer.promise
    }
    const summarizer = { upstream: 'side', model: 's' }
    const sent = open({ policy: { compaction, schedule: 'cache-aware' }, summarizer }, side)
    expect(isFolded(await talk(sent, 16))).toBe(false)
    expect(asked).toHaveLength(1)
    answer.resolve(Response.json({}, { status: 500 }))
  })

  it("[GW12] counts tokens as the gateway's threads do", async () => {
    const tokens = { name: 'letters', count: (text: string) => text.length }
    const sent = open({ policy: { compaction }, tokens })
    expect(isFolded(await talk(sent, 8))).toBe(true)
  })
})
