// Mock upstream in its own process: waits a fixed time and answers with prepared bytes, in any
// format, whole or streamed. It reads a request only to detect streaming. `node mock.ts
// '<MockSettings as JSON>'`.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  type Format,
  paths,
  streamedAnswer,
  timeDigits,
  timeMark,
  wholeAnswer,
  withInput,
} from './answers.ts'

export interface MockSettings {
  /** Time until the answer, or a stream's first chunk. */
  readonly latencyMs: number
  /** Chunks of text in a stream. */
  readonly chunks: number
  /** Time between two of them. */
  readonly intervalMs: number
}

let settings = JSON.parse(process.argv[2] ?? '{}') as MockSettings
let streams = prepare()

const formats = Object.keys(paths) as Format[]
const wholes = new Map(formats.map((format) => [paths[format], wholeAnswer(format)]))
/** Inside a text its quotes would be escaped. */
const streamMark = Buffer.from('"stream":true')

function prepare() {
  const made = (Object.keys(paths) as Format[]).map((format) => {
    const answer = streamedAnswer(format, settings.chunks)
    return [paths[format], { ...answer, offset: timeOffset(answer.pieces[0] as Buffer) }] as const
  })
  return new Map(made)
}

function timeOffset(piece: Buffer): number {
  return piece.length - piece.indexOf(timeMark) - timeMark.length
}

const server = createServer({ keepAliveTimeout: 600_000 }, (request, response) => {
  let isStream = false
  let end: Buffer = Buffer.alloc(0)
  let bytes = 0
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (isStream) return
    isStream =
      chunk.includes(streamMark) || Buffer.concat([end, chunk.subarray(0, 16)]).includes(streamMark)
    end = chunk.subarray(-16)
  })
  request.on('end', () => {
    setTimeout(() => answer(request, response, { isStream, bytes }), settings.latencyMs)
  })
})
server.requestTimeout = 0
server.listen(0, '127.0.0.1', () => {
  process.send?.({ port: (server.address() as AddressInfo).port })
})

process.on('message', (next: { readonly settings?: MockSettings }) => {
  if (next.settings === undefined) return
  settings = next.settings
  streams = prepare()
  process.send?.({ settings })
})

function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { isStream, bytes }: { readonly isStream: boolean; readonly bytes: number },
): void {
  const url = request.url ?? ''
  if (isStream) {
    stream(url, response, bytes)
    return
  }
  const ready = wholes.get(url)
  if (ready === undefined) {
    response.writeHead(404).end()
    return
  }
  const whole = withInput(ready, bytes)
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': whole.length })
  response.end(whole)
}

function stream(url: string, response: ServerResponse, bytes: number): void {
  const prepared = streams.get(url)
  if (prepared === undefined) {
    response.writeHead(404).end()
    return
  }
  const { opening, pieces, ending, offset } = prepared
  const { intervalMs } = settings
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  response.write(withInput(opening, bytes))
  let next = 0
  const more = (): void => {
    if (response.destroyed) return
    const piece = pieces[next]
    next += 1
    if (piece === undefined) {
      response.end(withInput(ending, bytes))
      return
    }
    const stamped = Buffer.from(piece)
    stamped.write(timeText(), stamped.length - offset, timeDigits, 'latin1')
    response.write(stamped)
    if (intervalMs === 0) more()
    else setTimeout(more, intervalMs)
  }
  more()
}

function timeText(): string {
  return String(process.hrtime.bigint() / 1000n).padStart(timeDigits, '0')
}
