// The demo upstream: a provider without a network, so that everything can be seen at once. It speaks all three formats, keeps their rules,
// reports usage with a prompt cache, and answers from a script.

import { createHash } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { JsonObject, WireFormat } from 'oriel'
import { canonicalJson, resolveCounter, validate } from 'oriel'
import { readAsked } from './asked.ts'
import { answer } from './model.ts'
import { PrefixCache } from './prefix-cache.ts'
import { invalidRequest, type Refusal, tooLong } from './refusal.ts'
import type { Reply, WireAnswer } from './reply.ts'
import { createIds, fixedSeconds } from './reply.ts'
import { formatOfPath, streamTexts, wireAnswer } from './wire.ts'

export interface DemoUpstreamOptions {
  /** Longest request, in tokens: a longer one is refused in the provider's words. @default 64000 */
  readonly window?: number
  /** Pause between two events of a stream. @default 0 */
  readonly eventDelayMs?: number
}

export interface DemoUpstream {
  fetch(request: Request): Promise<Response>
}

/** Names of the demo's models, one for each way to write a name. */
const models = ['oriel-demo', 'gpt-demo', 'claude-demo']

/** A provider that answers from a script. The same requests in the same order get the same answers. */
export function createDemoUpstream(options: DemoUpstreamOptions = {}): DemoUpstream {
  const { window = 64_000, eventDelayMs = 0 } = options
  const cache = new PrefixCache()
  return {
    async fetch(request) {
      const path = new URL(request.url).pathname
      const format = request.method === 'POST' ? formatOfPath.get(path) : undefined
      if (format === undefined) return answerOther(request, path, cache)
      const body = await readBody(request)
      if (body === undefined) return refuse(invalidRequest(format, { message: notJson }))
      const refusal = refusalOf(format, body, { cache, window })
      if (refusal !== undefined) return refuse(refusal)
      const said = say(format, body, cache)
      if (body.stream !== true) return json(said.body)
      return stream(streamTexts(format, said), eventDelayMs, request.signal)
    },
  }
}

const notJson = 'We could not parse the JSON body of your request.'

function refusalOf(
  format: WireFormat,
  body: JsonObject,
  { cache, window }: { readonly cache: PrefixCache; readonly window: number },
): Refusal | undefined {
  const [violation] = validate(format, body)
  if (violation !== undefined) {
    return invalidRequest(format, { message: violation.message, param: violation.path })
  }
  const tokens = cache.weigh(format, body)
  return tokens > window ? tooLong(format, { tokens, window }) : undefined
}

function say(format: WireFormat, body: JsonObject, cache: PrefixCache): WireAnswer {
  const reply = answer(readAsked(format, body))
  const { input, cached } = cache.count(format, body)
  const seal = (text: string): string => createHash('sha512').update(text).digest('base64')
  const counter = resolveCounter('estimate')
  const textOf = (parts: Reply): string =>
    parts.map((part) => ('text' in part ? part.text : JSON.stringify(part))).join('\n')
  return wireAnswer(format, reply, {
    request: body,
    measured: {
      input,
      cached,
      written: format === 'anthropic' ? input - cached : 0,
      output: counter.count(textOf(reply)),
      reasoning: counter.count(textOf(reply.filter(({ type }) => type === 'reasoning'))),
    },
    makeId: createIds(canonicalJson({ ...body, stream: false, stream_options: null })),
    seal,
  })
}

async function answerOther(request: Request, path: string, cache: PrefixCache): Promise<Response> {
  if (path === '/v1/models' && request.method === 'GET') {
    const data = models.map((id) => ({
      ...{ id, object: 'model', type: 'model', display_name: id },
      ...{ created: fixedSeconds, created_at: new Date(fixedSeconds * 1000).toISOString() },
      owned_by: 'oriel',
    }))
    return json({ object: 'list', data, has_more: false })
  }
  if (path === '/v1/messages/count_tokens' && request.method === 'POST') {
    const body = await readBody(request)
    if (body === undefined) return refuse(invalidRequest('anthropic', { message: notJson }))
    return json({ input_tokens: cache.weigh('anthropic', body) })
  }
  const message = `Invalid URL (${request.method} ${path})`
  return json({ error: { message, type: 'invalid_request_error', param: null, code: null } }, 404)
}

async function readBody(request: Request): Promise<JsonObject | undefined> {
  try {
    const value: unknown = JSON.parse(await request.text())
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as JsonObject) : undefined
  } catch {
    return undefined
  }
}

function stream(texts: readonly string[], delayMs: number, signal: AbortSignal): Response {
  const encoder = new TextEncoder()
  let next = 0
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const text = texts[next++]
      if (text === undefined || signal.aborted) {
        controller.close()
        return
      }
      if (delayMs > 0 && next > 1) await wait(delayMs, undefined, { signal }).catch(() => undefined)
      controller.enqueue(encoder.encode(text))
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream; charset=utf-8' } })
}

function refuse({ status, body }: Refusal): Response {
  return json(body, status)
}

function json(body: JsonObject, status = 200): Response {
  return Response.json(body, { status })
}
