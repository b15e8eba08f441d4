// A model server on loopback that answers from a script and writes down what it was asked.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { providerAt } from 'oriel/providers'
import type { MakeId, Reply, WireAnswer, WireFormat } from './reply.ts'
import { createIds } from './reply.ts'
import { anthropicAnswer } from './wire/anthropic.ts'
import { chatAnswer } from './wire/chat.ts'
import { responsesAnswer } from './wire/responses.ts'

export type Body = Readonly<Record<string, unknown>>

export interface Asked {
  readonly format: WireFormat
  readonly headers: Readonly<Record<string, string>>
  readonly body: Body
}

/** One request with what was answered, whole, whether it was streamed or not. */
export interface Exchange extends Asked {
  readonly reply: { readonly status: number; readonly isCut?: boolean; readonly body: Body }
}

export interface ScriptedServer {
  readonly url: string
  /** Every model call so far, in order of arrival. */
  readonly exchanges: readonly Exchange[]
  /** Calls to other paths: method and path. Answered with an empty success or 404. */
  readonly otherCalls: readonly string[]
  close(): Promise<void>
}

export interface ScriptedServerOptions {
  /** Makes the ids of this recording unique. */
  readonly seed: string
  readonly answer: (asked: Asked, index: number) => Reply
  /** Makes ids. @default ones that are unique for the seed */
  readonly makeId?: MakeId
}

const errorTypes: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  429: 'rate_limit_error',
  529: 'overloaded_error',
}

/** Listens on a free port of 127.0.0.1. */
export async function startServer(options: ScriptedServerOptions): Promise<ScriptedServer> {
  const exchanges: Exchange[] = []
  const otherCalls: string[] = []
  const { makeId = createIds(options.seed) } = options
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? '/', 'http://localhost').pathname
    const format = request.method === 'POST' ? providerAt(path)?.name : undefined
    if (format === undefined) {
      otherCalls.push(`${request.method} ${path}`)
      answerOther(path, response)
      return
    }
    readBody(request).then(
      (body) => {
        const asked: Asked = { format, headers: flatHeaders(request), body }
        const reply = options.answer(asked, exchanges.length)
        exchanges.push({ ...asked, reply: send(asked, reply, response, makeId) })
      },
      (error: unknown) => response.destroy(error instanceof Error ? error : undefined),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    exchanges,
    otherCalls,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function send(
  asked: Asked,
  reply: Reply,
  response: ServerResponse,
  makeId: MakeId,
): Exchange['reply'] {
  if (reply.failWith !== undefined) return sendFailure(asked.format, reply, response)
  const answer = wireAnswer(asked, reply, makeId)
  if (asked.body.stream === true) sendStream(asked.format, answer, reply.isCut === true, response)
  else if (reply.isCut === true) response.destroy()
  else sendJson(200, answer.body, response)
  return { status: 200, ...(reply.isCut === true ? { isCut: true } : {}), body: answer.body }
}

function wireAnswer(asked: Asked, reply: Reply, makeId: MakeId): WireAnswer {
  const model = String(asked.body.model)
  switch (asked.format) {
    case 'openai-chat':
      return chatAnswer(reply, model, makeId)
    case 'openai-responses':
      return responsesAnswer(reply, asked.body, makeId)
    case 'anthropic':
      return anthropicAnswer(reply, model, makeId)
  }
}

function sendStream(
  format: WireFormat,
  answer: WireAnswer,
  isCut: boolean,
  response: ServerResponse,
): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const events = isCut ? answer.events.slice(0, answer.events.length >> 1) : answer.events
  for (const { event, data } of events) {
    if (event !== undefined) response.write(`event: ${event}\n`)
    response.write(`data: ${JSON.stringify(data)}\n\n`)
  }
  if (isCut) {
    // The bytes must leave before the connection breaks, or the client sees no stream at all.
    response.write(': cut\n\n', () => response.destroy())
    return
  }
  response.end(format === 'openai-chat' ? 'data: [DONE]\n\n' : undefined)
}

function sendFailure(
  format: WireFormat,
  reply: Reply,
  response: ServerResponse,
): Exchange['reply'] {
  const status = reply.failWith ?? 500
  const type = errorTypes[status] ?? 'api_error'
  const details = reply.errorDetails === undefined ? {} : { details: reply.errorDetails }
  const error = { type, message: `Scripted failure ${status}`, ...details }
  const body = format === 'anthropic' ? { type: 'error', error } : { error }
  response.setHeader('retry-after-ms', '1')
  sendJson(status, body, response)
  return { status, body }
}

function sendJson(status: number, body: unknown, response: ServerResponse): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

function answerOther(path: string, response: ServerResponse): void {
  if (path.endsWith('/count_tokens')) sendJson(200, { input_tokens: 100 }, response)
  else if (path.endsWith('/models')) sendJson(200, { object: 'list', data: [] }, response)
  else if (path === '/') sendJson(200, {}, response)
  else sendJson(404, { error: { type: 'not_found_error', message: 'Not scripted' } }, response)
}

async function readBody(request: IncomingMessage): Promise<Body> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  // The clients under test send JSON objects; anything else ends the recording with an error.
  return JSON.parse(Buffer.concat(parts).toString('utf8')) as Body
}

function flatHeaders(request: IncomingMessage): Readonly<Record<string, string>> {
  const entries = Object.entries(request.headers).map(([name, value]) => [name, String(value)])
  return Object.fromEntries(entries) as Record<string, string>
}
