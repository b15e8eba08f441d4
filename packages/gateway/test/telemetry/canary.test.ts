// Canaries: a word in every place where somebody's secret or content may be, driven through everything that can happen over real HTTP. No
// line, span, metric or refusal of the gateway may hold one of them. What an upstream says is passed on to its own client, and nowhere else.

import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { memoryStore, OrielError, type Store } from 'oriel'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createGateway, type Gateway, type GatewayServer, serveGateway } from '../../src/index.ts'
import { type Format, paths, streamedAnswer, wholeAnswer } from './answers.ts'
import { type Recorder, registerOpenTelemetry } from './open-telemetry.ts'

/** Every one is found by the same letters, in any case. */
const bird = 'canaria'
const canary = (where: string): string => `${bird}-${where}-7f3a`
const key = `${canary('key')}-0123456789`

let recorder: Recorder
let upstream: Server
let server: GatewayServer
let gateway: Gateway
const lines: string[] = []
/** Bodies that the gateway wrote itself. */
const refusals: string[] = []
let failing: 'append' | 'read' | undefined
let inner: Store

/** How the upstream answers the next call. */
let mode: 'good' | 'stream' | 'error' | 'long' | 'cut' | 'reset' | 'garbage' | 'tools' = 'good'

beforeAll(async () => {
  recorder = registerOpenTelemetry()
  upstream = createServer((request, response) => {
    request.resume().on('end', () => {
      const format = (Object.keys(paths) as Format[]).find((one) =>
        request.url?.startsWith(paths[one]),
      )
      answer(format ?? 'openai-chat', response)
    })
  })
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
})

async function start(logFormat: 'text' | 'json'): Promise<void> {
  lines.length = 0
  refusals.length = 0
  recorder.reset()
  const { port } = upstream.address() as AddressInfo
  inner = memoryStore()
  gateway = createGateway({
    store: watched(),
    keys: [{ name: 'team', key, tenant: 'team' }],
    upstreams: [{ name: 'main', baseUrl: `http://127.0.0.1:${port}`, key: canary('upstream-key') }],
    policy: {
      toolResults: { strategy: 'keepRecent', max: 1, cutoff: 0 },
      compaction: { contextWindow: 20_000, reserveTokens: 1000 },
    },
    agents: {
      bot: {
        system: canary('agent-system'),
        title: canary('agent-title'),
        description: canary('agent-words'),
      },
    },
    limits: { bodyBytes: 400_000, messages: 200, concurrentCalls: 3 },
    log: (line) => lines.push(line),
    logFormat,
    logRequests: true,
  })
  server = await serveGateway(gateway, { port: 0 })
}

afterEach(() => server.close())

afterAll(async () => {
  await recorder.close()
  await new Promise((resolve) => upstream.close(resolve))
})

function watched(): Store {
  return new Proxy(inner, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      return (...all: unknown[]) => {
        if (failing === name) {
          const error = new OrielError('storage-failed', 'The disk failed.', {
            cause: new Error(canary('store')),
          })
          if (name === 'append') return Promise.reject(error)
          throw error
        }
        return Reflect.apply(value, target, all)
      }
    },
  })
}

function answer(format: Format, response: import('node:http').ServerResponse): void {
  const text = canary('answer')
  const send = (status: number, type: string, chunks: readonly string[]): void => {
    response.writeHead(status, { 'content-type': type, 'x-upstream': canary('upstream-header') })
    for (const chunk of chunks) response.write(chunk)
  }
  switch (mode) {
    case 'stream':
      send(200, 'text/event-stream', streamedAnswer(format, text))
      break
    case 'error':
      send(429, 'application/json', [
        JSON.stringify({
          error: { message: canary('upstream-error'), code: canary('upstream-code') },
        }),
      ])
      break
    case 'long':
      send(400, 'application/json', [
        JSON.stringify({
          error: {
            code: 'context_length_exceeded',
            message: `maximum context length is 2000 tokens ${canary('too-long')}`,
          },
        }),
      ])
      break
    case 'cut':
      send(200, 'text/event-stream', streamedAnswer(format, text).slice(0, 1))
      setTimeout(() => response.destroy(), 10)
      return
    case 'reset':
      response.destroy()
      return
    case 'garbage':
      send(200, 'application/json', [`{"${canary('answer-key')}": [${canary('answer-garbage')}`])
      break
    case 'tools':
      send(200, 'application/json', [
        JSON.stringify({
          id: `${canary('id')} with words`,
          model: `${canary('response-model')} with words`,
          choices: [
            {
              finish_reason: `${canary('finish')} with words`,
              message: {
                role: 'assistant',
                content: null,
                tool_calls: [
                  {
                    id: 'c1',
                    type: 'function',
                    function: { name: 'look', arguments: canary('answer-arguments') },
                  },
                ],
              },
            },
          ],
          usage: { prompt_tokens: canary('usage'), [canary('usage-key')]: 5 },
        }),
      ])
      break
    default:
      send(200, 'application/json', [wholeAnswer(format, text)])
  }
  response.end()
}

