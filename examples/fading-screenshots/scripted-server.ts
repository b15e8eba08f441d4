// What a model would say, served from this machine, so that the example runs without one.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A picture of one point. */
export const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** Says how many pictures and messages it sees. */
export async function scriptedServer(
  bodies: { readonly messages: readonly unknown[] }[] = [],
): Promise<{ readonly url: string; close(): void }> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = JSON.parse(Buffer.concat(chunks).toString('utf8')) as (typeof bodies)[number]
    bodies.push(body)
    const pictures = JSON.stringify(body).split('"image_url":').length - 1
    const content = `${pictures} pictures in ${body.messages.length} messages`
    const message = { role: 'assistant', content, refusal: null }
    const choices = [{ index: 0, message, finish_reason: 'stop', logprobs: null }]
    const usage = { prompt_tokens: 100, completion_tokens: 5, total_tokens: 105 }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(
      JSON.stringify({
        id: 'c',
        object: 'chat.completion',
        created: 1,
        model: 'scripted',
        choices,
        usage,
      }),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/v1`,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
