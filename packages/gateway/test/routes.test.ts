// Every route against callers that may not pass: the table of routes is the list that is tested, so a new route cannot be forgotten.

import { connect } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import {
  createGateway,
  type Gateway,
  type GatewayServer,
  type Route,
  serveGateway,
} from '../src/index.ts'

const key = 'key-of-the-tests-0123456789'
let server: GatewayServer | undefined

afterEach(async () => {
  await server?.close()
  server = undefined
})

function withKeys(): Gateway {
  return createGateway({ keys: [{ name: 'tests', key }] })
}

const { routes } = withKeys()

function addressOf(route: Route): { method: string; path: string } {
  const path = route.path.replace(/:\w+/g, 'x1').replace('*', 'anything')
  return { method: route.method === 'ALL' ? 'POST' : route.method, path }
}

function requestTo(route: Route, headers: Record<string, string>): Request {
  const { method, path } = addressOf(route)
  return new Request(`http://localhost${path}`, {
    method,
    headers,
    ...(method === 'GET' || method === 'DELETE' ? {} : { body: '{}' }),
  })
}

/** The first line of the answer to a request as it stands. */
function statusOf(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    let answer = ''
    socket.setEncoding('utf8').on('data', (part: string) => {
      answer += part
    })
    socket.on('end', () => resolve(answer.split('\r\n')[0] ?? ''))
    socket.on('error', reject)
  })
}

describe.each(routes.map((route) => [`${route.method} ${route.path}`, route] as const))(
  '%s',
  (_name, route) => {
    const isOpen = route.access === 'open'

    it('[GW1] gives nothing without a key, and the same refusal for every wrong one', async () => {
      const gateway = withKeys()
      const wrong = [
        {},
        { authorization: 'Bearer wrong' },
        { authorization: "' OR 1=1--" },
        { 'x-api-key': 'wrong', 'x-oriel-key': '' },
        { authorization: `Bearer ${key}x` },
        { authorization: `Bearer ${key.slice(0, -1)}` },
        { authorization: `Bearer ${'k'.repeat(10_000)}` },
      ]
      const answers = await Promise.all(
        wrong.map(async (headers) => {
          const response = await gateway.fetch(requestTo(route, headers as Record<string, string>))
          return { status: response.status, text: await response.text() }
        }),
      )
      const statuses = new Set(answers.map(({ status }) => status))
      if (isOpen) expect(statuses.has(401)).toBe(false)
      else {
        expect([...statuses]).toEqual([401])
        expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
        expect(answers[0]?.text).not.toContain(key)
      }
    })

    it('[GW2] refuses foreign hosts and origins before anything else, also with a key', async () => {
      const gateway = withKeys()
      const bad = [
        { host: 'evil.com' },
        { host: 'localhost.evil.com' },
        { host: '127.0.0.1.nip.io' },
        { host: 'localhost:4000/#@x' },
        { host: '' },
        { host: 'localhost', origin: 'http://evil.com' },
        { host: 'localhost', origin: 'null' },
        { host: 'localhost', 'sec-fetch-site': 'cross-site' },
      ]
      for (const headers of bad) {
        const request = requestTo(route, { ...headers, authorization: `Bearer ${key}` })
        const response = await gateway.fetch(request)
        expect([response.status, headers]).toEqual([403, headers])
        expect(response.headers.get('access-control-allow-origin')).toBeNull()
      }
    })

    it('[GW2] does not take a path that can be read in two ways for its own', async () => {
      const gateway = withKeys()
      const { method, path } = addressOf(route)
      if (path === '/') return
      const twists = [
        `/${path}`,
        path.replace(/.$/, '%2f$&'),
        `${path};x`,
        `${path}%00`,
        `${path}%5c..`,
      ]
      for (const twist of twists) {
        const response = await gateway.fetch(
          new Request(`http://localhost${twist}`, {
            method,
            headers: { authorization: `Bearer ${key}` },
            ...(method === 'GET' || method === 'DELETE' ? {} : { body: '{}' }),
          }),
        )
        expect([twist, response.status]).toEqual([twist, 404])
      }
    })

    it('[GW2] answers no preflight of other origins', async () => {
      const response = await withKeys().fetch(
        new Request(`http://localhost${addressOf(route).path}`, {
          method: 'OPTIONS',
          headers: { origin: 'http://evil.com', 'access-control-request-method': 'POST' },
        }),
      )
      expect(response.status).toBe(403)
      expect(response.headers.get('access-control-allow-origin')).toBeNull()
    })
  },
)

