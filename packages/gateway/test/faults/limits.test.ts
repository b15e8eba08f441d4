// Bodies that are too large, too deep, packed, or never end (RELIABILITY T19, T20, T21).

import { brotliCompressSync, gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import { dialects, spokenFormats } from '../dialect.ts'
import { openGateway, type Target, type TargetOptions } from '../target.ts'
import { reply } from '../upstream/action.ts'
import { headOf, openWire, post, say, until } from './raw-client.ts'

let target: Target | undefined
afterEach(() => target?.close())

async function open(gateway: TargetOptions['gateway'] = {}): Promise<Target> {
  target = await openGateway({ answer: () => reply({ text: 'ok' }), gateway })
  return target
}

const megabyte = 1024 * 1024
/** Far below the time that the slow connections need; a busy machine needs some of it. */
const generousMs = 10_000

describe.each(spokenFormats)('%s', (format) => {
  const bodyOf = (text: string): string =>
    JSON.stringify(dialects[format].body([dialects[format].user(text)], []))

  it('[GW57] refuses a body above the limit before anything is sent, in the shape of the API', async () => {
    const { url, upstream } = await open({ limits: { bodyBytes: megabyte } })
    const refused = await post(url, format, { body: bodyOf('x'.repeat(2 * megabyte)) })
    expect(refused.status).toBe(413)
    const error = ((await refused.json()) as { error: { message: string } }).error
    expect(error.message).toContain(String(megabyte))
    expect(upstream.requests).toEqual([])
    expect((await say(url, format, 'Still there?')).status).toBe(200)
  })

  it('[GW57] stops reading a body without a length at the limit', async () => {
    const { url, upstream } = await open({ limits: { bodyBytes: megabyte } })
    let sent = 0
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += 65_536
        if (sent > 1024 * megabyte) controller.close()
        else controller.enqueue(new Uint8Array(65_536).fill(32))
      },
    })
    const outcome = await post(url, format, { body: endless }).then(
      ({ status }) => status,
      () => 'closed',
    )
    expect([413, 'closed']).toContain(outcome)
    expect(sent).toBeLessThan(64 * megabyte)
    expect(upstream.requests).toEqual([])
  })

  it('[GW57] refuses packed bodies, which may be bombs', async () => {
    const { url, upstream } = await open()
    const bombs = [
      ['br', brotliCompressSync(Buffer.alloc(16 * megabyte))],
      ['gzip', gzipSync(Buffer.alloc(16 * megabyte))],
    ] as const
    for (const [encoding, body] of bombs) {
      const headers = { 'content-encoding': encoding }
      expect((await post(url, format, { body, headers })).status).toBe(415)
    }
    expect(upstream.requests).toEqual([])
  })

  it.each([
    ['that is no JSON', '{"model":', 400],
    ['that is a list', '[]', 400],
    ['nested without end', '['.repeat(100_000), 400],
    ['nested too deep', `{"model":"m","x":${'['.repeat(70)}${']'.repeat(70)}}`, 400],
    ['nested far too deep', `{"model":"m","x":${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}}`, 400],
    ['with too many values', `{"model":"m","x":[${'1,'.repeat(600_000)}1]}`, 413],
    ['that is not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 400],
  ])('[GW57] refuses a body %s', async (_, body, status) => {
    const { url, upstream } = await open()
    expect((await post(url, format, { body })).status).toBe(status)
    expect(upstream.requests).toEqual([])
    expect((await say(url, format, 'Still there?')).status).toBe(200)
  })

  it('[GW57] refuses more messages than it takes', async () => {
    const { url, upstream } = await open({ limits: { messages: 50 } })
    const dialect = dialects[format]
    const history = Array.from({ length: 51 }, (_, index) =>
      index % 2 === 0 ? dialect.user('a') : { role: 'assistant', content: 'b' },
    )
    const refused = await post(url, format, { body: JSON.stringify(dialect.body(history, [])) })
    expect(refused.status).toBeGreaterThanOrEqual(400)
    expect(refused.status).toBeLessThan(500)
    expect(upstream.requests).toEqual([])
  })

  it('[GW57] does not wait for ever for a body that was promised', async () => {
    const { url, upstream } = await open({ limits: { bodyMs: 200 } })
    const wire = await openWire(url)
    wire.socket.write(`${headOf(format, ['content-length: 1000'])}{"model":`)
    await until(() => wire.received().includes('408') || wire.socket.destroyed)
    wire.socket.destroy()
    expect(upstream.requests).toEqual([])
  })
})

