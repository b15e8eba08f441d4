// A strict provider on loopback: it refuses what the real ones refuse, in their words, answers what its script says, and writes down
// every byte that it was sent.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type JsonObject, resolveCounter, type TokensOption, type WireFormat } from 'oriel'
import { providerAt, providers } from 'oriel/providers'
import { createIds } from '../../src/demo/ids.ts'
import { PrefixCache } from '../../src/demo/prefix-cache.ts'
import type { Action } from './action.ts'
import { beginning, Compactions } from './compaction.ts'
import { type Breach, breachesOf } from './laws.ts'
import { providerHeaders } from './provider-errors.ts'
import { type Binding, Seals } from './seals.ts'
import { perform, sendJson } from './send.ts'

export interface UpstreamOptions {
  /** What to do with each request that is accepted. */
  readonly answer: (asked: Asked) => Action | Promise<Action>
  /** Longest request in tokens. @default no limit */
  readonly window?: number
  /** What signatures are bound to. @default 'prefix' */
  readonly binding?: Binding
  /** @default 'estimate' */
  readonly tokens?: TokensOption
  /** Whether what breaks a rule is refused; else it is only written down. @default true */
  readonly isRefusing?: boolean
  /** Whether it edits and compacts the context itself, as the providers' own servers do. @default false */
  readonly compacts?: boolean
}

/** One request as it arrived. */
export interface Asked {
  /** Position among the model calls, from 0. */
  readonly index: number
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: Readonly<Record<string, string>>
  readonly raw: Buffer
  readonly format: WireFormat
  readonly body: JsonObject
  /** Tokens of the whole request, and of what an earlier one began with too. */
  readonly tokens: number
  readonly cached: number
}

/** A model call with what became of it. */
export interface Recorded extends Asked {
  /** The rules that it broke: refused with 400. */
  readonly breaches: readonly Breach[]
  /** True when it was refused for its length. */
  readonly isTooLong: boolean
  /** Bytes of the answer that were handed to the network. */
  bytesSent: number
  /** `finished`, or `aborted` when the connection went before the end of the answer. */
  readonly ended: Promise<'finished' | 'aborted'>
}

/** Any other call: answered with what was received. */
export type OtherCall = Pick<Asked, 'method' | 'path' | 'query' | 'headers' | 'raw'>

export interface Upstream {
  readonly url: string
  readonly requests: readonly Recorded[]
  readonly others: readonly OtherCall[]
  /** Rules broken by any request, with the position of the request. */
  readonly breaches: readonly string[]
  /** Tokens received so far, refused requests not counted. */
  readonly tokens: number
  /** Connections that are open now. */
  readonly connections: number
  /** Resolves when so many model calls have arrived. */
  arrived(count: number): Promise<Recorded>
  close(): Promise<void>
}