const headers = {
  authorization: `Bearer ${key}`,
  'content-type': 'application/json',
  'x-own-header': canary('header'),
  cookie: `session=${canary('cookie')}`,
  'user-agent': canary('user-agent'),
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  tracestate: `vendor=${bird}state`,
  baggage: `user=${canary('baggage')}`,
}

function bodyOf(format: Format, rest: object = {}): string {
  const call = {
    id: 'c1',
    type: 'function',
    function: { name: 'look', arguments: JSON.stringify({ at: canary('arguments') }) },
  }
  const chat = [
    { role: 'system', content: canary('system') },
    { role: 'user', content: canary('message'), name: canary('name') },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'c1', content: `${canary('result')} `.repeat(300) },
    { role: 'assistant', content: canary('before') },
    { role: 'user', content: `${canary('again')} ${Math.random()}` },
  ]
  const tools = [
    {
      type: 'function',
      function: { name: 'look', description: canary('tool'), parameters: { type: 'object' } },
    },
  ]
  if (format === 'openai-chat')
    return JSON.stringify({ model: 'gpt-5', messages: chat, tools, user: canary('user'), ...rest })
  const plain = [{ role: 'user', content: `${canary('message')} ${Math.random()}` }]
  if (format === 'anthropic') {
    return JSON.stringify({
      model: 'claude-sonnet-4-5',
      max_tokens: 100,
      system: canary('system'),
      messages: plain,
      metadata: { user_id: canary('user') },
      ...rest,
    })
  }
  return JSON.stringify({
    model: 'gpt-5',
    instructions: canary('system'),
    input: plain,
    safety_identifier: canary('user'),
    ...rest,
  })
}

interface Sent {
  readonly status: number
  readonly text: string
}

/** Sends, and keeps what the gateway wrote itself. */
async function send(path: string, body: string | undefined, init: RequestInit = {}): Promise<Sent> {
  const response = await fetch(`${server.url}${path}`, {
    method: 'POST',
    headers,
    ...(body === undefined ? {} : { body }),
    ...init,
  })
  const text = await response.text().catch(() => '')
  const own = [...response.headers].filter(([name]) => name.startsWith('x-oriel-'))
  refusals.push(JSON.stringify(own))
  const isOwn = response.headers.has('x-oriel-error') || !path.startsWith('/v1/')
  if (response.status >= 400 && isOwn) refusals.push(text)
  return { status: response.status, text }
}

const formats = Object.keys(paths) as Format[]

async function driveCalls(): Promise<void> {
  for (const format of formats) {
    for (mode of ['good', 'stream', 'error', 'long', 'cut', 'reset', 'garbage', 'tools'] as const) {
      const rest = mode === 'stream' || mode === 'cut' ? { stream: true } : {}
      await send(
        `${paths[format]}?q=${canary('query')}&historyLength=${canary('setting')}`,
        bodyOf(format, rest),
      )
    }
    mode = 'good'
    const bad: [string, Record<string, string>][] = [
      [bodyOf(format, { model: `${canary('model')} is no name` }), {}],
      [bodyOf(format, { messages: [{ role: canary('role'), content: canary('message') }] }), {}],
      [bodyOf(format, { messages: { [canary('field')]: 1 } }), {}],
      [`{"model": "gpt-5", "messages": [${canary('broken-json')}`, {}],
      [bodyOf(format, { x: canary('large').repeat(40_000) }), {}],
      [`{"a":${'['.repeat(200)}"${canary('deep')}"${']'.repeat(200)}}`, {}],
      [bodyOf(format, { oriel: { policy: { [canary('policy-key')]: canary('policy') } } }), {}],
      [bodyOf(format), { 'x-oriel-policy': `{"history":{"length":"${canary('policy')}"}}` }],
      [bodyOf(format), { 'x-oriel-agent': canary('no-agent') }],
      [bodyOf(format), { 'x-oriel-management': 'off' }],
      [bodyOf(format), { authorization: `Bearer ${canary('wrong-key')}-0123456789` }],
      [bodyOf(format), { 'content-encoding': canary('encoding') }],
      [bodyOf(format), { origin: `http://${bird}.example` }],
      [bodyOf(format), { 'x-session-id': canary('session') }],
      [bodyOf(format), { 'x-oriel-agent': 'bot' }],
    ]
    for (const [body, extra] of bad)
      await send(paths[format], body, { headers: { ...headers, ...extra } })
  }
}

