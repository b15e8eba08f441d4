// A failure is the answer to one request: nothing that is loaded once, or kept for later, remembers it.

import { once } from 'node:events'
import { Agent, request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { memoryStore, OrielError, type Store } from 'oriel'
import { afterEach, describe, expect, it } from 'vitest'
import { createGateway } from '../../src/index.ts'
import { type ServeProcess, startServe } from './serve-process.ts'

const faults = pathToFileURL(join(import.meta.dirname, 'background-faults.ts')).href

let serve: ServeProcess | undefined
const agent = new Agent({ keepAlive: true, maxSockets: 1 })
afterEach(async () => {
  agent.destroy()
  await serve?.stop()
  serve = undefined
})

async function act({ child }: ServeProcess, name: string): Promise<void> {
  const done = once(child, 'message')
  child.send({ act: name })
  await done
}

/** Over one connection that is kept: a process without files cannot take another one. */
async function call(url: string, body?: object): Promise<{ status: number; text: string }> {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  }
  const outgoing = httpRequest(url, { method: body === undefined ? 'GET' : 'POST', agent, headers })
  outgoing.end(body === undefined ? undefined : JSON.stringify(body))
  const [incoming] = await once(outgoing, 'response')
  let text = ''
  for await (const chunk of incoming) text += chunk
  return { status: incoming.statusCode, text }
}

describe('a process without file descriptors', () => {
  it('[GW88] answers MCP as soon as it has some, also where the first request met none', async () => {
    serve = await startServe({ config: {}, imports: [faults], maxFiles: 200 })
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }
    expect((await call(`${serve.url}/healthz`)).status).toBe(200)
    await act(serve, 'use up all files')
    expect((await call(`${serve.url}/mcp`, list)).status).toBeGreaterThanOrEqual(500)
    await act(serve, 'close those files')
    const { status, text } = await call(`${serve.url}/mcp`, list)
    expect([status, text.includes('expand_message')]).toEqual([200, true])
    expect(await serve.stop()).toBe(0)
  })
})

/** How often each is called below at least, so that every one of the calls can fail. */
const operations = { append: 6, read: 6, info: 6, newest: 4, watch: 1, loadSnapshot: 1 } as const

/** A thread that an earlier gateway left in the store: it is opened from there. */
async function earlierThread(store: Store): Promise<string> {
  const gateway = createGateway({ store })
  const body = JSON.stringify({
    model: 'oriel-demo',
    messages: [{ role: 'user', content: 'Before.' }],
  })
  const asked = new Request('http://localhost/v1/chat/completions', { method: 'POST', body })
  const response = await gateway.fetch(asked)
  await response.text()
  await gateway.close()
  return response.headers.get('x-oriel-thread') ?? 'none'
}

/** A store one of whose operations fails at its nth call, and only then. */
function failingOnce(
  inner: Store,
  operation: string,
  nth: number,
): { store: Store; hasFailed: () => boolean } {
  let calls = 0
  const store: Store = new Proxy(inner, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      if (name !== operation) return value.bind(target)
      return (...given: unknown[]) => {
        calls += 1
        if (calls === nth) throw new OrielError('storage-failed', 'Injected.')
        return Reflect.apply(value, target, given)
      }
    },
  })
  return { store, hasFailed: () => calls >= nth }
}

describe('a store that fails once', () => {
  const cases = Object.entries(operations).flatMap(([name, calls]) =>
    Array.from({ length: calls }, (_, index) => [name, index + 1] as const),
  )

  it.each(cases)('[GW88] is used again at once: %s, call %i', async (operation, nth) => {
    const inner = memoryStore()
    const earlier = await earlierThread(inner)
    const { store, hasFailed } = failingOnce(inner, operation, nth)
    const gateway = createGateway({ store, agents: { support: {} } })
    const send = async (path: string, body?: object): Promise<Response> => {
      const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
      const response = await gateway.fetch(new Request(`http://localhost${path}`, init))
      await response
        .clone()
        .text()
        .catch(() => undefined)
      await gateway.settled()
      return response
    }
    const messages: object[] = []
    const chat = (): Promise<Response> =>
      send('/v1/chat/completions', { model: 'oriel-demo', messages })
    const all = async (): Promise<readonly number[]> => {
      messages.push({ role: 'user', content: `Question ${messages.length}` })
      const said = await chat()
      const body = (await said.json().catch(() => ({}))) as { choices?: [{ message: object }] }
      messages.push(body.choices?.[0].message ?? { role: 'assistant', content: 'Nothing.' })
      const thread = said.headers.get('x-oriel-thread') ?? 'none'
      const others = [
        '/api/threads',
        `/api/threads/${thread}`,
        `/api/threads/${thread}/timeline`,
        `/api/threads/${earlier}`,
        '/api/info',
      ]
      const statuses = [said.status]
      for (const path of others) statuses.push((await send(path)).status)
      return statuses
    }
    // Whatever fails, fails once: after so many rounds nothing may be left of it.
    for (let round = 0; round < 4; round++) await all().catch(() => undefined)
    expect(hasFailed()).toBe(true)
    expect(await all()).toEqual([200, 200, 200, 200, 200, 200])
    await gateway.close()
  })
})

describe('what is loaded with the first request', () => {
  it('[GW88] is loaded again where that failed: stored settings, changes of other processes', async () => {
    const inner = memoryStore()
    const before = createGateway({ store: inner, agents: { support: {} } })
    const stored = await before.fetch(
      new Request('http://localhost/api/agents/support/settings', {
        method: 'PUT',
        body: JSON.stringify({ historyPolicy: 'lastN', historyLength: 3 }),
      }),
    )
    expect(stored.status).toBe(200)
    await before.close()
    const lines: string[] = []
    let failures = 0
    let watches = 0
    const settings = {
      ...inner.settings,
      read: (key: Parameters<Store['settings']['read']>[0]) => {
        failures += 1
        return failures === 1
          ? Promise.reject(new OrielError('storage-failed', 'Injected.'))
          : inner.settings.read(key)
      },
    }
    const store = new Proxy(inner, {
      get(target, name) {
        if (name === 'settings') return settings
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        if (name !== 'watch') return value.bind(target)
        return (...given: unknown[]) => {
          watches += 1
          if (watches === 1) return Promise.reject(new OrielError('storage-failed', 'Injected.'))
          return Reflect.apply(value, target, given)
        }
      },
    })
    const gateway = createGateway({
      store,
      agents: { support: {} },
      log: (line) => lines.push(line),
    })
    const settingsOf = async (): Promise<unknown> => {
      const response = await gateway.fetch(new Request('http://localhost/api/info'))
      return response.json()
    }
    expect(JSON.stringify(await settingsOf())).not.toContain('"historyLength":3')
    expect(lines.sort()).toEqual([
      '[gateway] In the background (changes): storage-failed',
      '[gateway] In the background (settings): storage-failed',
    ])
    await expect
      .poll(async () => JSON.stringify(await settingsOf()), { timeout: 10_000 })
      .toContain('"historyLength":3')
    expect(watches).toBe(2)
    await gateway.close()
  })
})
