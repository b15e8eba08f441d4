import { createServer, get, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { IncomingChunks } from './chunks.ts'

const closing: (() => void)[] = []

afterEach(() => {
  for (const close of closing.splice(0)) close()
})

/** The answer of a server that does this. */
async function answerOf(listener: RequestListener): Promise<IncomingMessage> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return new Promise((resolve, reject) => {
    get({ port, host: '127.0.0.1' }, resolve).on('error', reject)
  })
}

async function textOf(chunks: IncomingChunks): Promise<string> {
  const all: Uint8Array[] = []
  for await (const chunk of chunks) all.push(chunk)
  return Buffer.concat(all).toString()
}

describe('the chunks of an answer', () => {
  it('come in order and end with it', async () => {
    const text = Array.from({ length: 2000 }, (_, index) => `line ${index}`).join('\n')
    const incoming = await answerOf((_, response) => {
      response.write(text.slice(0, 100))
      setImmediate(() => response.end(text.slice(100)))
    })
    expect(await textOf(new IncomingChunks(incoming))).toBe(text)
  })

  it('are none where the answer is empty', async () => {
    const incoming = await answerOf((_, response) => response.end())
    expect(await textOf(new IncomingChunks(incoming))).toBe('')
  })

  it('reject where the answer breaks off, after what had come', async () => {
    const incoming = await answerOf((_, response) => {
      response.writeHead(200, { 'content-length': 100 })
      response.write('half')
      setTimeout(() => response.destroy(), 20)
    })
    const chunks = new IncomingChunks(incoming)
    expect(Buffer.from((await chunks.next()).value).toString()).toBe('half')
    await expect(chunks.next()).rejects.toThrow()
    await expect(chunks.next()).rejects.toThrow()
  })

  it('end the connection when nobody wants more of them', async () => {
    const incoming = await answerOf((_, response) => void response.write('more to come'))
    for await (const _chunk of new IncomingChunks(incoming)) break
    expect(incoming.destroyed).toBe(true)
  })
})