describe('the table', () => {
  it('[GW1] leaves only the page, its description and the pulse open', () => {
    const open = routes.filter(({ access }) => access === 'open').map(({ path }) => path)
    expect(open.sort()).toEqual(
      [
        '/',
        '/api/openapi.json',
        '/assets/*',
        '/chat',
        '/healthz',
        '/memory',
        '/settings',
        '/threads',
        '/threads/:id',
      ].sort(),
    )
  })

  it('[GW3] is what the OpenAPI description says, and nothing else', async () => {
    const gateway = createGateway()
    const response = await gateway.fetch(new Request('http://localhost/api/openapi.json'))
    const { paths } = (await response.json()) as { paths: Record<string, Record<string, unknown>> }
    const described = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    )
    const served = gateway.routes
      .filter(({ path }) => !path.endsWith('*'))
      .map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`)
    expect(described.sort()).toEqual(served.sort())
  })
})

describe('the port', () => {
  it('[GW4] is opened beyond this machine only with keys', async () => {
    await expect(serveGateway(createGateway(), { port: 0, host: '0.0.0.0' })).rejects.toMatchObject(
      {
        code: 'invalid-option',
      },
    )
    server = await serveGateway(withKeys(), { port: 0, host: '0.0.0.0' })
  })

  it('[GW4] takes no absolute address, no second host and no request without one', async () => {
    server = await serveGateway(createGateway(), { port: 0 })
    const { port } = server
    const send = (text: string): Promise<string> => statusOf(port, text)
    const good = await send('GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
    expect(good).toBe('HTTP/1.1 200 OK')
    const bad = [
      'GET http://evil.com/healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
      'GET /healthz HTTP/1.0\r\n\r\n',
      'GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n',
      'GET //evil.com/healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
      'POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      `GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`,
    ]
    for (const text of bad) expect(await send(text)).toMatch(/^HTTP\/1\.1 4\d\d /)
    const two = await send(
      'GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.com\r\nConnection: close\r\n\r\n',
    )
    expect(two).toMatch(/^HTTP\/1\.1 4\d\d /)
  })

  it('[GW57] takes bodies in chunks, and none that are packed on the way', async () => {
    server = await serveGateway(createGateway(), { port: 0 })
    const { port } = server
    const body = JSON.stringify({ model: 'demo', messages: [{ role: 'user', content: 'Hello' }] })
    const send = (path: string, coding: string): Promise<string> =>
      statusOf(
        port,
        `POST ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${coding}\r\n\r\n` +
          `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
      )
    const path = '/v1/chat/completions'
    expect(await send(path, 'Transfer-Encoding: Chunked')).toBe('HTTP/1.1 200 OK')
    for (const coding of [
      'Transfer-Encoding: gzip, chunked',
      'Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked',
    ]) {
      expect(await send(path, coding)).toMatch(/^HTTP\/1\.1 501 /)
      expect(await send('/v1/embeddings', coding)).toMatch(/^HTTP\/1\.1 501 /)
      expect(await send('/v1/preview', coding)).toMatch(/^HTTP\/1\.1 501 /)
    }
  })
})

describe('TRACE', () => {
  it('[GW5] reaches no upstream, which would send back the key that it got', async () => {
    const methods: string[] = []
    const fetch = async (request: Request): Promise<Response> => {
      methods.push(request.method)
      return new Response('{}')
    }
    const upstreams = [{ name: 'u', baseUrl: 'http://upstream.invalid', key: 'secret', fetch }]
    server = await serveGateway(createGateway({ upstreams }), { port: 0 })
    const head = (method: string): string =>
      `${method} /v1/models HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`
    expect(await statusOf(server.port, head('TRACE'))).toMatch(/^HTTP\/1\.1 405 /)
    expect(await statusOf(server.port, head('GET'))).toBe('HTTP/1.1 200 OK')
    expect(methods).toEqual(['GET'])
  })
})

