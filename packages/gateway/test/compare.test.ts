// Policies compared on one thread, over real HTTP.

import {
  type Comparison,
  createGateway,
  type Gateway,
  type GatewayServer,
  serveGateway,
} from '@oriel/gateway'
import { memoryStore, openThread, type Store } from 'oriel'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

let store: Store
let gateway: Gateway
let server: GatewayServer

const rule = 'From now on, always answer with the order number.'

beforeEach(async () => {
  store = memoryStore()
  const thread = await openThread({ id: 'said', tenant: 'local', store })
  await thread.append({ role: 'user', content: `Which orders failed? ${rule}` })
  for (let step = 0; step < 12; step++) {
    const call = { type: 'tool-call', callId: `c${step}`, name: 'read', arguments: '{"page":1}' }
    const content = `order W73${step}42 failed\n${'a line of the log\n'.repeat(60)}`
    await thread.append([
      { role: 'assistant', content: [call] },
      { role: 'tool', content: [{ type: 'tool-result', callId: `c${step}`, content }] },
    ])
  }
  // The first result is needed again.
  const again = { type: 'tool-call', callId: 'z', name: 'open', arguments: '{"order":"W73042"}' }
  await thread.append([
    { role: 'assistant', content: [again] },
    { role: 'tool', content: [{ type: 'tool-result', callId: 'z', content: 'opened' }] },
    { role: 'assistant', content: 'Order W73042 failed first.' },
    { role: 'user', content: 'And now?' },
  ])
  gateway = createGateway({ store })
  server = await serveGateway(gateway, { port: 0 })
})
afterEach(async () => {
  await server.close()
  await gateway.close()
})

type Line =
  | { readonly progress: number }
  | { readonly result: Comparison & { readonly version: number } }
  | { readonly error: { readonly code: string; readonly message: string } }

async function compared(policies: readonly unknown[]): Promise<readonly Line[]> {
  const response = await fetch(`${server.url}/api/threads/said/compare`, {
    method: 'POST',
    body: JSON.stringify({ policies }),
  })
  expect(response.status).toBe(200)
  const lines = (await response.text()).trim().split('\n')
  return lines.map((line) => JSON.parse(line) as Line)
}

describe('policies on one thread', () => {
  it('[GW117] are compared by what they send, cost and keep, with progress, and nothing is stored', async () => {
    const before = await store.info({ tenant: 'local', thread: 'said' })
    const lines = await compared([
      {},
      { history: { policy: 'none' } },
      { toolResults: { max: 1, cutoff: 0 } },
    ])
    const shares = lines.flatMap((line) => ('progress' in line ? [line.progress] : []))
    expect(shares.length).toBeGreaterThan(3)
    expect(shares).toEqual(shares.toSorted((a, b) => a - b))
    const last = lines.at(-1)
    if (last === undefined || !('result' in last)) throw new Error('There is no result.')
    const [everything, none, placeholders] = last.result.outcomes
    expect(everything?.replay).toMatchObject({ steps: 14, breaks: 0, folds: 0 })
    expect(everything?.forms).toMatchObject({ omitted: 0, dropped: 0 })
    expect(everything?.rules).toEqual({ stated: 1, kept: 1 })
    const { needed = 0, visible = 0 } = everything?.replay?.facts ?? {}
    expect(needed).toBeGreaterThan(0)
    expect(visible).toBe(needed)
    expect(none?.rules).toEqual({ stated: 1, kept: 0 })
    expect(placeholders?.forms.omitted).toBeGreaterThan(8)
    expect(placeholders?.tokens).toBeLessThan(everything?.tokens ?? 0)
    expect(placeholders?.replay?.input).toBeLessThan(everything?.replay?.input ?? 0)
    expect(last.result.different.count).toBeGreaterThan(0)
    expect(await store.info({ tenant: 'local', thread: 'said' })).toEqual(before)
  })

  it('[GW117] a wrong policy is named before anything is replayed', async () => {
    const response = await fetch(`${server.url}/api/threads/said/compare`, {
      method: 'POST',
      body: JSON.stringify({ policies: [{}, { history: { polcy: 1 } }] }),
    })
    expect(response.status).toBe(400)
    expect(await response.text()).toContain("unknown key 'polcy'")
  })

  it('[GW117] ends when the caller leaves, and the gateway goes on', async () => {
    const left = new AbortController()
    const response = await fetch(`${server.url}/api/threads/said/compare`, {
      method: 'POST',
      body: JSON.stringify({ policies: [{}, {}, {}, {}] }),
      signal: left.signal,
    })
    const reader = response.body?.getReader()
    expect(new TextDecoder().decode((await reader?.read())?.value)).toContain('progress')
    left.abort()
    await expect(reader?.read()).rejects.toThrow()
    // Nothing of it is under way any more: as many replays as a tenant may have begin again.
    const again = await compared([{}])
    expect(again.at(-1)).toHaveProperty('result')
  })

  it('[GW118] threads that another program wrote are listed for who sees every tenant', async () => {
    const imported = await openThread({ id: 'imported', tenant: 'default', store })
    await imported.append({ role: 'user', content: 'From elsewhere.' })
    const { threads } = (await (await fetch(`${server.url}/api/threads`)).json()) as {
      threads: readonly { id: string; tenant: string }[]
    }
    expect(threads.map(({ id, tenant }) => [id, tenant])).toEqual(
      expect.arrayContaining([['imported', 'default']]),
    )
    const other = await fetch(`${server.url}/api/threads`, {
      headers: { authorization: 'Bearer somebody' },
    })
    expect(await other.json()).toEqual({ threads: [] })
  })
})
