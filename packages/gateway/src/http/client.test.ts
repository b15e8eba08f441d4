import { once } from 'node:events'
import { createServer as createHttpServer, type Server as HttpServer } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { defaultLimits } from '../options.ts'
import { createUpstream, type Upstream, type UpstreamAnswer } from './client.ts'
import { readWhole } from './relay.ts'

/** In a thread of its own, so that it can close connections while the gateway is busy. */
const server = new Worker(
  `const { createServer } = require('node:http')
   const { parentPort } = require('node:worker_threads')
   const server = createServer((request, response) => {
     request.resume().on('end', () => {
       response.end('ok')
       setTimeout(() => request.socket.destroy(), 50)
     })
   })
   server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))`,
  { eval: true },
)
afterAll(() => server.terminate())
const [port] = (await once(server, 'message')) as [number]

describe('a connection that the upstream closed while the gateway was busy', () => {
  it.each([10, 3_000_000])('[GW52] is replaced for a body of %i bytes', async (size) => {
    const upstream = createUpstream(
      { name: 'u', baseUrl: `http://127.0.0.1:${port}` },
      defaultLimits,
    )
    const send = async (body: string): Promise<string> => {
      const { signal } = new AbortController()
      const request = { method: 'POST', path: '/v1/x', headers: [], body, signal }
      const chunks: Uint8Array[] = []
      for await (const chunk of (await upstream.send(request)).body) chunks.push(chunk)
      return Buffer.concat(chunks).toString()
    }
    expect(await send('first')).toBe('ok')
    // The connection is free again before the time passes in which nobody sees it closed.
    await nextTurn()
    await nextTurn()
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300)
    expect(await send('x'.repeat(size))).toBe('ok')
  })
})

describe('the headers of an answer', () => {
  it('[GW52] come with their names, order and bytes', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => {
        const head =
          'HTTP/1.1 200 OK\r\nX-Name: caf\xe9\r\nx-a: 1\r\nX-A: 2\r\nContent-Length: 0\r\n\r\n'
        socket.end(head, 'latin1')
      })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const upstream = createUpstream(
      { name: 'u', baseUrl: `http://127.0.0.1:${port}` },
      defaultLimits,
    )
    const { signal } = new AbortController()
    const request = { method: 'POST', path: '/v1/x', headers: [], body: '{}', signal }
    const { headers, body } = await upstream.send(request)
    for await (const _chunk of body) expect.unreachable()
    expect(headers).toEqual([
      ['X-Name', 'caf\u00e9'],
      ['x-a', '1'],
      ['X-A', '2'],
      ['Content-Length', '0'],
    ])
    server.close()
  })
})

describe('an upstream that answers with another protocol', () => {
  it('[GW53] has failed', async () => {
    const other = createServer((socket) => {
      socket.on('error', () => {})
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n')
    })
    other.listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const baseUrl = `http://127.0.0.1:${port}`
    const upstream = createUpstream({ name: 'u', baseUrl }, defaultLimits)
    const { signal } = new AbortController()
    const request = { method: 'POST', path: '/v1/x', headers: [], body: '{}', signal }
    await expect(upstream.send(request)).rejects.toThrow('The upstream broke off')
    other.close()
  })
})

/** An upstream that says something every few milliseconds, for ever. */
async function talking(first: string, again: string): Promise<{ baseUrl: string; close(): void }> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.write(first)
    const timer = setInterval(() => socket.write(again), 10)
    socket.once('close', () => clearInterval(timer))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { baseUrl: `http://127.0.0.1:${port}`, close: () => void server.close() }
}

describe('an upstream that is never quiet', () => {
  const { signal } = new AbortController()
  const request = { method: 'POST', path: '/v1/x', headers: [], body: '{}', signal }

  it.each([
    ['one byte of a header after another', 'HTTP/1.1 200 OK\r\nx-long: ', 'a'],
    ['one interim answer after another', '', 'HTTP/1.1 103 Early Hints\r\n\r\n'],
  ])('[GW53] is given up when it began no answer in time: %s', async (_, first, again) => {
    const { baseUrl, close } = await talking(first, again)
    const upstream = createUpstream({ name: 'u', baseUrl }, { ...defaultLimits, firstByteMs: 100 })
    await expect(upstream.send(request)).rejects.toMatchObject({
      refusal: { code: 'upstream-timeout' },
    })
    close()
  })

  it('[GW53] is given up when its answer does not end in time', async () => {
    const head = 'HTTP/1.1 400 Bad Request\r\ntransfer-encoding: chunked\r\n\r\n'
    const { baseUrl, close } = await talking(head, '1\r\n \r\n')
    const upstream = createUpstream({ name: 'u', baseUrl }, { ...defaultLimits, streamMs: 100 })
    const reading = readWhole(await upstream.send(request), 1_000_000)
    await expect(reading).rejects.toMatchObject({ refusal: { code: 'upstream-timeout' } })
    close()
  })
})

describe('a signal that aborts', () => {
  let server: HttpServer
  let upstream: Upstream
  let connections = 0
  beforeEach(async () => {
    connections = 0
    server = createHttpServer((incoming, response) => {
      incoming.resume()
      response.write('{"a":')
      response.end('1}')
    })
    server.on('connection', () => {
      connections += 1
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    upstream = createUpstream({ name: 'u', baseUrl }, defaultLimits)
  })
  afterEach(() => {
    server.closeAllConnections()
    server.close()
  })

  const ask = (signal: AbortSignal): Promise<UpstreamAnswer> =>
    upstream.send({ method: 'POST', path: '/v1/x', headers: [], body: '{}', signal })

  // An error on a socket without a listener is an uncaught exception, which fails the run.
  it('[GW25] after the answer was read ends nothing: the connection is used again', async () => {
    for (let count = 0; count < 5; count++) {
      const control = new AbortController()
      const bytes = await readWhole(await ask(control.signal), 1000)
      control.abort()
      expect(Buffer.from(bytes ?? []).toString()).toBe('{"a":1}')
      await nextTurn()
      await nextTurn()
    }
    expect(connections).toBe(1)
  })

  it.each<[string, (control: AbortController) => Promise<unknown>]>([
    [
      'before it is sent',
      (control) => {
        control.abort()
        return ask(control.signal)
      },
    ],
    [
      'when the upstream has it',
      (control) => {
        server.prependOnceListener('request', () => control.abort())
        return ask(control.signal)
      },
    ],
    [
      'at the head of the answer',
      async (control) => {
        const answer = await ask(control.signal)
        control.abort()
        return readWhole(answer, 1000)
      },
    ],
    [
      'between two chunks',
      async (control) => {
        for await (const _chunk of (await ask(control.signal)).body) control.abort()
      },
    ],
  ])('[GW25] fails at most its own request: %s', async (_, begin) => {
    const control = new AbortController()
    await begin(control).catch(() => undefined)
    const after = await readWhole(await ask(new AbortController().signal), 1000)
    expect(Buffer.from(after ?? []).toString()).toBe('{"a":1}')
  })
})
