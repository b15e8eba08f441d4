// What callers may set, and what only the operator may: over real HTTP, on every route that takes a policy or a setting.

import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createGateway, type GatewayOptions } from '@oriel/gateway'
import { memoryStore } from 'oriel'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openGateway, type Target } from './target.ts'
import { reply } from './upstream/action.ts'

type Answer = Record<string, unknown>

let folder: string
let target: Target

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'oriel-paths-'))
})
afterEach(async () => {
  await target.close()
  rmSync(folder, { recursive: true, force: true })
})

const keyOf = (name: string) => `key-of-${name}-0123456789`
const bearer = (name: string) => ({ authorization: `Bearer ${keyOf(name)}` })
const keys = [
  { name: 'plain', key: keyOf('plain'), tenant: 'one' },
  { name: 'scoped', key: keyOf('scoped'), tenant: 'one', mayOverride: true },
  { name: 'other', key: keyOf('other'), tenant: 'two', mayOverride: true },
  { name: 'admin', key: keyOf('admin'), tenant: 'ops', mayOverride: true, isAdmin: true },
]

async function open(gateway: GatewayOptions = {}): Promise<void> {
  target = await openGateway({ gateway, answer: () => reply({ text: 'Yes.' }) })
}

async function call(
  path: string,
  {
    body,
    headers = {},
    method = body === undefined ? 'GET' : 'POST',
  }: { body?: unknown; headers?: Record<string, string>; method?: string } = {},
): Promise<{ status: number; json: Answer; headers: Headers }> {
  const text = body === undefined ? {} : { body: JSON.stringify(body) }
  const response = await fetch(`${target.url}${path}`, { method, headers, ...text })
  const answer = await response.text()
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true
  const { status } = response
  return { status, json: isJson ? (JSON.parse(answer) as Answer) : {}, headers: response.headers }
}

const large = 'A line of a large output.\n'.repeat(200)

/** A conversation with an output that is large enough for a file. */
const messages = [
  { role: 'user', content: 'Read it.' },
  {
    role: 'assistant',
    content: null,
    tool_calls: [
      { id: 'call_1', type: 'function', function: { name: 'read', arguments: '{"path":"a"}' } },
    ],
  },
  { role: 'tool', tool_call_id: 'call_1', content: large },
]

async function talk(headers: Record<string, string> = {}): Promise<string> {
  const body = { model: 'm', messages }
  const { status, headers: got } = await call('/v1/chat/completions', { body, headers })
  expect(status).toBe(200)
  return got.get('x-oriel-thread') ?? ''
}

const pathPolicy = (directory: string) => ({
  toolOutput: { directory, largeOutputThreshold: 1000 },
})

