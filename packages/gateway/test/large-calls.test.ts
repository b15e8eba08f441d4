// Requests with large bodies in a worker thread: the same answers, threads and counts, and nothing of them is parsed in this one.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createGateway, type Gateway } from '@oriel/gateway'
import { type Store, sqliteStore } from 'oriel'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { BodyCache } from '../src/call/body-cache.ts'
import { reply } from './upstream/action.ts'
import { startUpstream, type Upstream } from './upstream/upstream.ts'

process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'oriel-compile-cache')

const largeBytes = 20_000
let folder = ''
let store: Store
let upstream: Upstream
let gateway: Gateway

async function open(crashes = false): Promise<void> {
  const path = join(folder, 'store.db')
  store = sqliteStore(path)
  upstream = await startUpstream({ answer: async () => reply({ text: 'Here it is.' }) })
  const upstreams = [{ name: 'test', baseUrl: upstream.url, retries: 0 }]
  const options = { upstreams, limits: { lateMs: 0, largeBytes } }
  const module = new URL('./large-call-child.ts', import.meta.url)
  gateway = createGateway({
    ...options,
    store,
    offload: { module, data: { ...options, path, crashes } },
  })
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'oriel-large-'))
})
afterEach(async () => {
  vi.restoreAllMocks()
  await gateway.close()
  await store.close()
  await upstream.close()
  rmSync(folder, { recursive: true, force: true })
})

const user = (content: string): object => ({ role: 'user', content })
const assistant = (content: string): object => ({ role: 'assistant', content })

function ask(
  messages: readonly object[],
  isStream = false,
  path = 'chat/completions',
): Promise<Response> {
  const body = JSON.stringify({ model: 'm', messages, ...(isStream ? { stream: true } : {}) })
  const headers = { 'content-type': 'application/json', authorization: 'Bearer key' }
  const url = `http://localhost/v1/${path}`
  return gateway.fetch(new Request(url, { method: 'POST', headers, body }))
}

async function metric(name: string): Promise<string | undefined> {
  const text = await (await gateway.fetch(new Request('http://localhost/metrics'))).text()
  return text
    .split('\n')
    .find((line) => line.startsWith(`${name} `))
    ?.slice(name.length + 1)
}

const long = 'Some words of a long message. '.repeat(1000)

it('[GW122] a large body is parsed in the worker thread, a small one here, and both continue one thread', async () => {
  await open()
  const parse = vi.spyOn(BodyCache.prototype, 'parse')
  const small = await ask([user('Hello.')])
  const thread = small.headers.get('x-oriel-thread')
  expect(await small.text()).toContain('Here it is.')
  expect(parse).toHaveBeenCalledTimes(1)
  const history = [user('Hello.'), assistant('Here it is.'), user(long)]
  const large = await ask(history)
  expect([large.status, large.headers.get('x-oriel-thread')]).toEqual([200, thread])
  expect(await large.text()).toContain('Here it is.')
  const streamed = await ask([...history, assistant('Here it is.'), user('And now?')], true)
  expect(streamed.headers.get('x-oriel-thread')).toBe(thread)
  expect(await streamed.text()).toContain('[DONE]')
  expect(parse).toHaveBeenCalledTimes(1)
  expect(await metric('oriel_requests_total{route="openai-chat",status="2xx"}')).toBe('3')
  expect(await metric('oriel_calls_active')).toBe('0')
  expect(JSON.stringify(upstream.requests.at(-1)?.body)).toContain('Some words of a long message.')
})

it('[GW122] a large preview is made in the worker thread', async () => {
  await open()
  const previewed = await ask([user(long)], false, 'preview')
  expect(previewed.status).toBe(200)
  expect(JSON.stringify(await previewed.json())).toContain('Some words of a long message.')
  // The store is asked for nothing by this thread: the thread does not exist, and nothing was written.
  expect(upstream.requests).toEqual([])
})

it('[GW122] a client that leaves ends its large call, and the next one is answered', async () => {
  await open()
  const leaving = new AbortController()
  const body = JSON.stringify({ model: 'm', messages: [user(long)] })
  const init = { method: 'POST', headers: { authorization: 'Bearer key' }, body }
  const url = 'http://localhost/v1/chat/completions'
  const left = gateway.fetch(new Request(url, { ...init, signal: leaving.signal }))
  leaving.abort()
  await (await left).body?.cancel()
  expect((await ask([user(`${long}!`)])).status).toBe(200)
})

it('[GW122] a worker thread that ends costs its requests a 503, and nothing else', async () => {
  await open(true)
  const failed = await ask([user(long)])
  expect([failed.status, failed.headers.get('retry-after')]).toEqual([503, '1'])
  const small = await ask([user('Hello.')])
  expect(small.status).toBe(200)
  await small.text()
  expect(await metric('oriel_background_failures_total{task="large-calls"}')).toBe('1')
  expect(await metric('oriel_calls_active')).toBe('0')
})
