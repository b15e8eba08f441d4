// More requests than an upstream may get at the same time: they wait in turn, within bounds, and those beyond are told to come again.

import type { WireFormat } from 'oriel'
import { afterEach, describe, expect, it } from 'vitest'
import { spokenFormats } from '../dialect.ts'
import { openGateway, type Target, type TargetOptions } from '../target.ts'
import { reply } from '../upstream/action.ts'
import { say, until } from './raw-client.ts'

let target: Target | undefined
afterEach(() => target?.close())

/** An upstream that answers nobody before `resolve`. */
async function open(
  limits: NonNullable<TargetOptions['gateway']>['limits'],
): Promise<{ readonly target: Target; readonly resolve: () => void }> {
  const { promise, resolve } = Promise.withResolvers<void>()
  target = await openGateway({
    gateway: { limits: { ...limits } },
    answer: async () => {
      await promise
      return reply({ text: 'Here it is.' })
    },
  })
  return { target, resolve }
}

/** What `/metrics` says of the upstreams. */
async function loadOf(url: string): Promise<{ active: number; waiting: number }> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const read = (name: string): number => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1])
  return {
    active: read('oriel_upstream_requests_active'),
    waiting: read('oriel_upstream_requests_waiting'),
  }
}

const as = (name: string): { headers: Record<string, string> } => ({
  headers: { authorization: `Bearer key-of-${name}` },
})

async function expectShed(response: Response, format: WireFormat): Promise<void> {
  expect(response.status).toBe(503)
  expect(response.headers.get('x-oriel-error')).toBe('upstream-busy')
  expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
  const { error } = (await response.json()) as { error: { type: string } }
  expect(error.type).toBe(format === 'anthropic' ? 'overloaded_error' : 'server_error')
}

describe.each(spokenFormats)('%s', (format) => {
  it('[GW91] requests beyond the queue of an upstream are shed, and the others are served when there is a slot', async () => {
    const { target, resolve } = await open({ upstreamCalls: 2, upstreamQueue: 3 })
    const { url, upstream } = target
    const served = ['One', 'Two'].map((text) => say(url, format, text, as('a')))
    await upstream.arrived(2)
    const waiting = ['Three', 'Four', 'Five'].map((text) => say(url, format, text, as('a')))
    await until(async () => (await loadOf(url)).waiting === 3)
    await expectShed(await say(url, format, 'Six', as('a')), format)
    expect(await loadOf(url)).toEqual({ active: 2, waiting: 3 })
    expect(upstream.requests).toHaveLength(2)
    resolve()
    for (const response of await Promise.all([...served, ...waiting])) {
      expect(response.status).toBe(200)
      expect(await response.text()).toContain('Here it is.')
    }
    await until(async () => (await loadOf(url)).active === 0)
    expect(await loadOf(url)).toEqual({ active: 0, waiting: 0 })
    const metrics = await (await fetch(`${url}/metrics`)).text()
    expect(metrics).toContain('oriel_calls_shed_total{code="upstream-busy"} 1')
  })

  it('[GW91] a request that waits too long for a slot is shed, and the upstream is never asked', async () => {
    const limits = [{ upstreamQueueMs: 100 }, { upstreamQueueMs: 600_000, firstByteMs: 300 }]
    for (const one of limits) {
      target = await openGateway({
        gateway: { limits: { upstreamCalls: 1, ...one } },
        answer: () => ({ type: 'hang', after: 'headers' }),
      })
      const { url, upstream, close } = target
      const first = await say(url, format, 'One', { ...as('a'), isStream: true })
      expect(first.status).toBe(200)
      await expectShed(await say(url, format, 'Two', as('b')), format)
      expect(upstream.requests).toHaveLength(1)
      // A call under way would hold up the close.
      await first.body?.cancel()
      await close()
    }
    target = undefined
  })
})

describe('tenants that wait for one upstream', () => {
  const format = 'openai-chat'

  it('[GW91] are served in turn, whoever asks for more', async () => {
    const { target, resolve } = await open({ upstreamCalls: 1, upstreamQueue: 100 })
    const { url, upstream } = target
    const first = say(url, format, 'first', as('a'))
    await upstream.arrived(1)
    const calls = [first]
    const enqueue = async (tenant: string, count: number): Promise<void> => {
      for (let index = 0; index < count; index++) {
        calls.push(say(url, format, `${tenant}${index}`, as(tenant)))
        await until(async () => (await loadOf(url)).waiting === calls.length - 1)
      }
    }
    await enqueue('a', 5)
    await enqueue('b', 2)
    await enqueue('c', 1)
    resolve()
    for (const response of await Promise.all(calls)) expect(response.status).toBe(200)
    const order = upstream.requests.map(({ raw }) => /"content":"(\w+)"/.exec(raw.toString())?.[1])
    expect(order).toEqual(['first', 'a0', 'b0', 'c0', 'a1', 'b1', 'a2', 'a3', 'a4'])
  })

  it('[GW91] lose the newest request of the one with most when the queue is full', async () => {
    const { target, resolve } = await open({ upstreamCalls: 1, upstreamQueue: 4 })
    const { url, upstream } = target
    const first = say(url, format, 'first', as('a'))
    await upstream.arrived(1)
    const greedy: Promise<Response>[] = []
    for (let index = 0; index < 4; index++) {
      greedy.push(say(url, format, `a${index}`, as('a')))
      await until(async () => (await loadOf(url)).waiting === index + 1)
    }
    // Two places for the newcomer: then both have as many, and nobody is shed for another one.
    const modest = [say(url, format, 'b0', as('b'))]
    await expectShed((await greedy[3]) as Response, format)
    modest.push(say(url, format, 'b1', as('b')))
    await expectShed((await greedy[2]) as Response, format)
    await expectShed(await say(url, format, 'b2', as('b')), format)
    resolve()
    const rest = await Promise.all([first, ...greedy.slice(0, 2), ...modest])
    expect(rest.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
  })

  it('[GW91] give their place up when their client leaves', async () => {
    const { target, resolve } = await open({ upstreamCalls: 1, upstreamQueue: 1 })
    const { url, upstream } = target
    const first = say(url, format, 'first', as('a'))
    await upstream.arrived(1)
    const controller = new AbortController()
    const left = say(url, format, 'left', { ...as('b'), signal: controller.signal })
    const failed = expect(left).rejects.toThrow()
    await until(async () => (await loadOf(url)).waiting === 1)
    controller.abort()
    await failed
    await until(async () => (await loadOf(url)).waiting === 0)
    const next = say(url, format, 'next', as('c'))
    await until(async () => (await loadOf(url)).waiting === 1)
    resolve()
    expect((await first).status).toBe(200)
    expect((await next).status).toBe(200)
    expect(upstream.requests).toHaveLength(2)
  })
})
