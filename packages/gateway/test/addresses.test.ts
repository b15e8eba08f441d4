// Addresses that are read in two ways, sent by hand: libraries put them right before they leave.

import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { createGateway, type GatewayServer, serveGateway } from '../src/index.ts'

const key = 'a-key-of-the-gateway'
const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** A gateway with a key in front of an upstream that has its own key, and what the upstream was asked. */
async function open(): Promise<{ server: GatewayServer; asked: string[] }> {
  const asked: string[] = []
  const upstream: Server = createServer((request, response) => {
    asked.push(`${request.url} ${JSON.stringify(request.headers)}`)
    request.resume().on('end', () => response.end('{"secret":"of the upstream"}'))
  })
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  closing.push(() => new Promise((resolve) => upstream.close(resolve)))
  const { port } = upstream.address() as AddressInfo
  const gateway = createGateway({
    keys: [{ name: 'one', key }],
    upstreams: [{ name: 'u', baseUrl: `http://127.0.0.1:${port}/base`, key: 'operator-key' }],
  })
  const server = await serveGateway(gateway, { port: 0 })
  closing.push(() => server.close())
  return { server, asked }
}

/** The status line of what comes back for these bytes. */
function send({ port }: GatewayServer, head: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(`${head}\r\n\r\n`))
    socket.setEncoding('latin1').on('data', (part: string) => {
      text += part
      if (text.includes('\r\n')) socket.destroy()
    })
    socket.on('close', () => resolve(text.split('\r\n')[0] ?? ''))
    socket.on('error', reject)
  })
}

describe('addresses sent by hand', () => {
  it.each(['[', 'a b', '%%%', 'x<y', ':99999', '127.0.0.1:99999', ''])(
    '[GW2] the host %j is refused, on every route, and the server goes on',
    async (host) => {
      const { server } = await open()
      for (const path of ['/v1/models', '/v1/chat/completions', '/api/threads', '/healthz']) {
        const status = await send(server, `GET ${path} HTTP/1.1\r\nHost: ${host}`)
        expect(status).toMatch(/ 40[03] /)
      }
      expect(await send(server, 'GET /healthz HTTP/1.1\r\nHost: localhost')).toContain(' 200 ')
    },
  )

  it.each(['%2e%2e', '%2E%2e', '.%2e', '..', '%2e', '.'])(
    '[GW2] %s is no way out of /v1, with a key or without',
    async (up) => {
      const { server, asked } = await open()
      for (const rest of ['healthz', 'assets/x', 'threads/t1', 'api/openapi.json', '', 'admin']) {
        for (const more of ['', `\r\nAuthorization: Bearer ${key}`]) {
          const head = `GET /v1/${up}/${rest} HTTP/1.1\r\nHost: localhost${more}`
          expect(await send(server, head)).toMatch(/ 40[14] /)
        }
      }
      expect(asked).toEqual([])
    },
  )

  it('[GW5] a key of the gateway travels on in no header, however often it is sent', async () => {
    const { server, asked } = await open()
    const head = [
      'GET /v1/models HTTP/1.1',
      'Host: localhost',
      `X-Oriel-Key: ${key}`,
      `Authorization: Bearer ${key}`,
      `X-Api-Key: ${key}`,
    ]
    expect(await send(server, head.join('\r\n'))).toContain(' 200 ')
    expect(asked.join()).toContain('operator-key')
    expect(asked.join()).not.toContain(key)
  })
})
