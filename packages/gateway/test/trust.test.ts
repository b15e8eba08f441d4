// What a caller must not be able to do: choose where calls go, fill the store's place with silence, find secrets in the log.

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { memoryStore, OrielError, type Store } from 'oriel'
import { afterEach, describe, expect, it } from 'vitest'
import { createGateway, type UpstreamOptions } from '../src/index.ts'

const servers: Server[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve))
})

/** A server that answers every call and remembers the paths. */
async function listen(): Promise<{ url: string; seen: string[] }> {
  const seen: string[] = []
  const server = createServer((request, response) => {
    seen.push(String(request.url))
    request.resume().on('end', () => {
      response.setHeader('content-type', 'application/json')
      response.end(
        JSON.stringify({ choices: [{ index: 0, message: { role: 'assistant', content: 'Yes' } }] }),
      )
    })
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}

const body = { model: 'm', messages: [{ role: 'user', content: 'Hello, canary-prompt' }] }

function post(fields: object = {}, headers: Record<string, string> = {}, query = ''): Request {
  return new Request(`http://localhost/v1/chat/completions${query}`, {
    method: 'POST',
    headers: { authorization: 'Bearer canary-key', ...headers },
    body: JSON.stringify({ ...body, ...fields }),
  })
}

describe('where calls go', () => {
  it('[GW21] is never chosen by a request', async () => {
    const [upstream, foreign] = [await listen(), await listen()]
    const gateway = createGateway({ upstreams: [{ name: 'u', baseUrl: upstream.url }] })
    const stems = [
      'host',
      'url',
      'base',
      'base-url',
      'base_url',
      'endpoint',
      'api_base',
      'api-base',
      'upstream',
      'proxy',
      'target',
      'custom-host',
      'forward',
      'forwarded-host',
      'destination',
    ]
    const names = stems.flatMap((stem) => [
      stem,
      `x-${stem}`,
      `x-oriel-${stem}`,
      `x-portkey-${stem}`,
    ])
    for (const name of names) {
      const isHeader = name !== 'host'
      const field = name.replaceAll('-', '_')
      const nested = { [field]: foreign.url, metadata: { [field]: foreign.url } }
      const headers = isHeader ? { [name]: foreign.url } : {}
      const query = `?${field}=${encodeURIComponent(foreign.url)}`
      const response = await gateway.fetch(post(nested, headers, query))
      // A header or a field that only looks like one of ours is refused.
      const status = name.startsWith('x-oriel-') ? 400 : 200
      expect([name, response.status]).toEqual([name, status])
      await response.text()
      const own = await gateway.fetch(post({ oriel: { [field]: foreign.url } }, {}, ''))
      expect([name, own.status]).toEqual([name, 400])
      await own.text()
    }
    expect(foreign.seen).toEqual([])
    expect(upstream.seen).toHaveLength(names.length - stems.length)
    const paths = [
      '/v1/@evil.com/x',
      '/v1/http:/evil.com',
      '/v1/..%2f..%2fadmin',
      '/v1/%2e%2e/admin',
    ]
    for (const path of paths) {
      const response = await gateway.fetch(new Request(`http://localhost${path}`))
      await response.text()
    }
    for (const path of upstream.seen) expect(path).toMatch(/^\/v1\//)
    await gateway.close()
  })

  it('[GW21] must be plain addresses in the configuration', () => {
    for (const baseUrl of [
      'ftp://x',
      'file:///etc/passwd',
      'nothing',
      'http://user:pass@x',
      'http://x/?a=1',
    ]) {
      expect(() => createGateway({ upstreams: [{ name: 'u', baseUrl }] })).toThrow(/base URL/)
    }
  })
})

describe('a store that fails', () => {
  it('[GW22] stops a call before it is sent, in the shape of the API, and the next one goes through', async () => {
    const inner = memoryStore()
    let failing: OrielError | undefined
    const append: Store['append'] = async (...all) => {
      if (failing !== undefined) throw failing
      return inner.append(...all)
    }
    const store = new Proxy(inner, {
      get(target, name) {
        const value: unknown = name === 'append' ? append : Reflect.get(target, name)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    const upstream = await listen()
    const gateway = createGateway({ store, upstreams: [{ name: 'u', baseUrl: upstream.url }] })
    for (const [code, status] of [
      ['storage-full', 507],
      ['storage-failed', 503],
    ] as const) {
      failing = new OrielError(code, 'No room.')
      const response = await gateway.fetch(post())
      expect(response.status).toBe(status)
      expect(await response.json()).toMatchObject({ error: { type: 'server_error', code } })
    }
    expect(upstream.seen).toEqual([])
    failing = undefined
    expect((await gateway.fetch(post())).status).toBe(200)
    await gateway.close()
  })
})

describe('what is written down', () => {
  it('[GW23] never holds a key, and content only in the store', async () => {
    const lines: string[] = []
    const statuses = [200, 401, 429, 500]
    const upstreamOf = (status: number): UpstreamOptions[] => [
      {
        name: 'u',
        baseUrl: 'http://upstream.invalid',
        key: 'canary-provider-key',
        fetch: async () =>
          new Response('{"error":"canary-error"}', {
            status,
            headers: { 'content-type': 'application/json' },
          }),
      },
    ]
    const store = memoryStore()
    const options = { store, log: (line: string) => lines.push(line) }
    for (const status of statuses) {
      const gateway = createGateway({ ...options, upstreams: upstreamOf(status) })
      await (await gateway.fetch(post())).text()
      await gateway.settled()
    }
    const broken = createGateway({
      ...options,
      upstreams: [
        {
          name: 'u',
          baseUrl: 'http://upstream.invalid',
          fetch: () => Promise.reject(new Error('canary-prompt canary-key')),
        },
      ],
    })
    const failed = await broken.fetch(post())
    expect(failed.status).toBe(500)
    expect(await failed.text()).not.toContain('canary')
    await (await broken.fetch(post({ messages: 'canary-prompt' }))).text()
    await (
      await broken.fetch(
        new Request('http://localhost/v1/messages', { method: 'POST', body: '{canary-prompt' }),
      )
    ).text()
    expect(lines.length).toBeGreaterThan(0)
    expect(lines.join('\n')).not.toContain('canary')
    const api = await broken.fetch(new Request('http://localhost/api/info'))
    expect(await api.text()).not.toContain('canary')
    const list = await broken.fetch(new Request('http://localhost/api/threads'))
    const { threads } = (await list.json()) as { threads: { id: string }[] }
    expect(threads.length).toBeGreaterThan(0)
    for (const { id } of threads) {
      const log = await (
        await broken.fetch(new Request(`http://localhost/api/threads/${id}/export`))
      ).text()
      expect(log).toContain('canary-prompt')
      expect(log).not.toMatch(/canary-key|canary-provider-key/)
    }
  })
})
