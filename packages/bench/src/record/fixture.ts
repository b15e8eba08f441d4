// Recording file format, and its scrubbing.

import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { homedir, hostname, release, userInfo } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { WireFormat } from './reply.ts'
import type { Expected } from './script.ts'
import type { Body, Exchange } from './server.ts'

export interface RecordedRequest {
  /** Only those that name a session, a request or a retry. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Body
  /** The whole answer of the server, even if it was streamed. */
  readonly reply: Exchange['reply']
}

export interface Fixture {
  readonly client: string
  readonly version: string
  readonly format: WireFormat
  readonly description: string
  readonly requests: readonly RecordedRequest[]
  /** Ground truth of each request, from the script, not from its content. */
  readonly expected: readonly Expected[]
}

export interface CleanOptions {
  /** Texts of this machine and what stands for them, longest first. */
  readonly replace?: readonly (readonly [find: string, put: string])[]
  /** Cut texts of system prompts and tool descriptions to this many characters, and very long outputs too. */
  readonly frameChars?: number
}

/** Ids that agents give a machine, inside JSON and inside JSON inside a string. */
const installationId = /((?:device|installation)_id[\\"]*:[\\"]*)[0-9a-f-]+/g

/** Outputs of tools are kept up to this length where anything is trimmed. */
const messageChars = 1000

export const fixtureFolder = fileURLToPath(
  new URL('../../../oriel/test/fixtures/clients/', import.meta.url),
)

const sessionHeader =
  /session|thread|conversation|affinity|retry|idempotency|agent-id|request-id|turn|window/
const unwantedHeader = /authorization|api-key|cookie|token|metadata/

export function writeFixture(name: string, fixture: Fixture): void {
  mkdirSync(fixtureFolder, { recursive: true })
  writeFileSync(`${fixtureFolder}${name}.json`, `${JSON.stringify(fixture, undefined, 1)}\n`)
}

/** Keeps what the experiment needs of one exchange and nothing of this machine. */
export function cleanExchange(exchange: Exchange, options: CleanOptions = {}): RecordedRequest {
  const { replace = [], frameChars } = options
  const headers = Object.fromEntries(
    Object.entries(exchange.headers).filter(
      ([name]) => sessionHeader.test(name) && !unwantedHeader.test(name),
    ),
  )
  const reply = { ...exchange.reply, body: withoutEcho(exchange.reply.body) }
  let text = JSON.stringify({ headers, body: exchange.body, reply })
  const ownWords: (readonly [string, string])[] = [
    [homedir(), '/home/user'],
    [hostname(), 'host'],
    [release(), '6.0'],
  ]
  if (userInfo().username !== 'root') ownWords.push([userInfo().username, 'user'])
  for (const [find, put] of [...replace, ...ownWords]) {
    text = text.replaceAll(JSON.stringify(find).slice(1, -1), put)
  }
  text = text.replaceAll(installationId, (_found, name: string) => `${name}0`)
  const request = JSON.parse(text) as RecordedRequest
  return frameChars === undefined ? request : { ...request, body: trim(request.body, frameChars) }
}

/**
 * Shortens instructions, tool descriptions and long outputs; the list of messages keeps its structure. Texts that were
 * equal stay equal and texts that differed still differ.
 */
function trim(body: Body, frameChars: number): Body {
  const frame = Object.fromEntries(
    ['system', 'instructions', 'tools']
      .filter((key) => key in body)
      .map((key) => [key, shortenTexts(body[key], frameChars)]),
  )
  const list = body.messages ?? body.input
  if (!Array.isArray(list)) return { ...body, ...frame }
  const trimmed = list.map((message: unknown) =>
    shortenTexts(message, isSystem(message) ? frameChars : messageChars),
  )
  return { ...body, ...frame, [body.messages === undefined ? 'input' : 'messages']: trimmed }
}

function isSystem(message: unknown): boolean {
  const role = (message as { role?: unknown } | null)?.role
  return role === 'system' || role === 'developer'
}

function shortenTexts(value: unknown, chars: number): unknown {
  if (typeof value === 'string') return shorten(value, chars)
  if (Array.isArray(value)) return value.map((item) => shortenTexts(item, chars))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => [key, shortenTexts(field, chars)]),
  )
}

function shorten(text: string, chars: number): string {
  if (text.length <= chars) return text
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 12)
  const half = chars >> 1
  return `${text.slice(0, half)}[trimmed ${text.length} ${digest}]${text.slice(-half)}`
}

/** An answer of /v1/responses repeats the request's tools and instructions; once is enough. */
function withoutEcho(body: Body): Body {
  const { tools: _tools, instructions: _instructions, text: _text, ...rest } = body
  return rest
}
