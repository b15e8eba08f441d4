// A failure in each task that no request waits for, in a real process: the request is answered, the failure is counted and logged with
// its code, and the process continues.

import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type BackgroundTask, backgroundTasks } from '../../src/background.ts'
import { goodSummary, type ModelServer, say, sendJson, startModels } from '../model-server.ts'
import { type ServeProcess, startServe } from './serve-process.ts'

const faults = pathToFileURL(join(import.meta.dirname, 'background-faults.ts')).href

let models: ModelServer
let serve: ServeProcess

beforeAll(async () => {
  models = await startModels(({ model, messages }, response) => {
    const content = messages[0]?.content
    if (model === 'small') say(response, goodSummary())
    else if (String(content).startsWith('Refuse') && String(content).length > 2000) refuse(response)
    else if (String(content).startsWith('Talk')) talk(response)
    else say(response, 'Yes.')
  })
  serve = await start({ ORIEL_FAULTS: 'settings,changes' })
})
afterAll(async () => {
  await serve.stop()
  models.close()
})
afterEach(() => set(serve, {}))

function refuse(response: ServerResponse): void {
  sendJson(response, { error: { message: 'prompt is too long', code: null } }, 400)
}

/** Begins a stream and never ends it. */
function talk(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const choice = { index: 0, delta: { role: 'assistant', content: 'So' } }
  response.write(`data: ${JSON.stringify({ choices: [choice] })}\n\n`)
}

function start(env: Record<string, string> = {}, more: object = {}): Promise<ServeProcess> {
  const summary = { after: 1, mode: 'compact', compact: 'summary' }
  return startServe({
    imports: [faults],
    env,
    config: {
      upstreams: [
        { name: 'main', baseUrl: models.url },
        { name: 'side', baseUrl: models.url, key: 'k', models: [] },
      ],
      summarizer: { upstream: 'side', model: 'small' },
      // Jobs behind the views.
      policy: {
        schedule: 'cache-aware',
        expiry: { tools: { '*': summary } },
        compaction: { maxTokens: 2000, keepRecentTokens: 200, keepRecent: 2 },
      },
      agents: join(import.meta.dirname, '../../agents'),
    },
    ...more,
  })
}

/** Tells the process what is to fail, or to do something. */
async function set(
  { child, isAlive }: ServeProcess,
  order: { fault?: string; act?: string },
): Promise<void> {
  if (!isAlive) return
  const done = once(child, 'message')
  child.send(order)
  await done
}

