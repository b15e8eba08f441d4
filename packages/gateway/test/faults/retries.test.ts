// How often an upstream is asked (RELIABILITY T23, F14, F17): once, except where a second time is safe and useful.

import { createGateway, serveGateway } from '@oriel/gateway'
import type { WireFormat } from 'oriel'
import { afterEach, describe, expect, it } from 'vitest'
import { dialects, spokenFormats } from '../dialect.ts'
import { closedAddress, openGateway, type Target, type TargetOptions } from '../target.ts'
import { type Action, reply } from '../upstream/action.ts'
import type { Asked } from '../upstream/upstream.ts'
import { logOf, post, say } from './raw-client.ts'

let target: Target | undefined
afterEach(() => target?.close())

async function open(options: TargetOptions): Promise<Target> {
  target = await openGateway(options)
  return target
}

const statuses = [400, 401, 403, 404, 408, 409, 413, 429, 500, 502, 503, 529]

describe.each(spokenFormats)('%s', (format) => {
  it.each(statuses)('[GW52] a %i is passed on as it is, and asked for once', async (status) => {
    const { url, upstream } = await open({
      answer: () => ({
        type: 'error',
        status,
        headers: { 'x-strange': 'kept', 'retry-after': '7' },
      }),
    })
    for (const isStream of [false, true]) {
      const response = await say(url, format, `Hello ${isStream}`, { isStream })
      expect(response.status).toBe(status)
      expect(response.headers.get('x-strange')).toBe('kept')
      expect(response.headers.get('retry-after')).toBe('7')
      expect(response.headers.get(format === 'anthropic' ? 'request-id' : 'x-request-id')).toMatch(
        /^req_/,
      )
      const body = (await response.json()) as { error: { message: string } }
      expect(body.error.message.length).toBeGreaterThan(5)
    }
    // A body that is too large for the provider may be cured by a smaller one; these have nothing to give.
    expect(upstream.requests).toHaveLength(2)
  })

  it('[GW52] a call that is too long is made smaller and asked again, once, and the question is logged once', async () => {
    const { url, upstream } = await open({
      window: 3000,
      answer: () => reply({ text: 'Fits.' }),
      gateway: { policy: {} },
    })
    const response = await post(url, format, { body: JSON.stringify(longBody(format)) })
    expect(response.status).toBe(200)
    expect(upstream.requests.map(({ isTooLong }) => isTooLong)).toEqual([true, false])
    expect(upstream.breaches).toEqual([])
    const entries = await logOf(url, response)
    const said = entries.filter((entry) => JSON.stringify(entry).includes('And now?'))
    expect(said.filter(({ type }) => type === 'message')).toHaveLength(1)
  })

  it('[GW52] a call that stays too long is refused in the words of the provider, after two attempts', async () => {
    // Not even the newest question fits.
    const { url, upstream } = await open({ window: 5, answer: () => reply({ text: 'Never.' }) })
    const response = await post(url, format, { body: JSON.stringify(longBody(format)) })
    expect(response.status).toBe(400)
    expect(await response.text()).toMatch(/context_length_exceeded|prompt is too long/)
    expect(upstream.requests.length).toBeLessThanOrEqual(2)
  })

  it.each([400, 500])(
    '[GW52] a %i that speaks of something else is not taken for a long call',
    async (status) => {
      const message =
        "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40."
      const { url, upstream } = await open({ answer: () => ({ type: 'error', status, message }) })
      expect((await post(url, format, { body: JSON.stringify(longBody(format)) })).status).toBe(
        status,
      )
      expect(upstream.requests).toHaveLength(1)
    },
  )

  it('[GW52] an upstream that is not there is an error of the gateway, in the shape of the API', async () => {
    const baseUrl = await closedAddress()
    const { url } = await open({
      answer: () => reply({ text: 'never' }),
      gateway: { upstreams: [{ name: 'gone', baseUrl }] },
    })
    const response = await say(url, format, 'Hello')
    expect(response.status).toBe(502)
    const text = await response.text()
    expect(JSON.parse(text)).toHaveProperty('error.message')
    expect(text).not.toContain(new URL(baseUrl).port)
  })

  it('[GW52] retries that the operator asks for are bounded, and a refusal is never one of them', async () => {
    const answer = ({ raw, index }: Asked): Action => {
      if (raw.includes('refuse')) return { type: 'error', status: 400 }
      const isLate = raw.includes('late') && index >= 2
      return isLate
        ? reply({ text: 'At last.' })
        : { type: 'error', status: 429, headers: { 'retry-after': '0' } }
    }
    const { url, upstream } = await open({ answer, retries: 2 })
    expect((await say(url, format, 'late')).status).toBe(200)
    expect(upstream.requests).toHaveLength(3)
    expect((await say(url, format, 'never')).status).toBe(429)
    expect(upstream.requests).toHaveLength(6)
    expect((await say(url, format, 'refuse')).status).toBe(400)
    expect(upstream.requests).toHaveLength(7)
  })
})

describe('loops and redirects', () => {
  it('[GW52] a gateway that points at itself stops after one round', async () => {
    const gateways: { close(): Promise<void> }[] = []
    // The address is known only after listening: a second gateway before the first closes the circle.
    const address = await closedAddress()
    const inner = createGateway({ upstreams: [{ name: 'self', baseUrl: address }] })
    const server = await serveGateway(inner, {
      port: Number(new URL(address).port),
      host: '127.0.0.1',
    })
    gateways.push(server, inner)
    const response = await say(server.url, 'openai-chat', 'Hello')
    expect(response.status).toBe(508)
    for (const one of gateways) await one.close()
  })

  it('[GW52] a redirect is not followed', async () => {
    let foreign = 0
    const other = await openGateway({
      answer: () => {
        foreign += 1
        return reply({ text: 'stolen' })
      },
    })
    const { url } = await open({
      answer: () => ({
        type: 'raw',
        status: 307,
        headers: { location: `${other.upstream.url}/v1/chat/completions` },
      }),
    })
    const response = await say(url, 'openai-chat', 'Hello')
    expect(response.status).toBe(502)
    expect(foreign).toBe(0)
    await other.close()
  })
})

function longBody(format: WireFormat): unknown {
  const dialect = dialects[format]
  const history = Array.from({ length: 20 }, (_, index) =>
    index % 2 === 0
      ? dialect.user(`Question ${index} ${'word '.repeat(300)}`)
      : { role: 'assistant', content: `Answer ${index}` },
  )
  return dialect.body([...history, dialect.user('And now?')], [])
}
