import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { afterAll, describe, expect, it } from 'vitest'
import { defaultLimits } from './options.ts'
import { readWhole } from './relay.ts'
import { createUpstream } from './upstream.ts'

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
