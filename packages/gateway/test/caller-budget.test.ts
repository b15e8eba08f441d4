// What one caller asks for does not stop the others: over real HTTP, on a thread of which every entry is at hand at once.

import { createGateway, type Gateway, type GatewayServer, serveGateway } from '@oriel/gateway'
import { memoryStore, openThread } from 'oriel'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

let gateway: Gateway
let server: GatewayServer

beforeEach(async () => {
  const store = memoryStore()
  const thread = await openThread({ id: 'long', tenant: 'local', store, snapshotEvery: 0 })
  const said = Array.from({ length: 6000 }, (_, n) => ({
    role: n % 2 === 0 ? 'user' : 'assistant',
    content: `${n} ${'Some words of a long conversation. '.repeat(40)}`,
  }))
  await thread.append(said)
  gateway = createGateway({ store, limits: { lateMs: 0 } })
  server = await serveGateway(gateway, { port: 0 })
})
afterEach(async () => {
  await server.close()
  await gateway.close()
})

/** How many health checks are answered, one after the other, while something else is under way. */
async function pulsesDuring(work: Promise<unknown>): Promise<number> {
  let isOver = false
  const over = work.finally(() => {
    isOver = true
  })
  let pulses = 0
  while (!isOver) {
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
    pulses += 1
  }
  await over
  return pulses
}

describe('while a long thread is read for somebody', () => {
  it.each([
    '?search=nowhere-in-it',
    '/long',
    '/long/timeline',
    '/long/requests',
    '/long/edits',
    '/long/export',
  ])('[GW83] others are answered: /api/threads%s', async (path) => {
    const read = fetch(`${server.url}/api/threads${path}`).then((response) => response.text())
    expect(await pulsesDuring(read)).toBeGreaterThan(3)
  })

  it('[GW83] a policy of a megabyte is refused before it is looked at', async () => {
    const row = { after: 1, mode: 'remove' }
    const tools = Object.fromEntries(
      Array.from({ length: 20_000 }, (_, n) => [`*a*b*c*d*${n}-${'x'.repeat(20)}`, row]),
    )
    const policy = { expiry: { tools } }
    const messages = [{ role: 'user', content: 'Hi.' }]
    for (const [path, body] of [
      ['/v1/chat/completions', { model: 'm', messages, oriel: { policy } }],
      ['/v1/preview', { model: 'm', messages, oriel: { policy } }],
      ['/api/threads/long/what-if', { policy, from: 'start' }],
      ['/api/threads/long/policy', { policy }],
    ] as const) {
      const init = { method: 'POST', body: JSON.stringify(body) }
      const response = await fetch(`${server.url}${path}`, init)
      expect([path, response.status]).toEqual([path, 400])
      expect(await response.text()).toContain('more than 65536 characters')
    }
  })
})
