// Answers that are compressed although a plain one was asked for: the client gets their bytes, the log what they say.

import { request } from 'node:http'
import * as zlib from 'node:zlib'
import type { WireFormat } from 'oriel'
import { afterEach, describe, expect, it } from 'vitest'
import { dialects, spokenFormats } from '../dialect.ts'
import { openGateway, type Target, type TargetOptions } from '../target.ts'
import { reply } from '../upstream/action.ts'
import { key, logOf, newestThread, say, until } from './raw-client.ts'

let target: Target | undefined
afterEach(() => target?.close())

const said = 'What the model said, packed. '

const codings: Readonly<Record<string, (bytes: Uint8Array) => Uint8Array>> = {
  gzip: (bytes) => zlib.gzipSync(bytes),
  'x-gzip': (bytes) => zlib.gzipSync(bytes),
  GZIP: (bytes) => zlib.gzipSync(bytes),
  br: (bytes) => zlib.brotliCompressSync(bytes),
  deflate: (bytes) => zlib.deflateSync(bytes),
  // Some servers mean the bare format.
  'deflate ': (bytes) => zlib.deflateRawSync(bytes),
  zstd: (bytes) => zlib.zstdCompressSync(bytes),
}

interface Got {
  readonly status: number | undefined
  readonly encoding: string | undefined
  readonly bytes: Buffer
}

/** A call by a client that takes bytes as they come. */
function call(url: string, format: WireFormat, isStream: boolean): Promise<Got> {
  const dialect = dialects[format]
  const body = JSON.stringify({ ...dialect.body([dialect.user('Hello')], []), stream: isStream })
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const outgoing = request(url + dialect.path, { method: 'POST', headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () =>
        resolve({
          status: response.statusCode,
          encoding: response.headers['content-encoding'],
          bytes: Buffer.concat(chunks),
        }),
      )
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

/** The bytes of an answer as a provider sends them, and their type. */
async function plainAnswer(
  format: WireFormat,
  isStream: boolean,
  text: string,
): Promise<{ readonly bytes: Buffer; readonly type: string }> {
  const plain = await openGateway({ answer: () => reply({ text }) })
  const response = await say(plain.upstream.url, format, 'Hello', { isStream })
  const bytes = Buffer.from(await response.arrayBuffer())
  await plain.close()
  return { bytes, type: response.headers.get('content-type') ?? '' }
}

async function openWith(
  headers: Record<string, string>,
  body: Uint8Array,
  gateway: NonNullable<TargetOptions['gateway']> = {},
): Promise<{ readonly url: string; readonly lines: string[] }> {
  const lines: string[] = []
  target = await openGateway({
    answer: () => ({ type: 'raw', status: 200, headers, body }),
    gateway: { log: (line) => lines.push(line), ...gateway },
  })
  return { url: target.url, lines }
}

async function truncated(url: string, code: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const found = new RegExp(`oriel_answers_truncated_total\\{code="${code}"\\} (\\d+)`).exec(text)
  return Number(found?.[1])
}

const table = spokenFormats.flatMap((format) =>
  [false, true].flatMap((isStream) =>
    Object.keys(codings).map((coding) => ({ format, isStream, coding })),
  ),
)

describe('a compressed answer', () => {
  it.each(table)(
    '[GW92] $format in $coding (streamed: $isStream) reaches the client as it came, and the log as it reads',
    async ({ format, isStream, coding }) => {
      const text = said.repeat(50)
      const { bytes, type } = await plainAnswer(format, isStream, text)
      const packed = codings[coding]?.(bytes) ?? bytes
      const headers = { 'content-type': type, 'content-encoding': coding }
      const { url } = await openWith(headers, packed)
      const got = await call(url, format, isStream)
      expect(got).toEqual({ status: 200, encoding: coding.trim(), bytes: Buffer.from(packed) })
      const entries = await logOf(url, await newestThread(url))
      const answers = entries.filter((one) => one.type === 'message' && one.role === 'assistant')
      expect(answers).toHaveLength(1)
      expect(JSON.stringify(answers)).toContain(text)
    },
  )

  it.each(spokenFormats)(
    '[GW92] %s in a coding that nobody knows, or with a damaged one, is passed on with a warning',
    async (format) => {
      const { bytes, type } = await plainAnswer(format, true, said)
      const damaged = Buffer.from(zlib.gzipSync(bytes))
      damaged.fill(0xff, 20, 60)
      const cut = zlib.gzipSync(bytes).subarray(0, -12)
      const cases = [
        ['compress', bytes, 'unknown-encoding'],
        ['gzip, br', bytes, 'unknown-encoding'],
        ['gzip', bytes, 'damaged-encoding'],
        ['gzip', damaged, 'damaged-encoding'],
        ['gzip', cut, 'damaged-encoding'],
      ] as const
      for (const [coding, body, code] of cases) {
        const headers = { 'content-type': type, 'content-encoding': coding }
        const { url, lines } = await openWith(headers, body)
        expect((await call(url, format, true)).bytes).toEqual(Buffer.from(body))
        expect(await truncated(url, code)).toBe(1)
        expect(lines).toContainEqual(expect.stringContaining(code))
        await target?.close()
      }
      target = undefined
    },
  )

  it.each(['gzip', 'br', 'zstd'])(
    '[GW92] that is a bomb in %s is passed on, and decompressed no further than the bound',
    async (coding) => {
      const maxBytes = 200_000
      const event = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'z'.repeat(900) } }] })}\n\n`
      const body = codings[coding]?.(Buffer.from(event.repeat(60_000))) ?? Buffer.alloc(0)
      expect(body.byteLength).toBeLessThan(1_000_000)
      const headers = { 'content-type': 'text/event-stream', 'content-encoding': coding }
      const limits = { answerBytes: maxBytes }
      const { url } = await openWith(headers, body, { limits })
      expect((await call(url, 'openai-chat', true)).bytes).toEqual(Buffer.from(body))
      expect(await truncated(url, 'too-large')).toBe(1)
      const thread = await newestThread(url)
      await until(async () => JSON.stringify(await logOf(url, thread)).includes('too-large'))
      expect(JSON.stringify(await logOf(url, thread)).length).toBeLessThan(2 * maxBytes)
    },
  )

  it('[GW92] that refuses a request as too long is understood', async () => {
    const dialect = dialects['openai-chat']
    const error = {
      error: {
        message: "This model's maximum context length is 3000 tokens.",
        code: 'context_length_exceeded',
        type: 'invalid_request_error',
        param: 'messages',
      },
    }
    target = await openGateway({
      answer: ({ index }) =>
        index === 0
          ? {
              type: 'raw',
              status: 400,
              headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
              body: zlib.gzipSync(JSON.stringify(error)),
            }
          : reply({ text: 'Fits.' }),
      gateway: { policy: {} },
    })
    const history = Array.from({ length: 21 }, (_, index) =>
      index % 2 === 0
        ? dialect.user(`Question ${index} ${'word '.repeat(300)}`)
        : { role: 'assistant', content: `Answer ${index}` },
    )
    const response = await fetch(target.url + dialect.path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify(dialect.body(history, [])),
    })
    expect(response.status).toBe(200)
    expect(target.upstream.requests).toHaveLength(2)
  })
})
