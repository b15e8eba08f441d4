// An upstream that breaks off and a client that leaves, at every phase of a call, in any combination: the log agrees with what the client
// saw, and what was reserved for the call is free afterwards.

import { once } from 'node:events'
import {
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { createGateway, type Gateway, type GatewayServer, serveGateway } from '@oriel/gateway'
import fc from 'fast-check'
import type { Entry, WireFormat } from 'oriel'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dialects, spokenFormats } from '../dialect.ts'
import { openGateway } from '../target.ts'
import { reply } from '../upstream/action.ts'
import { key, say, until } from './raw-client.ts'

const upstreamPhases = ['whole', 'before head', 'after head', 'mid-answer', 'before end'] as const
const clientPhases = ['stays', 'mid-request', 'when asked', 'after head', 'mid-answer'] as const

interface Case {
  readonly format: WireFormat
  readonly isStream: boolean
  readonly coding: 'identity' | 'gzip'
  readonly upstream: (typeof upstreamPhases)[number]
  /** A reset, or an orderly end of the connection. */
  readonly isReset: boolean
  readonly client: (typeof clientPhases)[number]
  /** Where in the answer, as a share of its bytes. */
  readonly breakAt: number
  readonly leaveAt: number
}

interface Running extends Case {
  readonly answer: Buffer
  readonly type: string
  asked?: () => void
}

const said = 'What the model says, word by word. '.repeat(40)
const running = new Map<string, Running>()
const answers = new Map<string, { readonly bytes: Buffer; readonly type: string }>()
const rejections: unknown[] = []
const note = (reason: unknown): void => void rejections.push(reason)
let upstream: Server
let gateway: Gateway
let server: GatewayServer
let count = 0