function post(messages: readonly object[], rest: object = {}, init: RequestInit = {}) {
  return fetch(`${serve.url}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model: 'm', messages, ...rest }),
    ...init,
  })
}

let count = 0
const user = (content: string) => ({ role: 'user', content })

/** One more conversation, which the gateway must answer. */
async function ask(words = 'Hello.', headers: Record<string, string> = {}): Promise<void> {
  count += 1
  const response = await post([user(`${words} ${count}`)], {}, { headers })
  expect(response.status).toBe(200)
  await response.text()
}

/** A chat that is compacted. */
async function chat(): Promise<void> {
  const messages: object[] = []
  for (let turn = 0; turn < 10; turn++) {
    messages.push(user(`Question ${turn}. ${'Some words of it. '.repeat(100)}`))
    const response = await post(messages, {}, { headers: { 'x-oriel-thread': 'chat' } })
    expect(response.status).toBe(200)
    await response.text()
    messages.push({ role: 'assistant', content: 'Yes.' })
  }
}

/** A tool loop with results that expire. */
async function askLong(thread: string): Promise<void> {
  const messages: object[] = [user('Look at all of it.')]
  for (let step = 0; step < 6; step++) {
    const call = { id: `c${step}`, type: 'function', function: { name: 's', arguments: '{}' } }
    messages.push({ role: 'assistant', content: null, tool_calls: [call] })
    const content = `Result ${step} ${thread}. ${'Some words of it. '.repeat(150)}`
    messages.push({ role: 'tool', tool_call_id: call.id, content })
    const response = await post(messages, {}, { headers: { 'x-oriel-thread': thread } })
    expect(response.status).toBe(200)
    await response.text()
  }
}

/** A client that leaves in the middle of a stream. */
async function leave(): Promise<void> {
  const control = new AbortController()
  const init = { signal: control.signal }
  const response = await post([user(`Talk ${count++}`)], { stream: true }, init)
  const reader = response.body?.getReader()
  await reader?.read()
  control.abort()
  await reader?.read().catch(() => undefined)
}

const provoke: Readonly<Record<Exclude<BackgroundTask, 'process'>, () => Promise<unknown>>> = {
  settings: () => ask(),
  changes: () => ask(),
  tenants: () => ask('Hello.', { authorization: `Bearer another-${count}` }),
  'thread-index': () => ask(),
  'known-bodies': () => ask('Some words. '.repeat(3000)),
  'large-calls': async () => {
    const response = await post([user('Some words. '.repeat(60_000))])
    expect(response.status).toBe(503)
    await response.text()
  },
  'live-updates': async () => {
    const control = new AbortController()
    const response = await fetch(`${serve.url}/api/events`, { signal: control.signal })
    await response.body?.getReader().read()
    await ask()
    control.abort()
  },
  pressure: () => ask(),
  'client-connection': () => ask().catch(() => undefined),
  'answer-end': leave,
  'answer-interrupted': leave,
  checkpoint: chat,
  summary: () => askLong('summary'),
  snapshot: async () => {
    const turns = Array.from({ length: 150 }, (_, n) => [
      user(`Question ${n}`),
      { role: 'assistant', content: `Answer ${n}` },
    ])
    const response = await post([...turns.flat(), user('And now?')])
    expect(response.status).toBe(200)
    await response.text()
  },
  lease: () => askLong('lease'),
  'learned-limits': async () => {
    const turns = [user(`Refuse this. ${'Some words of it. '.repeat(300)}`), user('And now?')]
    const [first, second] = turns
    const answer = { role: 'assistant', content: 'Yes.' }
    const response = await post([first as object, answer, second as object])
    expect(response.status).toBe(200)
    await response.text()
  },
}

const line = (task: string, code: string): string =>
  `"event":"background-failed","task":"${task}","code":"${code}"`
const failures = (task: string): Promise<number> =>
  serve.metric(`oriel_background_failures_total{task="${task}"}`)

describe('a failure in the background', () => {
  // What is loaded with the first request comes first.
  it.each(Object.entries(provoke))('[GW86] stops nothing: %s', async (task, act) => {
    if (task !== 'settings' && task !== 'changes') await set(serve, { fault: task })
    await act()
    await serve.wrote(line(task, 'EINJECTED'))
    await set(serve, {})
    expect(await failures(task)).toBeGreaterThan(0)
    expect(serve.errors).not.toContain('canary')
    await ask()
  })

  it('[GW86] has a case here for every task', () => {
    expect(Object.keys(backgroundTasks)).toEqual(expect.arrayContaining(Object.keys(provoke)))
    expect(Object.keys(backgroundTasks)).toHaveLength(Object.keys(provoke).length + 1)
  })

  it('[GW86] a change of the store that cannot be read stops nothing', async () => {
    const before = await failures('changes')
    await set(serve, { act: 'change without a tenant' })
    expect(await failures('changes')).toBe(before + 1)
    await ask()
  })
})

describe('an error that nobody caught', () => {
  it.each([
    ['unhandled rejection', 'EINJECTED'],
    ['rejection that is no error', 'unknown'],
    ['socket error', 'ECONNREFUSED'],
  ])('[GW87] is reported, and the process goes on: %s', async (act, code) => {
    const before = await failures('process')
    await set(serve, { act })
    await serve.wrote(line('process', code))
    expect(await failures('process')).toBe(before + 1)
    expect(serve.errors).not.toContain('canary')
    await ask()
  })

  it('[GW87] an uncaught exception drains the process and ends it with 1', async () => {
    const own = await start()
    const main = serve
    serve = own
    try {
      // A call that is under way when it happens.
      const response = await post([user('Talk')], { stream: true })
      const reader = response.body?.getReader()
      await reader?.read()
      const ended = once(own.child, 'exit')
      own.child.send({ act: 'uncaught exception' })
      await own.wrote(line('process', 'EINJECTED'))
      await expect(fetch(`${own.url}/healthz`)).rejects.toThrow()
      await reader?.cancel()
      expect(await ended).toEqual([1, null])
      expect(own.errors).toContain('background-faults.ts')
      expect(own.errors).not.toContain('canary')
    } finally {
      serve = main
    }
  })
})
