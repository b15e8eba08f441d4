import { memoryStore } from 'oriel'
import { expect, it } from 'vitest'
import { createGateway } from '../gateway.ts'
import { serveGateway } from './server.ts'

/** An upstream that begins an answer and never ends it. */
async function endless({ signal }: Request): Promise<Response> {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      const event = '{"choices":[{"index":0,"delta":{"content":"Half an answer"}}]}'
      controller.enqueue(Buffer.from(`data: ${event}\n\n`))
      signal.addEventListener('abort', () => controller.error(signal.reason))
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}

it('[GW53] logs what had come of an answer that is cut because the server closes', async () => {
  const store = memoryStore()
  const upstreams = [{ name: 'u', baseUrl: 'http://upstream.invalid', fetch: endless }]
  const server = await serveGateway(createGateway({ store, upstreams }), { port: 0, drainMs: 50 })
  const asked = await fetch(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model: 'm', stream: true, messages: [{ role: 'user', content: 'Hi' }] }),
  })
  const reader = asked.body?.getReader()
  await reader?.read()
  await server.close()
  await expect(reader?.read()).rejects.toThrow()
  const key = { tenant: 'local', thread: asked.headers.get('x-oriel-thread') ?? '' }
  const kinds: unknown[] = []
  for await (const entry of store.read(key)) {
    if (entry.type === 'message') kinds.push([entry.role, entry.kind, JSON.stringify(entry.blocks)])
  }
  expect(kinds).toEqual([
    ['user', undefined, expect.any(String)],
    ['system', 'interrupted', expect.stringContaining('Half an answer')],
  ])
})

it('[GW73] closes at once beside a page that listens, and that comes again when its stream ends', async () => {
  const server = await serveGateway(createGateway({ store: memoryStore() }), { port: 0 })
  const listen = (): Promise<Response> => fetch(`${server.url}/api/events`)
  const first = await listen()
  const again = first
    .text()
    .then(listen)
    .then(
      ({ status }) => status,
      () => 'refused',
    )
  const start = performance.now()
  await server.close()
  expect(performance.now() - start).toBeLessThan(5000)
  expect(await again).toBeOneOf([503, 'refused'])
})

it('[GW20] closes as soon as the last call has ended, whatever connections clients keep', async () => {
  const called = Promise.withResolvers<() => void>()
  const late = (): Promise<Response> =>
    new Promise((resolve) => called.resolve(() => resolve(Response.json({ id: 'late' }))))
  const upstreams = [{ name: 'u', baseUrl: 'http://upstream.invalid', fetch: late }]
  const gateway = createGateway({ store: memoryStore(), upstreams })
  const server = await serveGateway(gateway, { port: 0, drainMs: 60_000 })
  const asked = fetch(`${server.url}/v1/models`)
  const answer = await called.promise
  const closed = server.close()
  answer()
  expect(await (await asked).json()).toEqual({ id: 'late' })
  await closed
})
