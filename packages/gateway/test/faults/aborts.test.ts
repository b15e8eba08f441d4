// Clients that leave (RELIABILITY T22): the upstream learns it at once, whatever was continuing.

import { afterEach, describe, expect, it } from 'vitest'
import { dialects, spokenFormats } from '../dialect.ts'
import { openGateway, type Target, type TargetOptions } from '../target.ts'
import { reply } from '../upstream/action.ts'
import { headOf, logOf, newestThread, openWire, post, say, until } from './raw-client.ts'

let target: Target | undefined
afterEach(() => target?.close())

async function open(options: TargetOptions): Promise<Target> {
  target = await openGateway(options)
  return target
}

/** How soon the upstream must know: a second, and more on a busy machine. */
const soonMs = 3000

describe.each(spokenFormats)('%s', (format) => {
  it('[GW54] in the middle of its own body: nothing is sent', async () => {
    const { url, upstream } = await open({ answer: () => reply({ text: 'ok' }) })
    const wire = await openWire(url)
    wire.socket.write(`${headOf(format, ['content-length: 1000'])}{"model":"m",`)
    await new Promise((resolve) => setTimeout(resolve, 50))
    wire.socket.destroy()
    expect((await say(url, format, 'Hello')).status).toBe(200)
    expect(upstream.requests).toHaveLength(1)
  })

  it.each([
    ['before the upstream has said anything', 'nothing', false],
    ['before the first event', 'headers', true],
    ['after some events', 'events', true],
  ] as const)('[GW54] %s', async (_, after, isStream) => {
    const { url, upstream } = await open({ answer: () => ({ type: 'hang', after }) })
    const controller = new AbortController()
    const { signal } = controller
    const call = say(url, format, 'Hello', { isStream, signal })
    const request = await upstream.arrived(1)
    const left = call.then((response) => response.text())
    const failed = expect(left).rejects.toThrow()
    if (after === 'events') await until(() => request.bytesSent > 0)
    await new Promise((resolve) => setTimeout(resolve, 50))
    const begun = performance.now()
    controller.abort()
    expect(await request.ended).toBe('aborted')
    expect(performance.now() - begun).toBeLessThan(soonMs)
    await failed
    await until(() => upstream.connections === 0)
  })

  it('[GW54] while a request that was too long is asked again', async () => {
    const dialect = dialects[format]
    let calls = 0
    const { url, upstream } = await open({
      window: 3000,
      answer: () => {
        calls += 1
        return { type: 'hang', after: 'nothing' }
      },
      gateway: { policy: {} },
    })
    const history = [
      ...Array.from({ length: 20 }, (_, index) =>
        index % 2 === 0
          ? dialect.user(`Question ${index} ${'word '.repeat(300)}`)
          : { role: 'assistant', content: `Answer ${index}` },
      ),
      dialect.user('And now?'),
    ]
    const controller = new AbortController()
    const body = JSON.stringify(dialect.body(history, []))
    const call = post(url, format, { body, signal: controller.signal })
    const failed = expect(call).rejects.toThrow()
    const second = await upstream.arrived(2)
    await until(() => calls === 1)
    expect(upstream.requests[0]?.isTooLong).toBe(true)
    controller.abort()
    expect(await second.ended).toBe('aborted')
    await failed
  })

  it('[GW54] what was said before is kept, and the same call again appends nothing twice', async () => {
    const text = 'A long answer, word by word. '.repeat(30)
    const { url, upstream } = await open({
      answer: ({ index }) => reply({ text }, index === 0 ? { eventDelayMs: 20 } : {}),
    })
    const controller = new AbortController()
    const response = await say(url, format, 'Hello', { isStream: true, signal: controller.signal })
    const reader = response.body?.getReader()
    const heard: Uint8Array[] = []
    while (Buffer.concat(heard).toString().split('word').length < 3) {
      const { value } = (await reader?.read()) ?? {}
      if (value !== undefined) heard.push(value)
    }
    controller.abort()
    expect(await upstream.requests[0]?.ended).toBe('aborted')
    const thread = await newestThread(url)
    await until(async () => JSON.stringify(await logOf(url, thread)).includes('interrupted'))
    const kept = JSON.stringify(await logOf(url, thread))
    expect(kept).toContain('A long answer, word by word.')
    const again = await say(url, format, 'Hello')
    expect(again.headers.get('x-oriel-thread')).toBe(thread)
    const entries = await logOf(url, thread)
    const asked = entries.filter((entry) => entry.type === 'message' && entry.role === 'user')
    expect(asked).toHaveLength(1)
  })
})