describe('a path in a policy of a caller', () => {
  const overrides = ['allow', 'scoped-key', 'deny'] as const

  it.each(overrides)(
    '[C5] makes no route write a file or tell what is on the disk: %s',
    async (requestOverrides) => {
      await open({ keys, requestOverrides, policy: { toolOutput: { largeOutputThreshold: 1000 } } })
      const headers = bearer('scoped')
      const thread = await talk(headers)
      const { routes } = createGateway()
      for (const [index, route] of routes.entries()) {
        const directory = join(folder, `by-route-${index}`)
        const policy = pathPolicy(directory)
        const path = route.path
          .replace('/api/threads/:id', `/api/threads/${thread}`)
          .replace(/:\w+/g, '1')
          .replace('*', 'x')
        const isRead = route.method === 'GET' || route.method === 'DELETE'
        if (route.method === 'DELETE' || route.path === '/api/events') continue
        const model = { model: 'm', messages, input: messages, oriel: { policy } }
        const bodies = [{ policy }, { policy, from: 'start' }, { ...model, policy }, policy]
        for (const body of isRead ? [undefined] : bodies) {
          const answer = await call(
            `${path}?toolOutputDirectory=${encodeURIComponent(directory)}`,
            {
              method: route.method === 'ALL' ? 'POST' : route.method,
              headers: { ...headers, 'x-oriel-policy': JSON.stringify(policy) },
              ...(body === undefined ? {} : { body }),
            },
          )
          expect(JSON.stringify(answer.json), path).not.toMatch(/EACCES|ENOENT|EEXIST|Saved to/)
        }
        expect(existsSync(directory), path).toBe(false)
      }
    },
  )

  it('[C5] is refused with its name on every route that takes a policy', async () => {
    await open({ keys })
    const headers = bearer('scoped')
    const thread = await talk(headers)
    const policy = pathPolicy(join(folder, 'any'))
    const model = { model: 'm', messages }
    const taking = [
      [`/api/threads/${thread}/what-if`, { policy }],
      [`/api/threads/${thread}/what-if`, { policy, from: 'start' }],
      [`/api/threads/${thread}/policy`, { policy }],
      ['/v1/preview', { ...model, oriel: { policy } }],
      ['/v1/chat/completions', { ...model, oriel: { policy } }],
      ['/v1/messages', { ...model, max_tokens: 5, oriel: { policy } }],
      ['/v1/responses', { model: 'm', input: 'Hi.', oriel: { policy } }],
    ] as const
    for (const [path, body] of taking) {
      const { status, json } = await call(path, { body, headers })
      expect([path, status, JSON.stringify(json)]).toEqual([
        path,
        400,
        expect.stringMatching(/toolOutput\.directory: only the operator/),
      ])
    }
    const named = { ...headers, 'x-oriel-policy': JSON.stringify(policy) }
    for (const path of ['/v1/preview', '/v1/chat/completions']) {
      expect((await call(path, { body: model, headers: named })).status).toBe(400)
    }
    expect((await call('/api/settings', { headers: named })).status).toBe(400)
    expect(existsSync(join(folder, 'any'))).toBe(false)
  })

  it('[C5] is the operator’s own: calls keep files there, what-if and preview do not, and no answer tells it', async () => {
    const directory = join(folder, 'own')
    await open({ policy: pathPolicy(directory) })
    const body = { model: 'm', messages }
    const shown = await call('/v1/preview', { body })
    expect(JSON.stringify(shown.json.messages)).toContain('tool output too large')
    expect(existsSync(directory)).toBe(false)
    const thread = await talk()
    expect(existsSync(directory)).toBe(true)
    const policy = { toolOutput: { largeOutputThreshold: 500 } }
    for (const from of ['now', 'start']) {
      const other = await call(`/api/threads/${thread}/what-if`, { body: { policy, from } })
      expect(other.status).toBe(200)
    }
    const info = await call('/api/info')
    const settings = await call('/api/settings')
    const summary = await call(`/api/threads/${thread}`)
    for (const { json } of [info, settings, summary]) {
      expect(JSON.stringify(json)).not.toContain(folder)
      expect(JSON.stringify(json)).toContain('largeOutputThreshold')
    }
    expect(JSON.stringify(shown.json.policy)).not.toContain(folder)
  })
})

describe('the policy of a thread', () => {
  const short = { toolOutput: { maxLines: 5 } }

  it.each([
    ['deny', 'scoped', 403],
    ['deny', 'admin', 403],
    ['scoped-key', 'plain', 403],
    ['scoped-key', 'scoped', 200],
    ['allow', 'plain', 200],
  ] as const)(
    '[C3] is set by a caller that may override: %s, %s',
    async (requestOverrides, name, status) => {
      await open({ keys, requestOverrides })
      const headers = bearer(name)
      const thread = await talk(headers)
      const answer = await call(`/api/threads/${thread}/policy`, {
        body: { policy: short },
        headers,
      })
      expect(answer.status).toBe(status)
    },
  )

  it('[C1] keeps what the environment locks, and the ceilings', async () => {
    await open({ env: { ORIEL_HISTORY_LENGTH: '3' }, ceilings: { 'toolOutput.maxLines': 10 } })
    const thread = await talk()
    const policy = { history: { length: 50 }, toolOutput: { maxLines: 500 } }
    await call(`/api/threads/${thread}/policy`, { body: { policy } })
    const { json } = await call(`/api/threads/${thread}`)
    expect(json.policy).toMatchObject({ history: { length: 3 }, toolOutput: { maxLines: 10 } })
  })

  it('[GW14] is that of its agent in the next call, whatever was set before', async () => {
    await open()
    const headers = { 'x-session-id': 'one' }
    const ask = async (history: readonly object[]) =>
      call('/v1/chat/completions', { body: { model: 'm', messages: history }, headers })
    const thread = (await ask(messages)).headers.get('x-oriel-thread')
    const body = { policy: { history: { policy: 'none' } } }
    expect((await call(`/api/threads/${thread}/policy`, { body })).status).toBe(200)
    const more = [...messages, { role: 'assistant', content: 'Yes.' }]
    const again = await ask([...more, { role: 'user', content: 'And now?' }])
    expect(again.headers.get('x-oriel-thread')).toBe(thread)
    expect(target.upstream.requests.at(-1)?.body.messages).toHaveLength(5)
  })
})