/** Listens on a free port of 127.0.0.1. */
export async function startUpstream(options: UpstreamOptions): Promise<Upstream> {
  const { window = Infinity, binding = 'prefix', tokens, isRefusing = true, answer } = options
  const cache = new PrefixCache(resolveCounter(tokens))
  const seals = new Seals(binding)
  const { compacts = false } = options
  const compactions = new Compactions()
  const requests: Recorded[] = []
  const others: OtherCall[] = []
  const waiting: { count: number; resolve: (recorded: Recorded) => void }[] = []
  const open = new Set<object>()

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const raw = await readBytes(request)
    const url = new URL(request.url ?? '/', 'http://upstream')
    const call = {
      method: request.method ?? '',
      path: url.pathname,
      query: url.search,
      headers: flatHeaders(request),
      raw,
    }
    const isCompacting = compacts && call.path === '/v1/responses/compact'
    const provider = isCompacting
      ? providers['openai-responses']
      : call.method === 'POST'
        ? providerAt(call.path)
        : undefined
    if (provider === undefined) {
      others.push(call)
      sendJson(response, 200, { ...call, raw: raw.toString('utf8') }, { 'x-other': 'yes' })
      return
    }
    const { name: format } = provider
    const body = parse(raw)
    const weight = cache.weigh(provider, body)
    const breaches = [
      ...breachesOf(format, raw, body, { knows: compacts }),
      ...seals.breaches(format, body),
      ...(compacts ? compactions.breaches(format, body, call.headers) : []),
    ]
    const isTooLong = breaches.length === 0 && weight > window
    const isAccepted = breaches.length === 0 && !isTooLong
    const counted = isAccepted ? cache.count(provider, body) : { input: weight, cached: 0 }
    const recorded: Recorded = {
      ...call,
      ...{ index: requests.length, format, body, breaches, isTooLong },
      ...{ tokens: counted.input, cached: counted.cached, bytesSent: 0 },
      ended: new Promise((resolve) => {
        response.on('close', () => resolve(response.writableFinished ? 'finished' : 'aborted'))
      }),
    }
    requests.push(recorded)
    for (const { count, resolve } of waiting) if (count <= requests.length) resolve(recorded)
    await respond(recorded, response)
  }

  async function respond(recorded: Recorded, response: ServerResponse): Promise<void> {
    const { format, body, breaches, index } = recorded
    const provider = providers[format]
    const headers = providerHeaders(format, `req_${index}`)
    const [breach] = breaches
    if (breach !== undefined && isRefusing) {
      const { message, param } = breach
      const error = {
        ...{ status: 400, message },
        ...(param === undefined ? {} : { path: param }),
      }
      sendJson(response, 400, provider.errors.body(error), headers)
      return
    }
    if (recorded.isTooLong) {
      const error = provider.errors.tooLong({ tokens: recorded.tokens, window })
      sendJson(response, error.status, provider.errors.body(error), headers)
      return
    }
    if (recorded.path === '/v1/responses/compact') {
      const users = (body.input as readonly JsonObject[]).filter(({ role }) => role === 'user')
      const output = [...users, compactions.item(index)]
      const usage = { input_tokens: recorded.tokens, output_tokens: 9, total_tokens: 0 }
      const whole = { id: `resp_c${index}`, object: 'response.compaction', created_at: 1 }
      sendJson(response, 200, { ...whole, output, usage }, headers)
      return
    }
    await perform(await answer(recorded), response, recorded, {
      headers,
      say(reply) {
        const { tokens: input, cached } = recorded
        const text = JSON.stringify(reply)
        const output = Math.ceil(text.length / 4)
        const said = provider.writeAnswer(reply, {
          request: body,
          measured: { input, cached, output, reasoning: 0, written: input - cached },
          makeId: createIds(String(index)),
          seal: seals.forAnswer(format, body),
        })
        seals.remember(format, body, said.body)
        const due = compacts ? compactions.due(format, body, input, index) : undefined
        return due === undefined ? said : beginning(format, said, due, body)
      },
    })
  }

  const server = createServer((request, response) => {
    take(request, response).catch((error: unknown) => {
      // A client that left in the middle of its request is part of the experiments.
      if (!request.destroyed) response.destroy(error instanceof Error ? error : undefined)
    })
  })
  server.on('connection', (socket) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    others,
    get breaches() {
      return requests.flatMap(({ index, format, breaches }) =>
        breaches.map(({ rule, message }) => `${format} #${index} ${rule}: ${message}`),
      )
    },
    get tokens() {
      const accepted = requests.filter(
        ({ breaches, isTooLong }) => breaches.length === 0 && !isTooLong,
      )
      return accepted.reduce((sum, { tokens: count }) => sum + count, 0)
    },
    get connections() {
      return open.size
    },
    arrived(count) {
      const last = requests[count - 1]
      if (last !== undefined) return Promise.resolve(last)
      return new Promise((resolve) => waiting.push({ count, resolve }))
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function readBytes(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts)
}

function parse(raw: Buffer): JsonObject {
  try {
    const value: unknown = JSON.parse(raw.toString('utf8'))
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as JsonObject)
      : {}
  } catch {
    return {}
  }
}

function flatHeaders(request: IncomingMessage): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
  )
}
