// Spans and metrics as OpenTelemetry's own SDK records them, over real HTTP.

import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SpanKind, SpanStatusCode } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import { memoryStore, OrielError, type Store } from 'oriel'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createGateway, type Gateway, type GatewayOptions, serveGateway } from '../../src/index.ts'
import { bodyOf, type Format, paths, streamedAnswer, wholeAnswer } from './answers.ts'
import { type Recorder, registerOpenTelemetry } from './open-telemetry.ts'

let recorder: Recorder
let upstream: Server
let upstreamUrl: string
let respond: (
  format: Format,
  isStream: boolean,
  body: string,
) => { status: number; chunks: readonly string[]; isCut?: boolean; isOpen?: boolean }
const seen: IncomingHttpHeaders[] = []
const closing: (() => Promise<void>)[] = []

const usual: typeof respond = (format, isStream) => ({
  status: 200,
  chunks: isStream ? streamedAnswer(format, 'Hello.') : [wholeAnswer(format, 'Hello.')],
})

beforeAll(async () => {
  recorder = registerOpenTelemetry()
  upstream = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (part: string) => {
      body += part
    })
    request.on('end', () => {
      seen.push(request.headers)
      const format = (Object.keys(paths) as Format[]).find((one) => paths[one] === request.url)
      const isStream = body.includes('"stream":true')
      const { status, chunks, isCut, isOpen } = respond(format ?? 'openai-chat', isStream, body)
      const type = isStream ? 'text/event-stream' : 'application/json'
      response.writeHead(status, { 'content-type': type })
      for (const chunk of chunks) response.write(chunk)
      if (isCut === true) setTimeout(() => response.destroy(), 20)
      else if (isOpen !== true) response.end()
    })
  })
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  upstreamUrl = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`
})

beforeEach(() => {
  respond = usual
  seen.length = 0
  recorder.reset()
})

afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

afterAll(async () => {
  await recorder.close()
  await new Promise((resolve) => upstream.close(resolve))
})

async function open(options: GatewayOptions = {}): Promise<{ url: string; gateway: Gateway }> {
  const gateway = createGateway({
    upstreams: [{ name: 'main', baseUrl: upstreamUrl }],
    ...options,
  })
  const server = await serveGateway(gateway, { port: 0 })
  closing.push(() => server.close())
  return { url: server.url, gateway }
}

async function ask(
  { url, gateway }: { url: string; gateway: Gateway },
  format: Format,
  {
    body = bodyOf(format, 'Hello?'),
    headers = {},
  }: { body?: string; headers?: Record<string, string> } = {},
): Promise<{ response: Response; span: ReadableSpan }> {
  const before = recorder.spans().length
  const response = await fetch(url + paths[format], { method: 'POST', body, headers })
  await response.text().catch(() => undefined)
  await gateway.settled()
  await expect.poll(() => recorder.spans().length).toBe(before + 1)
  return { response, span: recorder.spans().at(-1) as ReadableSpan }
}

describe.each(['openai-chat', 'openai-responses', 'anthropic'] as const)(
  'a call in %s',
  (format) => {
    it.each([false, true])(
      '[GT1] is one span with the attributes of the GenAI conventions (stream: %s)',
      async (stream) => {
        const target = await open()
        const body = bodyOf(format, 'Hello?', stream ? { stream } : {})
        const { response, span } = await ask(target, format, { body })
        const isAnthropic = format === 'anthropic'
        const model = isAnthropic ? 'claude-sonnet-4-5' : 'gpt-5'
        expect([span.name, span.kind, span.status.code]).toEqual([
          `chat ${model}`,
          SpanKind.CLIENT,
          SpanStatusCode.UNSET,
        ])
        expect(span.attributes).toEqual({
          'gen_ai.operation.name': 'chat',
          'gen_ai.provider.name': isAnthropic ? 'anthropic' : 'openai',
          'gen_ai.conversation.id': response.headers.get('x-oriel-thread'),
          'gen_ai.request.model': model,
          'gen_ai.request.max_tokens': 500,
          ...(stream
            ? {
                'gen_ai.request.stream': true,
                'gen_ai.response.time_to_first_chunk': expect.any(Number),
              }
            : {}),
          'gen_ai.response.id': {
            'openai-chat': 'chatcmpl-1',
            'openai-responses': 'resp_1',
            anthropic: 'msg_1',
          }[format],
          'gen_ai.response.model': isAnthropic ? 'claude-sonnet-4-5-20260101' : 'gpt-5-2026',
          'gen_ai.response.finish_reasons': [
            { 'openai-chat': 'stop', 'openai-responses': 'completed', anthropic: 'end_turn' }[
              format
            ],
          ],
          'gen_ai.usage.input_tokens': 120,
          'gen_ai.usage.output_tokens': 30,
          'gen_ai.usage.cache_read.input_tokens': 80,
          'gen_ai.usage.cache_creation.input_tokens': isAnthropic ? 10 : 0,
          'gen_ai.usage.cache_write.input_tokens': isAnthropic ? 10 : 0,
          ...(isAnthropic ? {} : { 'gen_ai.usage.reasoning.output_tokens': 12 }),
          'http.response.status_code': 200,
          'oriel.format': format,
          'oriel.upstream': 'main',
          'oriel.managed': true,
          'oriel.tokens.before': expect.any(Number),
          'oriel.tokens.after': expect.any(Number),
          'oriel.epoch.applied': 0,
          'oriel.epoch.cause': 'none',
          'oriel.projection.duration_ms': expect.any(Number),
          'oriel.policy.source': 'default',
          'oriel.expansions': 0,
          'oriel.rounds': 1,
        })
        const [seconds, nanoseconds] = span.duration
        const ms = seconds * 1000 + nanoseconds / 1e6
        expect(ms).toBeGreaterThan(0)
        expect(ms).toBeLessThan(10_000)
      },
    )
  },
)

/** A history with old results, which the policy omits. */
function longBody(results: number): string {
  const messages: object[] = [{ role: 'user', content: 'Look everywhere.' }]
  for (let n = 0; n < results; n++) {
    const call = { id: `c${n}`, type: 'function', function: { name: 'look', arguments: '{}' } }
    messages.push({ role: 'assistant', content: null, tool_calls: [call] })
    messages.push({
      role: 'tool',
      tool_call_id: `c${n}`,
      content: 'much to see here. '.repeat(200),
    })
  }
  return JSON.stringify({ model: 'gpt-5', messages })
}

const omitting = { toolResults: { strategy: 'keepRecent', max: 1, cutoff: 0 } } as const

describe('what was done to the history', () => {
  it('[GT2] says that the view is compacted, what it saved, and why then; and says nothing where it is not', async () => {
    const target = await open({ policy: omitting })
    const { span, response } = await ask(target, 'openai-chat', { body: longBody(5) })
    const before = Number(response.headers.get('x-oriel-tokens-before'))
    const after = Number(response.headers.get('x-oriel-tokens-after'))
    expect(after).toBeLessThan(before / 2)
    expect(span.attributes).toMatchObject({
      'gen_ai.conversation.compacted': true,
      'oriel.tokens.before': before,
      'oriel.tokens.after': after,
      'oriel.epoch.applied': 4,
      'oriel.epoch.cause': 'policy',
      'oriel.epoch.id': response.headers.get('x-oriel-epoch'),
    })
    const plain = await ask(target, 'openai-chat')
    expect(plain.span.attributes).not.toHaveProperty(['gen_ai.conversation.compacted'])
  })

  it('[GT2] names the layer that the policy came from', async () => {
    const target = await open({ agents: { bot: { policy: omitting } } })
    const sourceOf = async (headers: Record<string, string>): Promise<unknown> =>
      (await ask(target, 'openai-chat', { headers })).span.attributes['oriel.policy.source']
    expect(await sourceOf({})).toBe('default')
    expect(await sourceOf({ 'x-oriel-agent': 'bot' })).toBe('agent')
    expect(await sourceOf({ 'x-oriel-policy': '{"history":{"length":3}}' })).toBe('request')
    const locked = await open({ env: { ORIEL_HISTORY_LENGTH: '5' } })
    const { span } = await ask(locked, 'openai-chat')
    expect(span.attributes['oriel.policy.source']).toBe('environment')
  })

  it('[GT2] names the cause when the cache of the provider broke', async () => {
    const target = await open({ policy: {} })
    const messages: object[] = [{ role: 'user', content: 'Begin. '.repeat(4000) }]
    respond = () => ({
      status: 200,
      chunks: [
        JSON.stringify({
          id: 'x',
          choices: [{ finish_reason: 'stop', message: { role: 'assistant', content: 'Yes.' } }],
          usage: {
            prompt_tokens: 9000,
            completion_tokens: 2,
            prompt_tokens_details: { cached_tokens: seen.length === 1 ? 8000 : 0 },
          },
        }),
      ],
    })
    const first = await ask(target, 'openai-chat', {
      body: JSON.stringify({ model: 'gpt-5', messages }),
    })
    expect(first.span.attributes).not.toHaveProperty(['oriel.cache.break'])
    messages.push({ role: 'assistant', content: 'Yes.' }, { role: 'user', content: 'Go on.' })
    const tools = [{ type: 'function', function: { name: 'new', parameters: { type: 'object' } } }]
    const second = await ask(target, 'openai-chat', {
      body: JSON.stringify({ model: 'gpt-5', tools, messages }),
      headers: { 'x-oriel-thread': String(first.response.headers.get('x-oriel-thread')) },
    })
    expect(second.span.attributes['gen_ai.conversation.id']).toBe(
      first.span.attributes['gen_ai.conversation.id'],
    )
    expect(second.span.attributes['oriel.cache.break']).toMatch(/^[a-z]+$/)
  })

  it('[GT2] counts both requests of a call that was made smaller and asked again', async () => {
    const target = await open({ policy: { compaction: { contextWindow: 200_000 } } })
    respond = (format, isStream) =>
      seen.length === 1
        ? {
            status: 400,
            chunks: [
              '{"error":{"message":"This model\'s maximum context length is 1000 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}',
            ],
          }
        : usual(format, isStream, '')
    const { span, response } = await ask(target, 'openai-chat', { body: longBody(30) })
    expect(response.status).toBe(200)
    expect(span.attributes).toMatchObject({
      'oriel.rounds': 2,
      'gen_ai.conversation.compacted': true,
      'http.response.status_code': 200,
    })
  })
})

describe('an original that the model asked for within the call', () => {
  it('[GT2] is a round of the same span, with its expansion and the sums of both', async () => {
    const target = await open({ policy: omitting, expand: true })
    respond = (format, isStream, body) => {
      const [, id = ''] = /expand (e\w+)/.exec(body) ?? []
      if (seen.length > 1) return usual(format, isStream, body)
      const call = {
        id: 'own-1',
        type: 'function',
        function: { name: 'expand_message', arguments: JSON.stringify({ id }) },
      }
      const message = { role: 'assistant', content: null, tool_calls: [call] }
      const usage = { prompt_tokens: 1000, completion_tokens: 10 }
      const choices = [{ index: 0, finish_reason: 'tool_calls', message }]
      return { status: 200, chunks: [JSON.stringify({ id: 'first', choices, usage })] }
    }
    const { span } = await ask(target, 'openai-chat', { body: longBody(5) })
    expect(seen).toHaveLength(2)
    expect(span.attributes).toMatchObject({
      'oriel.rounds': 2,
      'oriel.expansions': 1,
      'gen_ai.usage.input_tokens': 1120,
      'gen_ai.usage.output_tokens': 40,
      'gen_ai.response.finish_reasons': ['stop'],
    })
    const text = await (await fetch(`${target.url}/metrics`)).text()
    expect(text).toContain('oriel_expansions_total 1')
    expect(text).toContain('oriel_projection_duration_seconds_count 2')
    const saved = Number(/oriel_tokens_saved_total\{model="gpt-5"\} (\d+)/.exec(text)?.[1])
    const { 'oriel.tokens.before': before, 'oriel.tokens.after': after } = span.attributes
    expect(saved).toBeGreaterThan(1.5 * (Number(before) - Number(after)))
  })
})

describe('errors', () => {
  it('[GT3] of an upstream are its status, and never its words', async () => {
    const target = await open()
    for (const status of [400, 401, 429, 500, 529]) {
      respond = () => ({ status, chunks: ['{"error":{"message":"canary-words"}}'] })
      const { span } = await ask(target, 'openai-chat')
      expect(span.status).toEqual({ code: SpanStatusCode.ERROR })
      expect(span.attributes).toMatchObject({
        'error.type': String(status),
        'http.response.status_code': status,
        'gen_ai.response.finish_reasons': ['error'],
      })
      expect(span.events).toEqual([])
    }
  })

  it('[GT3] of the gateway are its codes, before and after the body is understood', async () => {
    const failing: Store = new Proxy(memoryStore(), {
      get(inner, name) {
        if (name === 'append') {
          return async () => {
            throw new OrielError('storage-full', 'No room.')
          }
        }
        const value: unknown = Reflect.get(inner, name)
        return typeof value === 'function' ? value.bind(inner) : value
      },
    })
    const target = await open({ store: failing })
    const full = await ask(target, 'anthropic')
    expect([full.span.name, full.span.attributes['error.type']]).toEqual([
      'chat claude-sonnet-4-5',
      'storage-full',
    ])
    const broken = await ask(target, 'openai-chat', { body: '{' })
    expect([broken.span.name, broken.span.attributes['error.type']]).toEqual([
      'chat',
      'invalid-json',
    ])
    expect(broken.span.attributes).not.toHaveProperty(['gen_ai.request.model'])
    const nowhere = await open({ upstreams: [{ name: 'gone', baseUrl: 'http://127.0.0.1:9' }] })
    const gone = await ask(nowhere, 'openai-chat')
    expect(gone.span.attributes).toMatchObject({
      'error.type': 'upstream-failed',
      'oriel.upstream': 'gone',
    })
  })

  it('[GT3] are streams that break, and clients that leave', async () => {
    const target = await open()
    respond = (format) => ({
      status: 200,
      chunks: streamedAnswer(format, 'Hello.').slice(0, 1),
      isCut: true,
    })
    const body = bodyOf('openai-chat', 'Hello?', { stream: true })
    const cut = await ask(target, 'openai-chat', { body })
    expect(cut.span.attributes).toMatchObject({
      'error.type': 'upstream-broke',
      'gen_ai.response.finish_reasons': ['error'],
      'gen_ai.response.time_to_first_chunk': expect.any(Number),
    })
    respond = (format) => ({ status: 200, chunks: streamedAnswer(format, 'Hello.').slice(0, 2) })
    const short = await ask(target, 'openai-responses', {
      body: bodyOf('openai-responses', 'x', { stream: true }),
    })
    expect(short.span.attributes['error.type']).toBeUndefined()
    respond = (format) => ({
      status: 200,
      chunks: streamedAnswer(format, 'Hello.').slice(0, 1),
      isCut: false,
    })
    const ended = await ask(target, 'anthropic', {
      body: bodyOf('anthropic', 'x', { stream: true }),
    })
    expect(ended.span.attributes['error.type']).toBe('cut-short')
    const before = recorder.spans().length
    respond = () => ({ status: 200, chunks: ['data: {"choices":[]}\n\n'], isOpen: true })
    const leaving = new AbortController()
    const left = await fetch(target.url + paths['openai-chat'], {
      method: 'POST',
      body,
      signal: leaving.signal,
    })
    leaving.abort()
    await left.text().catch(() => undefined)
    await expect.poll(() => recorder.spans().length).toBe(before + 1)
    expect(recorder.spans().at(-1)?.attributes['error.type']).toBe('client-left')
  })

  it('[GT3] who leaves before the first byte is no error of the gateway', async () => {
    const target = await open()
    const before = recorder.spans().length
    respond = () => ({ status: 200, chunks: [], isOpen: true })
    const leaving = new AbortController()
    const left = fetch(target.url + paths['openai-chat'], {
      method: 'POST',
      body: bodyOf('openai-chat', 'x'),
      signal: leaving.signal,
    }).catch(() => undefined)
    await new Promise((resolve) => setTimeout(resolve, 200))
    leaving.abort()
    await left
    await expect.poll(() => recorder.spans().length).toBe(before + 1)
    const { attributes } = recorder.spans().at(-1) ?? {}
    expect(attributes?.['error.type']).toBe('client-left')
    expect(attributes?.['http.response.status_code']).toBeUndefined()
    const metrics = await (await fetch(`${target.url}/metrics`)).text()
    expect(metrics).not.toMatch(/oriel_requests_total\{[^}]*5xx[^}]*\} [1-9]/)
  })

  it('[GT3] calls that are not managed say so, with their model', async () => {
    const target = await open()
    respond = (format) => ({ status: 200, chunks: streamedAnswer(format, 'Hello.') })
    const { span } = await ask(target, 'openai-chat', {
      body: bodyOf('openai-chat', 'x', { stream: true }),
      headers: { 'x-oriel-management': 'off' },
    })
    expect(span.attributes['oriel.managed']).toBe(false)
    expect(span.attributes['gen_ai.request.model']).toBeDefined()
    expect(span.attributes['oriel.upstream']).toBeDefined()
  })

  it('[GT3] leave names that are no names out', async () => {
    const target = await open()
    const body = JSON.stringify({
      model: 'tell me a canary, please',
      messages: [{ role: 'user', content: 'x' }],
    })
    respond = () => ({
      status: 200,
      chunks: [
        JSON.stringify({
          id: 'a canary sentence',
          model: 'x'.repeat(5000),
          choices: [
            { finish_reason: 'because canary', message: { role: 'assistant', content: 'Yes.' } },
          ],
        }),
      ],
    })
    const { span } = await ask(target, 'openai-chat', { body })
    expect(span.name).toBe('chat')
    expect(JSON.stringify(span.attributes)).not.toMatch(/canary|xxx/)
  })
})

describe('traces', () => {
  const trace = '0af7651916cd43dd8448eb211c80319c'
  const parent = `00-${trace}-b7ad6b7169203331-01`

  it('[GT4] of the client are continued, and passed on with our own span as the parent', async () => {
    const target = await open()
    const { span } = await ask(target, 'openai-chat', {
      headers: { traceparent: parent, tracestate: 'vendor=1' },
    })
    expect(span.spanContext().traceId).toBe(trace)
    expect(span.parentSpanContext?.spanId).toBe('b7ad6b7169203331')
    expect(seen[0]?.traceparent).toBe(`00-${trace}-${span.spanContext().spanId}-01`)
    expect(seen[0]?.tracestate).toBe('vendor=1')
  })

  it('[GT4] begin here where the client has none, or none that is one', async () => {
    const target = await open()
    for (const headers of [{}, { traceparent: 'canary' }] as Record<string, string>[]) {
      seen.length = 0
      const { span } = await ask(target, 'anthropic', { headers })
      expect(span.parentSpanContext).toBeUndefined()
      expect(seen[0]?.traceparent).toContain(span.spanContext().spanId)
    }
  })
})

describe('metrics', () => {
  it('[GT5] reach OpenTelemetry under the same names, with the attributes of the conventions', async () => {
    const target = await open({ policy: omitting })
    await ask(target, 'openai-chat', { body: longBody(5) })
    const all = await recorder.metrics()
    const find = (name: string): readonly { attributes: object; value: unknown }[] =>
      all
        .filter(({ descriptor }) => descriptor.name === name)
        .flatMap(({ dataPoints }) => dataPoints as never)
    const attributes = {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'gpt-5',
    }
    const usage = find('gen_ai.client.token.usage').map((point) => point.attributes)
    expect(usage).toContainEqual({ ...attributes, 'gen_ai.token.type': 'input' })
    expect(usage).toContainEqual({ ...attributes, 'gen_ai.token.type': 'output' })
    expect(
      find('gen_ai.client.operation.duration').map((point) => point.attributes),
    ).toContainEqual(attributes)
    const saved = find('oriel.tokens.saved').find(
      (point) => 'gen_ai.request.model' in point.attributes,
    )
    expect(saved?.value).toBeGreaterThan(1000)
    const dollars = find('oriel.cost.saved')[0]?.value as number
    expect(dollars).toBeGreaterThan(0)
    expect(dollars).toBeLessThan(0.01)
    expect(find('oriel.epochs').map((point) => point.attributes)).toContainEqual({
      'oriel.cause': 'policy',
    })
    for (const name of [
      'oriel.requests',
      'oriel.projection.duration',
      'oriel.overhead.duration',
      'oriel.calls.active',
      'oriel.edits',
      'oriel.tokens.sent',
    ]) {
      expect([name, find(name).length > 0]).toEqual([name, true])
    }
    expect(find('oriel.calls.active')[0]?.value).toBe(0)
  })
})
