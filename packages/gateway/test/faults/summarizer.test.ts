// A thousand requests through `oriel serve` while its summarizer answers well, slowly, never, with errors, with broken bodies and with
// closed sockets: no client sees any of it. Two processes, one whose views wait for summaries and one whose views never do.

import type { ServerResponse } from 'node:http'
import { afterEach, describe, expect, it } from 'vitest'
import { goodSummary, type ModelServer, say, sendJson, startModels } from '../model-server.ts'
import { type ServeProcess, startServe } from './serve-process.ts'

const conversations = 50
const requests = 10
const atOnce = 10
const timeoutMs = 200

const modes: Readonly<Record<string, (response: ServerResponse) => void>> = {
  well: (response) => say(response, goodSummary()),
  slowly: (response) => void setTimeout(() => say(response, goodSummary()), timeoutMs / 4),
  'bit by bit': (response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const message = { role: 'assistant', content: goodSummary() }
    const body = JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] })
    response.write(body.slice(0, 40))
    setTimeout(() => response.end(body.slice(40)), timeoutMs / 8)
  },
  never: () => undefined,
  'with a head and no body': (response) => response.writeHead(200).flushHeaders(),
  'with an error': (response) => sendJson(response, { error: { message: 'overloaded' } }, 529),
  'with an error as 200': (response) => sendJson(response, { error: { message: 'overloaded' } }),
  'with a broken body': (response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end('{"choices": [{"message": {"content": "Fou')
  },
  'with a summary that is cut off': (response) => say(response, '{"summary": "Fou', 'length'),
  'with a page': (response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<html>')
  },
  'with a closed socket': (response) => response.destroy(),
  'with a socket that closes in the body': (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '5000' })
    response.write('{"choices": [', () => response.destroy())
  },
}

let models: ModelServer
let processes: readonly ServeProcess[] = []
afterEach(async () => {
  await Promise.all(processes.map((one) => one.stop()))
  models.close()
})

function start(schedule: string): Promise<ServeProcess> {
  return startServe({
    config: {
      upstreams: [
        { name: 'main', baseUrl: models.url },
        { name: 'side', baseUrl: models.url, key: 'k', models: [] },
      ],
      summarizer: { upstream: 'side', model: 'small', timeoutMs },
      policy: {
        schedule,
        expiry: { tools: { '*': { after: 1, mode: 'compact', compact: 'summary' } } },
        compaction: { maxTokens: 2500, keepRecentTokens: 300, keepRecent: 2 },
      },
      // A busy machine must not reject calls here.
      limits: { lateMs: 0 },
      logRequests: false,
    },
  })
}

/** Every second conversation is a chat, the others are tool loops. Resolves to what was not answered with 200. */
async function converse({ url }: ServeProcess, number: number): Promise<readonly unknown[]> {
  const problems: unknown[] = []
  const messages: object[] = [{ role: 'user', content: `Conversation ${number}.` }]
  for (let step = 0; step < requests; step++) {
    const words = `Step ${step} of ${number}. ${'Some words of it. '.repeat(80)}`
    if (number % 2 === 0) messages.push({ role: 'user', content: words })
    else {
      const call = { id: `c${step}`, type: 'function', function: { name: 's', arguments: '{}' } }
      messages.push({ role: 'assistant', content: null, tool_calls: [call] })
      messages.push({ role: 'tool', tool_call_id: call.id, content: words })
    }
    const status = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'x-oriel-thread': `t${number}` },
      body: JSON.stringify({ model: 'm', messages }),
    }).then(
      async (response) => ((await response.text()).includes('Yes.') ? response.status : 'no text'),
      (error: Error) => String(error.cause),
    )
    if (status !== 200) problems.push([number, step, status])
    if (number % 2 === 0) messages.push({ role: 'assistant', content: 'Yes.' })
  }
  return problems
}

async function drive(serve: ServeProcess): Promise<readonly unknown[]> {
  const problems: unknown[] = []
  let next = 0
  const client = async (): Promise<void> => {
    while (next < conversations) problems.push(...(await converse(serve, next++)))
  }
  await Promise.all(Array.from({ length: atOnce }, client))
  return problems
}

describe('a summarizer that answers in every way', () => {
  it('[GW85] fails none of a thousand requests, and no process', async () => {
    const names = Object.keys(modes)
    const used = new Map(names.map((name) => [name, 0]))
    let asked = 0
    models = await startModels(({ model }, response) => {
      if (model === 'm') return say(response, 'Yes.')
      const name = names[asked++ % names.length] as string
      used.set(name, (used.get(name) ?? 0) + 1)
      modes[name]?.(response)
    })
    processes = await Promise.all(['immediate', 'cache-aware'].map(start))
    expect((await Promise.all(processes.map(drive))).flat()).toEqual([])
    expect(models.asked.filter(({ model }) => model === 'm')).toHaveLength(1000)
    expect([...used].filter(([, count]) => count === 0)).toEqual([])
    const sent = JSON.stringify(models.asked.filter(({ model }) => model === 'm'))
    expect(sent).toContain('A good summary.')
    for (const one of processes) {
      expect(await one.metric('oriel_jobs_failed_total')).toBeGreaterThan(0)
      expect(await one.metric('oriel_background_failures_total{task="process"}')).toBe(0)
    }
    expect(await Promise.all(processes.map((one) => one.stop()))).toEqual([0, 0])
    expect(processes.map(({ errors }) => errors).join()).not.toMatch(/^ {4}at /m)
  })
})
