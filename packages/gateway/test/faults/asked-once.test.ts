// How many POSTs an upstream sees when a connection fails, at each point and for each setting of `retries`. A model call is not
// idempotent: it is sent again only where nothing of it was sent.

import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { createGateway, serveGateway } from '@oriel/gateway'
import { describe, expect, it, onTestFinished } from 'vitest'
import { closedAddress } from '../target.ts'
import { logOf, newestThread, say } from './raw-client.ts'

const answer = JSON.stringify({
  id: 'c1',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }],
})
const whole = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${answer.length}\r\n\r\n${answer}`
const head = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9999\r\n\r\n'
const busy = 'HTTP/1.1 503 Busy\r\nretry-after: 0\r\ncontent-length: 0\r\n\r\n'

type Fault =
  | 'after connect'
  | 'mid-body'
  | 'after body'
  | 'after headers'
  | 'mid-answer'
  | 'status 503'

interface RawUpstream {
  readonly baseUrl: string
  /** Request lines that were read. */
  posts: number
  /** Answers all requests while absent. */
  fault: Fault | undefined
}

/** A server of bare sockets, which fails when and how it is told. */
async function startRaw(): Promise<RawUpstream> {
  const sockets = new Set<Socket>()
  const state: { baseUrl: string; posts: number; fault: Fault | undefined } = {
    baseUrl: '',
    posts: 0,
    fault: undefined,
  }
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    if (state.fault === 'after connect') {
      socket.resetAndDestroy()
      return
    }
    let received = ''
    let isSeen = false
    socket.on('data', (part) => {
      received += part.toString('latin1')
      if (!isSeen && received.startsWith('POST ')) {
        isSeen = true
        state.posts += 1
      }
      if (state.fault === 'mid-body' && received.includes('\r\n\r\n'))
        return socket.resetAndDestroy()
      const [headers = '', body = ''] = received.split('\r\n\r\n')
      const length = Number(/content-length: (\d+)/i.exec(headers)?.[1] ?? Infinity)
      if (body.length < length) return
      received = ''
      isSeen = false
      respond(socket, state.fault)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  state.baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return state
}

function respond(socket: Socket, fault: Fault | undefined): void {
  if (fault === 'after body') socket.resetAndDestroy()
  else if (fault === 'status 503') socket.write(busy)
  else if (fault === undefined) socket.write(whole)
  else socket.write(fault === 'after headers' ? head : `${head}{"id":`, () => breakOff(socket))
}

/** The other side has read what was sent. */
function breakOff(socket: Socket): void {
  setTimeout(() => socket.resetAndDestroy(), 20)
}

async function openBefore(baseUrl: string, retries: number): Promise<string> {
  const gateway = createGateway({
    upstreams: [{ name: 'raw', baseUrl, retries }],
    limits: { lateMs: 0 },
  })
  const server = await serveGateway(gateway, { port: 0 })
  onTestFinished(async () => {
    await server.close()
    await gateway.close()
  })
  return server.url
}

const rows = [
  { fault: 'after connect', isKept: false, posts: [0, 0, 0] },
  { fault: 'mid-body', isKept: false, posts: [1, 1, 1] },
  { fault: 'mid-body', isKept: true, posts: [1, 1, 1] },
  { fault: 'after body', isKept: false, posts: [1, 1, 1] },
  { fault: 'after body', isKept: true, posts: [1, 1, 1] },
  { fault: 'after headers', isKept: false, posts: [1, 1, 1] },
  { fault: 'after headers', isKept: true, posts: [1, 1, 1] },
  { fault: 'mid-answer', isKept: false, posts: [1, 1, 1] },
  { fault: 'mid-answer', isKept: true, posts: [1, 1, 1] },
  { fault: 'status 503', isKept: false, posts: [1, 2, 3] },
  { fault: 'status 503', isKept: true, posts: [1, 2, 3] },
] as const
const table = rows.flatMap(({ posts, ...row }) =>
  posts.map((count, retries) => ({ ...row, retries, count })),
)

describe('a model call whose connection fails', () => {
  it.each([0, 1, 2])(
    '[GW90] before it is made: nothing was asked (retries: %i)',
    async (retries) => {
      const url = await openBefore(await closedAddress(), retries)
      expect((await say(url, 'openai-chat', 'Hello')).status).toBe(502)
    },
  )

  it.each(table)(
    '[GW90] $fault, kept connection: $isKept, retries: $retries: the upstream sees $count',
    async ({ fault, isKept, retries, count }) => {
      const upstream = await startRaw()
      const url = await openBefore(upstream.baseUrl, retries)
      if (isKept) {
        // Several of them, so that an attempt that fails would find another one.
        const warm = ['One', 'Two', 'Three'].map((text) => say(url, 'openai-chat', text))
        for (const response of await Promise.all(warm)) expect(await response.text()).toBe(answer)
        upstream.posts = 0
      }
      upstream.fault = fault
      const text = fault === 'mid-body' ? 'word '.repeat(1_000_000) : 'Again'
      const outcome = await say(url, 'openai-chat', text)
        .then(async (response) => (response.ok ? response.text() : response.status))
        .catch(() => 'cut')
      expect(upstream.posts).toBe(count)
      const isBegun = fault === 'after headers' || fault === 'mid-answer'
      expect(outcome).toBe(isBegun ? 'cut' : fault === 'status 503' ? 503 : 502)
      // The next call finds a connection that works.
      upstream.fault = undefined
      expect((await say(url, 'openai-chat', 'And now?')).status).toBe(200)
      const entries = await logOf(url, await newestThread(url))
      expect(JSON.stringify(entries)).toContain('And now?')
    },
  )
})
