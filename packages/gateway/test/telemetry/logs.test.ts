// Lines for operators: text for people, JSON for machines.

import { memoryStore, OrielError, type Store } from 'oriel'
import { describe, expect, it } from 'vitest'
import { createGateway, type GatewayOptions } from '../../src/index.ts'
import { bodyOf, paths, wholeAnswer } from './answers.ts'

type Line = Record<string, unknown>

function open(options: GatewayOptions = {}) {
  const lines: string[] = []
  const gateway = createGateway({
    upstreams: [
      {
        name: 'u',
        baseUrl: 'http://upstream.invalid',
        fetch: async () =>
          new Response(wholeAnswer('openai-chat', 'Yes.'), {
            headers: { 'content-type': 'application/json' },
          }),
      },
    ],
    log: (line) => lines.push(line),
    now: () => Date.UTC(2026, 10, 16),
    ...options,
  })
  const call = async (path: string, init?: RequestInit): Promise<Response> => {
    const response = await gateway.fetch(new Request(`http://localhost${path}`, init))
    await response.clone().text()
    await gateway.settled()
    await new Promise((resolve) => setImmediate(resolve))
    return response
  }
  return { gateway, lines, call }
}

const ask = { method: 'POST', body: bodyOf('openai-chat', 'Hello?') }

function failingStore(code: 'storage-full' | 'storage-failed', isFailing: () => boolean): Store {
  return new Proxy(memoryStore(), {
    get(inner, name) {
      const value: unknown = Reflect.get(inner, name)
      if (typeof value !== 'function') return value
      if (name !== 'append') return value.bind(inner)
      return async (...all: unknown[]) => {
        if (isFailing()) throw new OrielError(code, 'No room for a canary.')
        return Reflect.apply(value, inner, all)
      }
    },
  })
}

describe('lines as JSON', () => {
  it('[GT9] are one object for each request, when it is over, with an id that the client gets too', async () => {
    const { call, lines } = open({ logFormat: 'json' })
    const answered = await call(`${paths['openai-chat']}?canary=1`, ask)
    const refused = await call('/api/threads/no-such', {})
    const [first, second, ...more] = lines.map((line) => JSON.parse(line) as Line)
    expect(more).toEqual([])
    expect(first).toEqual({
      time: '2026-11-16T00:00:00.000Z',
      level: 'info',
      event: 'request',
      request: answered.headers.get('x-oriel-request'),
      method: 'POST',
      route: 'openai-chat',
      status: 200,
      ms: expect.any(Number),
      thread: answered.headers.get('x-oriel-thread'),
      tokensBefore: expect.any(Number),
      tokensAfter: expect.any(Number),
    })
    expect(second).toEqual({
      time: '2026-11-16T00:00:00.000Z',
      level: 'info',
      event: 'request',
      request: refused.headers.get('x-oriel-request'),
      method: 'GET',
      route: 'api',
      status: 404,
      ms: expect.any(Number),
      code: 'not-found',
    })
    expect(answered.headers.get('x-oriel-request')).not.toBe(refused.headers.get('x-oriel-request'))
  })

  it('[GT9] tell failures by their codes, at their level, and no more', async () => {
    let isFailing = true
    const store = failingStore('storage-full', () => isFailing)
    const { call, lines, gateway } = open({ logFormat: 'json', store })
    await call(paths['openai-chat'], ask)
    isFailing = false
    expect(lines.map((line) => JSON.parse(line) as Line)).toEqual([
      expect.objectContaining({
        level: 'error',
        event: 'background-failed',
        task: 'tenants',
        code: 'storage-full',
      }),
      expect.objectContaining({
        level: 'error',
        event: 'failed',
        status: 507,
        code: 'storage-full',
      }),
      expect.objectContaining({
        level: 'info',
        event: 'request',
        status: 507,
        code: 'storage-full',
      }),
    ])
    lines.length = 0
    const started = gateway.fetch(new Request(`http://localhost${paths['openai-chat']}`, ask))
    const response = await started
    isFailing = true
    await expect(response.text()).rejects.toThrow()
    await gateway.settled()
    await expect.poll(() => lines.length).toBe(3)
    const events = lines.map((line) => JSON.parse(line) as Line)
    events.sort((a, b) => (String(a.event) < String(b.event) ? -1 : 1))
    expect(events).toEqual([
      expect.objectContaining({ level: 'warn', event: 'answer-unlogged', code: 'storage-full' }),
      expect.objectContaining({ event: 'background-failed', task: 'thread-index' }),
      expect.objectContaining({ level: 'info', event: 'request', status: 200, code: 'unlogged' }),
    ])
    expect(lines.join()).not.toContain('canary')
  })

  it('[GT9] are only warnings and errors where that is asked for', async () => {
    const { call, lines } = open({ logFormat: 'json', logRequests: false })
    const response = await call(paths['openai-chat'], ask)
    expect(lines).toEqual([])
    expect(response.headers.get('x-oriel-request')).toBeNull()
  })

  it('[GT9] do not stop anything when they cannot be written', async () => {
    const { call } = open({
      logFormat: 'json',
      log: () => {
        throw new Error('The disk is full.')
      },
    })
    expect((await call(paths['openai-chat'], ask)).status).toBe(200)
    expect((await call('/nowhere')).status).toBe(404)
  })
})

describe('lines as text', () => {
  it('[GT9] are failures only, in one short line, unless every request is asked for', async () => {
    const store = failingStore('storage-failed', () => true)
    const quiet = open({ store })
    await quiet.call(paths['openai-chat'], ask)
    await quiet.call('/nowhere')
    expect(quiet.lines).toEqual([
      '[gateway] In the background (tenants): storage-failed',
      '[gateway] POST openai-chat: 503 storage-failed (storage-failed)',
    ])
    const talking = open({ logRequests: true })
    await talking.call(paths['openai-chat'], ask)
    await talking.call('/nowhere?canary')
    expect(talking.lines).toEqual([
      expect.stringMatching(/^\[gateway\] POST openai-chat: 200 in [\d.]+ ms$/),
      expect.stringMatching(/^\[gateway\] GET other: 404 in [\d.]+ ms$/),
    ])
  })
})