it.each([
  ['/v1/responses', 'websocket'],
  ['/v1/anything', 'WebSocket'],
])(
  '[GW123] a WebSocket on %s is answered with 426 at once, and reaches no upstream',
  async (path, upgrade) => {
    const asked: string[] = []
    const fetch = async ({ url }: Request): Promise<Response> => {
      asked.push(url)
      return new Response('{}')
    }
    const upstreams = [{ name: 'u', baseUrl: 'http://upstream.invalid', fetch }]
    server = await serveGateway(createGateway({ upstreams }), { port: 0 })
    const head = [
      `GET ${path} HTTP/1.1`,
      ...['Host: localhost', 'Connection: Upgrade', `Upgrade: ${upgrade}`],
      ...['Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='],
    ]
    expect(await statusOf(server.port, `${head.join('\r\n')}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 426 /)
    expect(asked).toEqual([])
  },
)

describe('keys', () => {
  it('[GW5] are kept as hashes, and wrong ones are refused at the start', () => {
    for (const keys of [
      [{ name: 'a' }],
      [{ name: 'a', key: 'short' }],
      [{ name: 'a', hash: 'x' }],
    ]) {
      expect(() => createGateway({ keys })).toThrow(/The key 'a'/)
    }
  })

  it('[GW6] that are long tell callers apart like short ones', async () => {
    const gateway = createGateway()
    const ask = async (credential: string): Promise<string | null> => {
      const headers = { authorization: `Bearer ${credential}`, 'x-session-id': 'mine' }
      const body = JSON.stringify({ model: 'demo', messages: [{ role: 'user', content: 'Hello' }] })
      const response = await gateway.fetch(
        new Request('http://localhost/v1/chat/completions', { method: 'POST', headers, body }),
      )
      await response.text()
      return response.headers.get('x-oriel-thread')
    }
    const tokens = ['a', 'b', 'c'].map((end) => `${'t'.repeat(6000)}${end}`)
    const threads = await Promise.all([...tokens, 'short'].map(ask))
    expect(new Set(threads).size).toBe(4)
    for (const token of tokens) {
      const headers = { authorization: `Bearer ${token}` }
      const listed = await gateway.fetch(new Request('http://localhost/api/threads', { headers }))
      const { threads } = (await listed.json()) as { threads: readonly unknown[] }
      expect(threads).toHaveLength(1)
    }
  })

  it('[GW5] never travel on: the upstream gets its own key or the one that the caller sent for it', async () => {
    const seen: Headers[] = []
    const fetch = async (request: Request): Promise<Response> => {
      seen.push(request.headers)
      return new Response('{}', { headers: { 'content-type': 'application/json' } })
    }
    const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hello' }] })
    const upstream = { name: 'u', baseUrl: 'http://upstream.invalid', fetch }
    const ask = (gateway: Gateway, headers: Record<string, string>): Promise<Response> =>
      gateway.fetch(
        new Request('http://localhost/v1/chat/completions', { method: 'POST', headers, body }),
      )
    const keys = [{ name: 'tests', key }]
    const own = createGateway({ keys, upstreams: [{ ...upstream, key: 'provider-key' }] })
    await ask(own, { authorization: `Bearer ${key}` })
    const passing = createGateway({ keys, upstreams: [upstream] })
    await ask(passing, { 'x-oriel-key': key, 'x-api-key': 'the-callers' })
    await ask(passing, { authorization: `Bearer ${key}` })
    expect(
      seen.map((one) => [one.get('authorization'), one.get('x-api-key'), one.get('x-oriel-key')]),
    ).toEqual([
      ['Bearer provider-key', null, null],
      [null, 'the-callers', null],
      [null, null, null],
    ])
  })
})
