// The summarizer of the operator: asked without tools, with models to fall back on, never by a caller's choice. A real process of
// `oriel serve` asks a real server.

import type { ServerResponse } from 'node:http'
import { afterEach, describe, expect, it } from 'vitest'
import { readConfig } from '../src/config.ts'
import { createGateway } from '../src/index.ts'
import { type ServeProcess, startServe } from './faults/serve-process.ts'
import {
  type Completion,
  goodSummary,
  type ModelServer,
  say,
  sendJson,
  startModels,
} from './model-server.ts'

let models: ModelServer | undefined
let gateway: ServeProcess | undefined
afterEach(async () => {
  await gateway?.stop()
  models?.close()
  gateway = undefined
  models = undefined
})

const expiry = { expiry: { tools: { '*': { after: 1, mode: 'compact', compact: 'summary' } } } }
const compaction = { compaction: { maxTokens: 600, keepRecentTokens: 100, keepRecent: 2 } }

async function start(
  policy: object,
  summarize: (asked: Completion, response: ServerResponse) => void,
  summarizer: object = {},
  others: object = {},
): Promise<ServeProcess> {
  models = await startModels((asked, response) => {
    if (asked.model === 'm') say(response, 'Yes.')
    else summarize(asked, response)
  })
  gateway = await startServe({
    config: {
      policy,
      upstreams: [
        { name: 'main', baseUrl: models.url },
        { name: 'side', baseUrl: models.url, key: 'its-own', models: [] },
      ],
      summarizer: { upstream: 'side', model: 'first', fallbacks: ['second'], ...summarizer },
      ...others,
    },
  })
  return gateway
}

/** Asks once in a thread; resolves to the status. */
async function ask({ url }: ServeProcess, messages: readonly object[]): Promise<number> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'x-oriel-thread': 't' },
    body: JSON.stringify({ model: 'm', messages }),
  })
  await response.text()
  return response.status
}

/** A tool loop: each request has one more result. */
async function toolLoop(serve: ServeProcess, steps: number): Promise<readonly number[]> {
  const messages: object[] = [{ role: 'user', content: 'Look at all of it.' }]
  const statuses: number[] = []
  for (let step = 0; step < steps; step++) {
    const call = { id: `c${step}`, type: 'function', function: { name: 's', arguments: '{}' } }
    messages.push({ role: 'assistant', content: null, tool_calls: [call] })
    const content = `Result ${step}. ${'Some words of it. '.repeat(300)}`
    messages.push({ role: 'tool', tool_call_id: call.id, content })
    statuses.push(await ask(serve, messages))
  }
  return statuses
}

/** A chat: each request has one more question. */
async function chat(serve: ServeProcess, turns: number): Promise<readonly number[]> {
  const messages: object[] = []
  const statuses: number[] = []
  for (let turn = 0; turn < turns; turn++) {
    const content = `Question ${turn}. ${'Some words of it. '.repeat(20)}`
    messages.push({ role: 'user', content })
    statuses.push(await ask(serve, messages))
    messages.push({ role: 'assistant', content: 'Yes.' })
  }
  return statuses
}

const ok = (count: number): readonly number[] => Array.from({ length: count }, () => 200)
const asksOf = (model: string): readonly Completion[] =>
  (models?.asked ?? []).filter((one) => one.model === model)

describe('the summarizer', () => {
  it('[GW25] summarizes expired results, and the process goes on', async () => {
    const serve = await start(expiry, (_, response) => say(response, 'All about it.'))
    expect(await toolLoop(serve, 5)).toEqual(ok(5))
    expect(asksOf('first')).toHaveLength(4)
    expect(JSON.stringify(asksOf('m').at(-1)?.messages)).toContain('All about it.')
    expect(await serve.metric('oriel_jobs_failed_total')).toBe(0)
    expect(await serve.stop()).toBe(0)
  })

  it('[GW25] summarizes a compacted conversation, and the process goes on', async () => {
    const serve = await start(compaction, (_, response) => say(response, goodSummary()))
    expect(await chat(serve, 8)).toEqual(ok(8))
    expect(asksOf('first').length).toBeGreaterThan(0)
    expect(JSON.stringify(asksOf('m').at(-1)?.messages)).toContain('A good summary.')
    expect(await serve.metric('oriel_jobs_failed_total')).toBe(0)
    expect(await serve.stop()).toBe(0)
  })

  it('[GW25] is asked without tools on its own upstream, and falls back to the next model', async () => {
    const serve = await start(compaction, ({ model }, response) => {
      if (model === 'first') sendJson(response, { error: { message: 'overloaded' } }, 529)
      else say(response, goodSummary('A summary by the second.'))
    })
    expect(await chat(serve, 8)).toEqual(ok(8))
    const asked = (models?.asked ?? []).filter(({ model }) => model !== 'm')
    expect(asked.slice(0, 2).map(({ model }) => model)).toEqual(['first', 'second'])
    expect(asked.every(({ tools }) => tools === undefined)).toBe(true)
    expect(JSON.stringify(asksOf('m').at(-1)?.messages)).toContain('A summary by the second.')
  })

  it('[GW25] falls back in time where the first model never answers', async () => {
    const late = { timeoutMs: 600 }
    const serve = await start(
      expiry,
      ({ model }, response) => {
        if (model === 'second') say(response, 'By the second.')
      },
      late,
    )
    expect(await toolLoop(serve, 2)).toEqual(ok(2))
    expect(JSON.stringify(asksOf('m').at(-1)?.messages)).toContain('By the second.')
    expect(await serve.metric('oriel_jobs_failed_total')).toBe(0)
  })

  it('[GW120] asks with the prompt of the configuration that the policy names', async () => {
    const tools = { '*': { after: 1, mode: 'compact', compact: 'summary', prompt: 'terse' } }
    const template = 'Name the subject in at most {{ targetLength }} characters.'
    const serve = await start(
      { expiry: { tools } },
      (_, response) => say(response, 'Its subject.'),
      {},
      { prompts: { terse: { name: 'Terse', template } } },
    )
    expect(await toolLoop(serve, 3)).toEqual(ok(3))
    expect(JSON.stringify(asksOf('first')[0]?.messages)).toContain('Name the subject in at most')
    expect(JSON.stringify(asksOf('m').at(-1)?.messages)).toContain('Its subject.')
  })

  it('[GW120] refuses prompts without a template at the start', () => {
    const prompts = { terse: { name: 'Terse' } }
    expect(() => createGateway({ prompts } as never)).toThrow(/prompts\.terse must be/)
    expect(() => readConfig({ prompts }, {})).toThrow(/prompts\.terse\.template/)
  })

  it('[GW25] must name an upstream that is there', () => {
    const summarizer = { upstream: 'none', model: 'm' }
    expect(() => createGateway({ summarizer })).toThrow(/'none', which is not configured/)
  })
})
