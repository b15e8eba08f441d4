// Streams that break, hang or are not read (RELIABILITY T21, F15).

import type { WireFormat } from 'oriel'
import { afterEach, describe, expect, it } from 'vitest'
import { dialects, spokenFormats } from '../dialect.ts'
import { openGateway, type Target, type TargetOptions } from '../target.ts'
import { type Action, reply } from '../upstream/action.ts'
import { headOf, key, logOf, newestThread, openWire, post, say, until } from './raw-client.ts'

let target: Target | undefined
afterEach(() => target?.close())

async function open(options: TargetOptions): Promise<Target> {
  target = await openGateway(options)
  return target
}

/** Far below the time that the floods would take; a busy machine needs some of it. */
const generousMs = 10_000

const tool = { name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} } }

describe.each(spokenFormats)('%s', (format) => {
  it('[GW53] a stream cut after any event stays cut, is kept for people, and the next turn is valid', async () => {
    const whole = reply({
      reasoning: 'I think',
      text: 'Half an answer, no more than that.',
      calls: [['look', '{"id": 1}']],
    })
    const total = await countEvents(format, whole)
    const dialect = dialects[format]
    for (let cutAfter = 1; cutAfter < total; cutAfter++) {
      const { url, upstream, close } = await open({
        answer: ({ index }): Action =>
          index === 0 && whole.type === 'reply'
            ? { ...whole, delivery: { cutAfter } }
            : reply({ text: 'Whole.' }),
      })
      const history = [dialect.user('Hello')]
      const body = { ...dialect.body(history, [tool]), stream: true }
      const broken = await post(url, format, { body: JSON.stringify(body) })
      expect(broken.status).toBe(200)
      await expect(broken.text(), `after ${cutAfter}`).rejects.toThrow()
      const first = broken.headers.get('x-oriel-thread')
      await until(async () => (await logOf(url, broken)).some(isInterrupted))
      const next = await post(url, format, { body: JSON.stringify({ ...body, stream: false }) })
      expect(next.status).toBe(200)
      expect(next.headers.get('x-oriel-thread')).toBe(first)
      expect(upstream.breaches).toEqual([])
      expect(upstream.requests[1]?.body).toEqual({ ...upstream.requests[0]?.body, stream: false })
      await close()
    }
    target = undefined
  })

  it('[GW53] a stream that hangs is ended after a while, and the client sees that it was', async () => {
    const { url, upstream } = await open({
      answer: () => ({ type: 'hang', after: 'events' }),
      gateway: { limits: { idleMs: 300 } },
    })
    const response = await say(url, format, 'Hello', { isStream: true })
    await expect(response.text()).rejects.toThrow()
    expect(await upstream.requests[0]?.ended).toBe('aborted')
  })

  it('[GW53] an upstream that never answers is given up', async () => {
    const { url, upstream } = await open({
      answer: () => ({ type: 'hang', after: 'nothing' }),
      gateway: { limits: { firstByteMs: 300 } },
    })
    const response = await say(url, format, 'Hello')
    expect(response.status).toBe(504)
    expect(JSON.stringify(await response.json())).toContain('error')
    expect(await upstream.requests[0]?.ended).toBe('aborted')
    expect(upstream.requests).toHaveLength(1)
  })

  it('[GW53] a whole answer that is cut is an error, never half an answer', async () => {
    const { url } = await open({ answer: () => reply({ text: 'x'.repeat(5000) }, { cutAfter: 0 }) })
    const outcome = await say(url, format, 'Hello')
      .then(async (response) => (response.ok ? response.text() : 'refused'))
      .catch(() => 'broken')
    expect(['refused', 'broken']).toContain(outcome)
  })

  it('[GW53] answers that contain events, line ends and marks of streams arrive as they are', async () => {
    const nasty = 'a\n\ndata: [DONE]\n\nevent: error\ndata: {}\r\n\r\n: x\u2028\u2029\u0000 🚢 "}'
    const { url } = await open({ answer: () => reply({ text: nasty }, { chunkBytes: 3 }) })
    const whole = (await (await say(url, format, 'Hello')).json()) as Record<string, unknown>
    expect(dialects[format].read(whole).text).toBe(nasty)
    const entries = await logOf(url, await newestThread(url))
    expect(JSON.stringify(entries)).toContain(JSON.stringify(nasty).slice(1, -1))
  })
})

describe('readers that do not read', () => {
  it('[GW57] an upstream is read only as fast as its client reads, and slow ones are let go', async () => {
    const bytes = 64 * 1024 * 1024
    const { url, upstream } = await open({
      answer: ({ raw }) =>
        raw.includes('flood') ? { type: 'flood', bytes } : reply({ text: 'Quick.' }),
      gateway: { limits: { slowClientMs: 700, concurrentCalls: 21 } },
    })
    const body = JSON.stringify({
      ...dialects['openai-chat'].body([dialects['openai-chat'].user('flood')], []),
      stream: true,
    })
    const wires = await Promise.all(Array.from({ length: 20 }, () => openWire(url)))
    for (const { socket } of wires) {
      socket.pause()
      socket.write(headOf('openai-chat', [`content-length: ${Buffer.byteLength(body)}`]) + body)
    }
    await upstream.arrived(20)
    await until(() => upstream.requests.every(({ bytesSent }) => bytesSent > 0))
    const begun = performance.now()
    expect((await say(url, 'openai-chat', 'Quick?')).status).toBe(200)
    expect(performance.now() - begun).toBeLessThan(generousMs)
    const floods = upstream.requests.filter(({ raw }) => raw.includes('flood'))
    const endings = await Promise.all(floods.map(({ ended }) => ended))
    expect(endings).toEqual(Array.from({ length: 20 }, () => 'aborted'))
    for (const { bytesSent } of floods) expect(bytesSent).toBeLessThan(bytes / 4)
    // Their connections are gone, and their places are free again: all of them at once find one.
    for (const { socket } of wires) socket.resume()
    await Promise.all(wires.map(({ closed }) => closed))
    const again = Array.from({ length: 21 }, () => say(url, 'openai-chat', 'Quick?'))
    expect((await Promise.all(again)).map(({ status }) => status)).toEqual(Array(21).fill(200))
  })
})

function isInterrupted(entry: { readonly type: string; readonly kind?: unknown }): boolean {
  return entry.type === 'message' && entry.kind === 'interrupted'
}

/** How many events a whole answer has. */
async function countEvents(format: WireFormat, whole: Action): Promise<number> {
  const { url, close } = await open({ answer: () => whole })
  const dialect = dialects[format]
  const body = { ...dialect.body([dialect.user('Hello')], [tool]), stream: true }
  const response = await fetch(url + dialect.path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  await close()
  return text.split('\n\n').length - 1
}