beforeAll(async () => {
  process.on('unhandledRejection', note)
  const provider = await openGateway({ answer: () => reply({ text: said }) })
  for (const format of spokenFormats) {
    for (const isStream of [false, true]) {
      const response = await say(provider.upstream.url, format, 'Hello', { isStream })
      const bytes = Buffer.from(await response.arrayBuffer())
      const type = response.headers.get('content-type') ?? ''
      answers.set(`${format} ${isStream}`, { bytes, type })
    }
  }
  await provider.close()
  upstream = createServer((incoming, outgoing) => void respond(incoming, outgoing))
  upstream.listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  const baseUrl = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`
  gateway = createGateway({ upstreams: [{ name: 'u', baseUrl }], limits: { lateMs: 0 } })
  server = await serveGateway(gateway, { port: 0 })
})

afterAll(async () => {
  await server.close()
  await gateway.close()
  upstream.closeAllConnections()
  upstream.close()
  process.off('unhandledRejection', note)
})

async function respond(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const parts: Buffer[] = []
  try {
    for await (const part of incoming) parts.push(part as Buffer)
  } catch {
    return
  }
  const [id = ''] = /case-\d+/.exec(Buffer.concat(parts).toString()) ?? []
  const one = running.get(id)
  if (one === undefined) return void outgoing.destroy()
  one.asked?.()
  const end = (): void => {
    if (one.isReset) outgoing.socket?.resetAndDestroy()
    else outgoing.destroy()
  }
  if (one.upstream === 'before head') return end()
  const encoding = one.coding === 'gzip' ? { 'content-encoding': 'gzip' } : {}
  outgoing.writeHead(200, { 'content-type': one.type, ...encoding })
  outgoing.flushHeaders()
  const { answer, breakAt } = one
  const at = {
    'after head': 0,
    'mid-answer': Math.floor(breakAt * answer.length),
    'before end': answer.length,
    whole: answer.length,
  }[one.upstream]
  // In two parts, so that a client can leave between them.
  const middle = Math.floor(at / 2)
  if (middle > 0) outgoing.write(answer.subarray(0, middle))
  await new Promise((resolve) => setImmediate(resolve))
  if (one.upstream === 'whole') outgoing.end(answer.subarray(middle))
  else if (at === 0) setImmediate(end)
  else outgoing.write(answer.subarray(middle, at), () => setImmediate(end))
}

interface Seen {
  readonly status: number | undefined
  readonly bytes: Buffer
  /** Whether the answer came to its end. */
  readonly isWhole: boolean
}

/** A client that leaves when the case says so. */
function callAs(id: string, one: Running): Promise<Seen> {
  const dialect = dialects[one.format]
  const message = dialect.user(`Hello from ${id}`)
  const body = JSON.stringify({ ...dialect.body([message], []), stream: one.isStream })
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let status: number | undefined
    const ended = (isWhole: boolean): void =>
      resolve({ status, bytes: Buffer.concat(chunks), isWhole })
    const outgoing = request(server.url + dialect.path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        'x-oriel-thread': id,
      },
    })
    const leave = (): void => void outgoing.destroy()
    outgoing.on('error', () => ended(false))
    outgoing.on('close', () => ended(false))
    outgoing.on('response', (incoming) => {
      status = incoming.statusCode
      if (one.client === 'after head') return leave()
      let size = 0
      incoming.on('error', () => ended(false))
      incoming.on('end', () => ended(incoming.complete))
      incoming.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        size += chunk.length
        if (one.client === 'mid-answer' && size >= one.leaveAt * one.answer.length) leave()
      })
    })
    if (one.client === 'when asked') one.asked = leave
    if (one.client !== 'mid-request') outgoing.end(body)
    else outgoing.write(body.slice(0, body.length >> 1), leave)
  })
}

async function gauges(): Promise<Readonly<Record<string, number>>> {
  const text = await (await fetch(`${server.url}/metrics`)).text()
  const read = (name: string): number =>
    Number(new RegExp(`^${name} (-?\\d+)$`, 'm').exec(text)?.[1])
  return {
    reserved: read('oriel_memory_reserved_bytes'),
    calls: read('oriel_calls_active'),
    active: read('oriel_upstream_requests_active'),
    waiting: read('oriel_upstream_requests_waiting'),
  }
}

async function entriesOf(id: string): Promise<readonly Entry[]> {
  const answer = await fetch(`${server.url}/api/threads/${id}/log?limit=1000`, {
    headers: { authorization: `Bearer ${key}` },
  })
  if (answer.status === 404) return []
  return ((await answer.json()) as { entries: readonly Entry[] }).entries
}

const free = { reserved: 0, calls: 0, active: 0, waiting: 0 }

async function check(one: Case): Promise<void> {
  count += 1
  const id = `case-${count}`
  const { bytes, type } = answers.get(`${one.format} ${one.isStream}`) as never as Running & {
    bytes: Buffer
  }
  const answer = one.coding === 'gzip' ? gzipSync(bytes) : bytes
  running.set(id, { ...one, answer, type })
  const state = running.get(id) as Running
  const seen = await callAs(id, state)
  await until(async () => JSON.stringify(await gauges()) === JSON.stringify(free), 20_000)
  await gateway.settled()
  const logged = await entriesOf(id)
  const messages = logged.filter((entry) => entry.type === 'message')
  const whole = messages.filter(({ role }) => role === 'assistant')
  const broken = messages.filter((entry) => 'kind' in entry && entry.kind === 'interrupted')
  if (seen.status === 200 && seen.isWhole) {
    // What a client saw whole is what the upstream sent, and in the log, once.
    expect(seen.bytes.equals(answer)).toBe(true)
    expect([whole.length, broken.length]).toEqual([1, 0])
    expect(JSON.stringify(whole)).toContain(said)
  } else if (one.client === 'stays') {
    // The upstream broke off: the client sees an error, or an answer that has no end.
    expect(one.upstream).not.toBe('whole')
    expect(seen.status === 502 || (seen.status === 200 && !seen.isWhole)).toBe(true)
    if (seen.status === 200)
      expect(answer.subarray(0, seen.bytes.length).equals(seen.bytes)).toBe(true)
    // All of it may have come before the connection broke; then the last event says that it is whole.
    expect(whole.length + broken.length).toBe(1)
    for (const entry of broken) expect(JSON.stringify(entry)).toContain('upstream-broke')
    const hasLastEvent = one.upstream === 'before end' || one.breakAt > 0.9
    if (whole.length > 0) expect([one.isStream, hasLastEvent]).toEqual([true, true])
  } else {
    // Who leaves has no say in how much came: all of it or a part, never both.
    expect(whole.length + broken.length).toBeLessThanOrEqual(1)
    if (one.upstream === 'whole') {
      for (const entry of broken) expect(JSON.stringify(entry)).toContain('client-left')
    }
  }
  // The same call again is answered, and the question is there once.
  running.set(id, { ...one, upstream: 'whole', client: 'stays', answer, type })
  const again = await callAs(id, running.get(id) as Running)
  expect([again.status, again.isWhole]).toEqual([200, true])
  await gateway.settled()
  const asked = (await entriesOf(id)).filter(
    (entry) => entry.type === 'message' && entry.role === 'user',
  )
  expect(asked).toHaveLength(1)
  running.delete(id)
  expect(rejections).toEqual([])
}

const phases = upstreamPhases.flatMap((one) =>
  clientPhases.map((client) => ({ upstream: one, client })),
)

describe('a call that breaks off', () => {
  it.each(phases)(
    '[GW96] upstream: $upstream, client: $client: log and client agree, and nothing stays reserved',
    async (row) => {
      for (const format of spokenFormats) {
        for (const isStream of [false, true]) {
          const where = { breakAt: 0.5, leaveAt: 0.2, isReset: true, coding: 'identity' } as const
          await check({ ...row, ...where, format, isStream })
        }
      }
    },
  )

  it('[GW96] anywhere, in any format: log and client agree, and nothing stays reserved', async () => {
    const share = fc.double({ min: 0, max: 1, noNaN: true })
    const cases = fc.record<Case>({
      format: fc.constantFrom(...spokenFormats),
      isStream: fc.boolean(),
      coding: fc.constantFrom('identity', 'gzip'),
      upstream: fc.constantFrom(...upstreamPhases),
      isReset: fc.boolean(),
      client: fc.constantFrom(...clientPhases),
      breakAt: share,
      leaveAt: share,
    })
    await fc.assert(fc.asyncProperty(cases, check), {
      numRuns: 60 * Number(process.env.ORIEL_RUNS ?? 1),
    })
  })
})
