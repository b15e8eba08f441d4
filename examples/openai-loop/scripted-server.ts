// What a model would say, streamed from this machine, so that the example runs without one.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

interface Message {
  readonly role: string
  readonly content: string | null
}

/** Asks for the weather of the city in the newest question, then repeats what it was told. */
export async function scriptedServer(
  bodies: { readonly messages: readonly Message[] }[] = [],
): Promise<{ readonly url: string; close(): void }> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = JSON.parse(Buffer.concat(chunks).toString('utf8')) as (typeof bodies)[number]
    bodies.push(body)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const send = (delta: object, finish: string | null): void => {
      const choices = [{ index: 0, delta, finish_reason: finish }]
      response.write(
        `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'scripted', choices })}\n\n`,
      )
    }
    send({ role: 'assistant' }, null)
    const last = body.messages.at(-1)
    if (last?.role === 'tool') {
      for (const word of String(last.content).split(' ')) send({ content: `${word} ` }, null)
      send({}, 'stop')
    } else {
      const city = /in (\w+)/.exec(String(last?.content))?.[1]
      const call = { name: 'weather', arguments: JSON.stringify({ city }) }
      send(
        {
          tool_calls: [{ index: 0, id: `call_${bodies.length}`, type: 'function', function: call }],
        },
        null,
      )
      send({}, 'tool_calls')
    }
    response.end('data: [DONE]\n\n')
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
