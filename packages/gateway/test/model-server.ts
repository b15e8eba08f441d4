// A model server on loopback that answers chat completions as its script says: well, badly, or not at all.

import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Completion {
  readonly model: string
  readonly messages: readonly { readonly role: string; readonly content: unknown }[]
  readonly tools?: unknown
}

export interface ModelServer {
  readonly url: string
  readonly asked: readonly Completion[]
  close(): void
}

export async function startModels(
  answer: (asked: Completion, response: ServerResponse) => void,
): Promise<ModelServer> {
  const asked: Completion[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as Completion
      asked.push(body)
      answer(body, response)
    })
    // A gateway that gives up is part of the experiments.
    request.on('error', () => {})
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

export function sendJson(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(value))
}

/** A completion with one choice. */
export function say(response: ServerResponse, content: unknown, finish = 'stop'): void {
  const message = { role: 'assistant', content }
  sendJson(response, { choices: [{ index: 0, message, finish_reason: finish }] })
}

const sections = ['Goal', 'Constraints', 'Progress', 'Decisions', 'Next steps', 'Critical context']

/** A summary that a checkpoint accepts; also good for a tool result. */
export function goodSummary(words = 'A good summary.'): string {
  return sections.map((name) => `## ${name}\n${words}`).join('\n')
}