describe('x-oriel-management: off', () => {
  const off = { 'x-oriel-management': 'off' }
  const isManaged = async (headers: Record<string, string>) => {
    const { headers: got } = await call('/v1/chat/completions', {
      body: { model: 'm', messages },
      headers: { ...headers, ...off },
    })
    const isRefused = got.get('x-oriel-warnings')?.includes('management off') ?? false
    expect(isRefused).toBe(got.get('x-oriel-managed') !== 'false')
    return isRefused
  }

  it.each([
    ['allow', 'plain', {}, false],
    ['allow', 'plain', { ORIEL_HISTORY_LENGTH: '3' }, true],
    ['allow', 'admin', { NEXT_PUBLIC_DEFAULT_HISTORY_POLICY: 'lastN' }, true],
    ['scoped-key', 'plain', {}, true],
    ['scoped-key', 'scoped', {}, false],
    ['scoped-key', 'scoped', { ORIEL_TOOL_OUTPUT_MAX_LINES: '9' }, true],
    ['deny', 'scoped', {}, true],
    ['deny', 'admin', {}, true],
  ] as const)(
    '[C3] is an override like any other: %s, %s, %j',
    async (requestOverrides, name, env, expected) => {
      await open({ keys, requestOverrides, env })
      expect(await isManaged(bearer(name))).toBe(expected)
    },
  )
})

describe('stored settings of an agent', () => {
  const agents = { helper: { chatSettings: { historyPolicy: 'lastN', historyLength: 9 } } }
  const store = async (name: string, historyLength: number) =>
    (
      await call('/api/agents/helper/settings', {
        method: 'PUT',
        body: { historyPolicy: 'lastN', historyLength },
        headers: bearer(name),
      })
    ).status
  const lengthFor = async (name: string) => {
    const { json } = await call('/api/settings?agent=helper', { headers: bearer(name) })
    return (json.chat as Answer).historyLength
  }

  it('[C7] hold for the tenant that stored them, those of an admin for all that have none', async () => {
    const kept = memoryStore()
    await open({ keys, agents, store: kept })
    expect(await store('scoped', 2)).toBe(200)
    expect([await lengthFor('scoped'), await lengthFor('plain')]).toEqual([2, 2])
    expect([await lengthFor('other'), await lengthFor('admin')]).toEqual([9, 9])
    expect(await store('admin', 5)).toBe(200)
    expect([await lengthFor('scoped'), await lengthFor('other')]).toEqual([2, 5])
    // Another process reads the same.
    await target.close()
    await open({ keys, agents, store: kept })
    const body = { model: 'helper', messages: [{ role: 'user', content: 'Hi.' }] }
    const lengths = []
    for (const name of ['other', 'scoped', 'admin']) {
      const { json } = await call('/v1/preview', { body, headers: bearer(name) })
      lengths.push((json.policy as { history: Answer }).history.length)
    }
    expect(lengths).toEqual([5, 2, 5])
  })

  it.each([
    ['allow', 'plain', 403],
    ['allow', 'scoped', 200],
    ['scoped-key', 'plain', 403],
    ['scoped-key', 'scoped', 200],
    ['deny', 'scoped', 403],
    ['deny', 'admin', 403],
  ] as const)('[C7] need the right to override: %s, %s', async (requestOverrides, name, status) => {
    await open({ keys, agents, requestOverrides })
    expect(await store(name, 2)).toBe(status)
    expect(await lengthFor('scoped')).toBe(status === 200 ? 2 : 9)
  })

  it('[C7] stay below the ceilings and the environment', async () => {
    await open({ keys, agents, ceilings: { 'history.length': 20 } })
    expect(await store('admin', 21)).toBe(400)
    expect(await store('scoped', 20)).toBe(200)
    await target.close()
    await open({ keys, agents, env: { ORIEL_HISTORY_LENGTH: '4' } })
    expect(await store('scoped', 20)).toBe(200)
    expect(await lengthFor('scoped')).toBe(4)
  })
})
