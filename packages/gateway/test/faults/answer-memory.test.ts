// Memory that answers take: bounded by answer and for all calls, and free again when the client has its answer or is gone.

import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import { dialects, spokenFormats } from '../dialect.ts'
import { openGateway, type Target, type TargetOptions } from '../target.ts'
import { reply } from '../upstream/action.ts'
import { headOf, logOf, newestThread, openWire, say, until } from './raw-client.ts'

let target: Target | undefined
afterEach(() => target?.close())

async function open(options: TargetOptions): Promise<Target> {
  target = await openGateway(options)
  return target
}

async function metric(url: string, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const line = text.split('\n').find((one) => one.startsWith(`${name} `))
  return Number(line?.slice(name.length + 1))
}

const reserved = (url: string): Promise<number> => metric(url, 'oriel_memory_reserved_bytes')
const tooLarge = 'oriel_answers_truncated_total{code="too-large"}'

const kinds = spokenFormats.flatMap((format) =>
  [false, true].map((isStream) => ({ format, isStream })),
)

describe.each(kinds)('$format, streamed: $isStream', ({ format, isStream }) => {
  it('[GW93] an answer above the bound reaches the client whole, and the log as far as it fits, marked', async () => {
    const text = 'A long answer, word by word. '.repeat(20_000)
    const direct = await openGateway({ answer: () => reply({ text }) })
    const whole = await (await say(direct.upstream.url, format, 'Hello', { isStream })).text()
    await direct.close()
    const lines: string[] = []
    const { url } = await open({
      answer: () => reply({ text }),
      gateway: { limits: { answerBytes: 100_000 }, log: (line) => lines.push(line) },
    })
    const response = await say(url, format, 'Hello', { isStream })
    // Ids and times differ from one answer to the next.
    expect((await response.text()).length).toBeGreaterThan(whole.length - 1000)
    const isMarked = async (): Promise<boolean> =>
      (await logOf(url, response)).some(
        (entry) =>
          entry.type === 'message' &&
          entry.kind === 'interrupted' &&
          JSON.stringify(entry).includes('too-large'),
      )
    await until(isMarked)
    const kept = JSON.stringify(await logOf(url, response))
    expect(kept.length).toBeLessThan(300_000)
    if (isStream) expect(kept).toContain('A long answer, word by word.')
    expect(await metric(url, tooLarge)).toBe(1)
    expect(lines).toContainEqual(expect.stringContaining('too-large'))
    expect(await reserved(url)).toBe(0)
  })

  it('[GW93] an answer that finds no memory left reaches the client whole', async () => {
    const text = 'word '.repeat(20_000)
    const { promise, resolve } = Promise.withResolvers<void>()
    const { url, upstream } = await open({
      answer: async ({ raw }) => {
        if (raw.includes('Waits')) await promise
        return reply({ text })
      },
      gateway: { limits: { totalBytes: 60_000 } },
    })
    const other = say(url, format, `Waits ${'word '.repeat(2000)}`)
    await upstream.arrived(1)
    const response = await say(url, format, 'Hello', { isStream })
    expect((await response.text()).length).toBeGreaterThan(text.length)
    expect(await metric(url, tooLarge)).toBe(1)
    resolve()
    // Alone it has all the room that it needs.
    expect((await (await other).text()).length).toBeGreaterThan(text.length)
    expect(await metric(url, tooLarge)).toBe(1)
    await until(async () => (await reserved(url)) === 0)
  })

  it('[GW93] clients that never read are let go, and what was reserved for them is free', async () => {
    const count = isStream ? 5 : 3
    const bytes = 12_000_000
    const text = isStream ? '' : 'x'.repeat(bytes)
    const { url, upstream } = await open({
      answer: ({ raw }) => {
        if (!raw.includes('never')) return reply({ text: 'Quick.' })
        return isStream ? { type: 'flood', bytes: 4 * bytes } : reply({ text })
      },
      gateway: { limits: { slowClientMs: 400 } },
    })
    const dialect = dialects[format]
    const body = JSON.stringify({
      ...dialect.body([dialect.user('never')], []),
      stream: isStream,
    })
    const wires = await Promise.all(Array.from({ length: count }, () => openWire(url)))
    for (const { socket } of wires) {
      socket.pause()
      socket.write(headOf(format, [`content-length: ${Buffer.byteLength(body)}`]) + body)
    }
    await upstream.arrived(count)
    await until(async () => (await reserved(url)) > 0, 20_000)
    await until(async () => (await reserved(url)) === 0, 40_000)
    expect(await metric(url, 'oriel_upstream_requests_active')).toBe(0)
    for (const { socket } of wires) socket.resume()
    await Promise.all(wires.map(({ closed }) => closed))
    for (const { received } of wires) expect(received().length).toBeLessThan(bytes)
    expect((await say(url, format, 'Quick?')).status).toBe(200)
  })
})

describe('a compressed answer where the model has a tool of the gateway', () => {
  it.each(spokenFormats)('[GW92] %s reaches the client plain', async (format) => {
    const plain = await openGateway({ answer: () => reply({ text: 'Unpacked.' }) })
    const response = await say(plain.upstream.url, format, 'Hello')
    const bytes = Buffer.from(await response.arrayBuffer())
    await plain.close()
    const { url } = await open({
      answer: () => ({
        type: 'raw',
        status: 200,
        headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
        body: gzipSync(bytes),
      }),
      gateway: { expand: true },
    })
    const got = await say(url, format, 'Hello')
    expect(got.headers.get('content-encoding')).toBe(null)
    expect(Buffer.from(await got.arrayBuffer())).toEqual(bytes)
    expect(JSON.stringify(await logOf(url, await newestThread(url)))).toContain('Unpacked.')
  })
})