describe('a body whose nesting would keep the parser busy', () => {
  const deep = '['.repeat(1000)
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  }

  it.each([
    ['/v1/chat/completions', deep],
    ['/v1/chat/completions', `{"model":"m","messages":[${deep}`],
    ['/v1/preview', deep],
    ['/api/threads/:id/expand', deep],
    ['/mcp', deep],
  ])('[GW57] is refused by %s before it is parsed', async (path, body) => {
    const { url, upstream } = await open()
    const thread = (await say(url, 'openai-chat', 'Hello')).headers.get('x-oriel-thread') ?? ''
    const address = `${url}${path.replace(':id', thread)}`
    const refused = await fetch(address, { method: 'POST', headers, body })
    expect(refused.status).toBe(400)
    // Parsed first, it would be no JSON: its brackets never close.
    expect(refused.headers.get('x-oriel-error')).toBe('too-deep')
    expect(upstream.requests).toHaveLength(1)
  })

  it('[GW57] is refused when it begins like one that was there before', async () => {
    const { url, upstream } = await open()
    const begun = `{"model":"m","messages":[{"role":"user","content":"${'x'.repeat(40_000)}"}`
    expect((await post(url, 'openai-chat', { body: `${begun}]}` })).status).toBe(200)
    const refused = await post(url, 'openai-chat', { body: `${begun},${deep}` })
    expect(refused.headers.get('x-oriel-error')).toBe('too-deep')
    expect(upstream.requests).toHaveLength(1)
  })

  it('[GW57] is told apart from one with a name that is no text', async () => {
    const { url } = await open()
    for (const path of ['/v1/chat/completions', '/mcp']) {
      const body = '{"\\x":1}'
      const refused = await fetch(`${url}${path}`, { method: 'POST', headers, body })
      expect(refused.status).toBe(400)
    }
  })
})

describe('many at once', () => {
  it('[GW57] answers a small call while fifty connections send one byte at a time', async () => {
    const { url } = await open()
    const wires = await Promise.all(Array.from({ length: 50 }, () => openWire(url)))
    const head = headOf('openai-chat', ['content-length: 500'])
    let sent = 0
    const timer = setInterval(() => {
      for (const { socket } of wires) socket.write(head.charAt(sent))
      sent += 1
    }, 10)
    try {
      const begun = performance.now()
      expect((await say(url, 'openai-chat', 'Quick?')).status).toBe(200)
      expect(performance.now() - begun).toBeLessThan(generousMs)
    } finally {
      clearInterval(timer)
      for (const { socket } of wires) socket.destroy()
    }
  })

  it('[GW57] takes large bodies side by side, and a small call between them', async () => {
    const { url, upstream } = await open({ limits: { bodyBytes: 8 * megabyte } })
    const large = JSON.stringify(
      dialects['openai-chat'].body(
        [dialects['openai-chat'].user('word '.repeat(megabyte / 5))],
        [],
      ),
    )
    const all = Array.from({ length: 8 }, () => post(url, 'openai-chat', { body: large }))
    const small = await say(url, 'openai-chat', 'Quick?')
    expect(small.status).toBe(200)
    for (const response of await Promise.all(all)) expect(response.status).toBe(200)
    expect(upstream.requests).toHaveLength(9)
  })

  it('[GW57] turns callers away above its number of calls, and takes them again afterwards', async () => {
    target = await openGateway({
      answer: () => reply({ text: 'ok ok ok ok ok ok ok ok ok ok ok ok' }, { eventDelayMs: 60 }),
      gateway: { limits: { concurrentCalls: 2 } },
    })
    const { url } = target
    const isStream = true
    const calls = await Promise.all(
      Array.from({ length: 6 }, (_, index) => say(url, 'anthropic', `Call ${index}`, { isStream })),
    )
    const statuses = calls.map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(2)
    expect(statuses.filter((status) => status === 429)).toHaveLength(4)
    await Promise.all(calls.map((response) => response.text()))
    expect((await say(url, 'anthropic', 'And now?')).status).toBe(200)
  })
})