async function driveFailures(): Promise<void> {
  for (failing of ['append', 'read'] as const) {
    for (const format of formats) await send(paths[format], bodyOf(format))
    await send('/api/threads?search=x', undefined, { method: 'GET' })
    await callTool('search_thread', { query: canary('mcp-query') })
  }
  failing = undefined
  await Promise.all(Array.from({ length: 12 }, () => send(paths.anthropic, bodyOf('anthropic'))))
  for (const path of [
    `/${canary('path')}`,
    `/v1/${canary('path')}?${canary('query')}`,
    `/api/threads/${canary('thread')}`,
    `/api/agents/${canary('agent')}`,
    '/v1/preview',
  ]) {
    await send(path, '{}')
    await send(path, undefined, { method: 'GET' })
  }
  await send('/api/agents/bot/settings', `{"${canary('policy')}":1}`, { method: 'PUT' })
  await new Promise<void>((resolve) => {
    const socket = connect(server.port, '127.0.0.1', () =>
      socket.end(
        `GET /${canary('raw')} HTTP/1.1\r\nHost: ${bird}.example\r\n\r\nX ${canary('raw')}\r\n\r\n`,
      ),
    )
    let text = ''
    socket.setEncoding('utf8').on('data', (part: string) => {
      text += part
    })
    socket.on('close', () => {
      refusals.push(text)
      resolve()
    })
  })
}

async function callTool(name: string, input: object): Promise<void> {
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input } }
  const response = await fetch(`${server.url}/mcp`, {
    method: 'POST',
    headers: { ...headers, accept: 'application/json, text/event-stream' },
    body: JSON.stringify(body),
  })
  await response.text()
}

async function driveMcp(): Promise<void> {
  const thread = canary('mcp-thread')
  await callTool('expand_message', {
    thread,
    id: canary('mcp-id'),
    query: canary('mcp-query'),
    reason: canary('mcp-reason'),
  })
  await callTool('search_thread', { query: canary('message') })
  await callTool('read_thread', { thread, from: canary('mcp-from') })
  await callTool(canary('mcp-tool'), { x: canary('mcp-argument') })
  const { threads } = JSON.parse(
    (await send('/api/threads', undefined, { method: 'GET' })).text,
  ) as { threads: { id: string }[] }
  for (const { id } of threads.slice(0, 3)) {
    await callTool('read_thread', { thread: id })
    await callTool('expand_message', {
      thread: id,
      id: canary('mcp-id'),
      reason: canary('mcp-reason'),
    })
  }
}

async function stored(): Promise<string> {
  let text = ''
  for (const { thread } of await inner.list('team', { limit: 500 })) {
    for await (const entry of inner.read({ tenant: 'team', thread })) text += JSON.stringify(entry)
  }
  return text
}

function birdsIn(text: string): readonly string[] {
  return text.match(new RegExp(`.{0,80}${bird}.{0,40}`, 'gi')) ?? []
}

describe.each(['json', 'text'] as const)('canaries, with lines as %s', (logFormat) => {
  it('[GT11] reach no line, span, metric or refusal, whatever happens', async () => {
    await start(logFormat)
    await driveCalls()
    await driveFailures()
    await driveMcp()
    await gateway.settled()
    const spans = recorder.spans().map(({ name, attributes, events, status, links }) => ({
      name,
      attributes,
      events,
      status,
      links,
    }))
    const metrics = await recorder.metrics()
    const scraped = await (await fetch(`${server.url}/metrics`, { headers })).text()
    // Enough happened for this to mean something.
    for (const part of [
      'storage-failed',
      'invalid-input',
      'invalid-json',
      'upstream-broke',
      '429',
    ]) {
      expect([part, lines.some((line) => line.includes(part))]).toEqual([part, true])
    }
    expect(lines.length).toBeGreaterThan(80)
    expect(spans.length).toBeGreaterThan(50)
    expect(
      new Set(spans.map(({ attributes }) => String(attributes['error.type']))).size,
    ).toBeGreaterThan(8)
    expect(birdsIn(lines.join('\n'))).toEqual([])
    expect(birdsIn(JSON.stringify(spans))).toEqual([])
    expect(birdsIn(JSON.stringify(metrics))).toEqual([])
    expect(birdsIn(scraped)).toEqual([])
    // A setting that is wrong is named to whoever sent it: what it got, and what is allowed.
    const settings = new RegExp(`${bird}-(?:setting|policy|policy-key)-`, 'gi')
    expect(birdsIn(refusals.join('\n').replace(settings, ''))).toEqual([])
    expect(refusals.length).toBeGreaterThan(100)
    // They were there to be found.
    const kept = await stored()
    for (const where of ['message', 'arguments', 'result', 'answer']) {
      expect([where, kept.includes(canary(where))]).toEqual([where, true])
    }
    expect(kept.includes(canary('key')) || kept.includes(canary('upstream-key'))).toBe(false)
  }, 120_000)
})
