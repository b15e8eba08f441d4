// How the scripted upstream sends what its script says: whole, in events, in pieces, too slowly, half, or not at all.

import type { ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import type { JsonObject, WireFormat } from 'oriel'
import { providers, type Reply, streamTexts, type WrittenAnswer } from 'oriel/providers'
import type { Action, Delivery } from './action.ts'
import { providerError, streamError } from './provider-errors.ts'

/** What is known of the request while it is answered. */
export interface Answered {
  readonly format: WireFormat
  readonly path: string
  readonly body: JsonObject
  bytesSent: number
}

export interface Speaking {
  readonly headers: Readonly<Record<string, string>>
  readonly say: (reply: Reply) => WrittenAnswer
}

export async function perform(
  action: Action,
  response: ServerResponse,
  recorded: Answered,
  { headers, say }: Speaking,
): Promise<void> {
  const { format, body } = recorded
  switch (action.type) {
    case 'reply': {
      const said = say(action.reply)
      const { delivery = {}, alter = (whole) => whole } = action
      const isStream = providers[format].request.isStreaming(body, recorded.path)
      if (isStream) await stream({ response, recorded, headers }, said, delivery)
      else if (delivery.cutAfter !== undefined) cutWhole(response, said.body, headers)
      else sendJson(response, 200, alter(said.body), headers)
      return
    }
    case 'error': {
      const extra = action.status === 429 ? { 'retry-after': '1' } : {}
      const error = providerError(format, action.status, action.message)
      sendJson(response, action.status, error, { ...headers, ...extra, ...action.headers })
      return
    }
    case 'hang':
      if (action.after === 'nothing') return
      response.writeHead(200, { ...headers, 'content-type': 'text/event-stream' })
      response.flushHeaders()
      if (action.after === 'events') {
        const texts = streamTexts(say(action.reply ?? [{ type: 'text', text: 'Begun.' }]))
        for (const text of texts.slice(0, 4)) await write(response, text, recorded)
      }
      return
    case 'drop':
      response.destroy()
      return
    case 'flood':
      await flood({ response, recorded, headers }, say, action.bytes)
      return
    case 'raw':
      response.writeHead(action.status, action.headers ?? {})
      response.end(action.body)
      return
  }
}

interface Line {
  readonly response: ServerResponse
  readonly recorded: Answered
  readonly headers: Readonly<Record<string, string>>
}

async function stream(line: Line, said: WrittenAnswer, delivery: Delivery): Promise<void> {
  const { response, recorded, headers } = line
  const { eventDelayMs = 0, cutAfter, errorAfter, endAfter, chunkBytes } = delivery
  response.writeHead(200, { ...headers, 'content-type': 'text/event-stream; charset=utf-8' })
  const stop = cutAfter ?? errorAfter ?? endAfter
  const texts = streamTexts(said).slice(0, stop)
  if (errorAfter !== undefined) texts.push(errorText(recorded.format))
  for (const [index, text] of texts.entries()) {
    if (response.destroyed) return
    if (index > 0 && eventDelayMs > 0) await wait(eventDelayMs)
    const framed = frame(text, delivery)
    for (const piece of inBytes(framed, chunkBytes)) {
      await write(response, piece, recorded)
      if (chunkBytes !== undefined) await wait(0)
    }
  }
  // The bytes must leave before the connection breaks, or the client sees no stream at all.
  if (cutAfter !== undefined) response.write(': cut\n\n', () => response.destroy())
  else response.end()
}

function frame(text: string, { lineEnd = '\n', hasComments = false }: Delivery): string {
  const whole = hasComments ? `: keepalive\n\n${text}` : text
  return lineEnd === '\n' ? whole : whole.replaceAll('\n', lineEnd)
}

function* inBytes(text: string, size: number | undefined): Iterable<Uint8Array> {
  const bytes = Buffer.from(text, 'utf8')
  const step = size ?? bytes.length
  for (let start = 0; start < bytes.length; start += step) yield bytes.subarray(start, start + step)
}

function errorText(format: WireFormat): string {
  const { event, data } = streamError(format)
  return `${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`
}

/** One event with much text, again and again, as fast as the other side reads. */
async function flood(line: Line, say: Speaking['say'], bytes: number): Promise<void> {
  const { response, recorded, headers } = line
  response.writeHead(200, { ...headers, 'content-type': 'text/event-stream' })
  const { events } = say([{ type: 'text', text: 'x'.repeat(4000) }])
  const texts = streamTexts({ body: {}, events })
  const middle = texts.find((text) => text.includes('xxxx')) ?? ''
  const head = texts.slice(0, texts.indexOf(middle))
  for (const text of head) await write(response, text, recorded)
  while (recorded.bytesSent < bytes && !response.destroyed) await write(response, middle, recorded)
  response.end()
}

/** Writes and waits until the network took it, so that `bytesSent` is what the other side made room for. */
async function write(
  response: ServerResponse,
  data: string | Uint8Array,
  recorded: Answered,
): Promise<void> {
  if (response.destroyed) return
  const hasRoom = response.write(data)
  recorded.bytesSent += data.length
  if (hasRoom || response.destroyed) return
  await new Promise<void>((resolve) => {
    const go = (): void => {
      response.off('drain', go)
      response.off('close', go)
      resolve()
    }
    response.on('drain', go)
    response.on('close', go)
  })
}

function cutWhole(
  response: ServerResponse,
  body: JsonObject,
  headers: Readonly<Record<string, string>>,
): void {
  const bytes = Buffer.from(JSON.stringify(body))
  response.writeHead(200, {
    ...headers,
    'content-type': 'application/json',
    'content-length': String(bytes.length),
  })
  response.write(bytes.subarray(0, bytes.length >> 1), () => response.destroy())
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>>,
): void {
  response.writeHead(status, { ...headers, 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}
