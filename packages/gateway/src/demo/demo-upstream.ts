// The demo upstream: a provider without a network, so that everything can be seen at once. It speaks all three formats, keeps their rules,
// reports usage with a prompt cache, and answers from a script.

import { createHash } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { canonicalJson, type JsonObject, resolveCounter } from 'oriel'
import {
  fixedSeconds,
  type Provider,
  type ProviderError,
  providerAt,
  type Reply,
  speakerAt,
  streamTexts,
  type WrittenAnswer,
} from 'oriel/providers'
import { readAsked } from './asked.ts'
import { createIds } from './ids.ts'
import { answer } from './model.ts'
import { PrefixCache } from './prefix-cache.ts'

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
      const provider = request.method === 'POST' ? providerAt(path) : undefined
      if (provider === undefined) return answerOther(request, path, cache)
      const body = await readBody(request)
      if (body === undefined) return refuse(provider, { status: 400, message: notJson })
      const refusal = refusalOf(provider, body, { cache, window })
      if (refusal !== undefined) return refuse(provider, refusal)
      const said = say(provider, body, cache)
      if (!provider.request.isStreaming(body, path)) return json(said.body)
      return stream(streamTexts(said), eventDelayMs, request.signal)
    },
  }
}

const notJson = 'We could not parse the JSON body of your request.'

function refusalOf(
  provider: Provider,
  body: JsonObject,
  { cache, window }: { readonly cache: PrefixCache; readonly window: number },
): ProviderError | undefined {
  const [violation] = provider.validate(body)
  if (violation !== undefined) {
    return { status: 400, message: violation.message, path: violation.path }
  }
  const tokens = cache.weigh(provider, body)
  return tokens > window ? provider.errors.tooLong({ tokens, window }) : undefined
}

function say(provider: Provider, body: JsonObject, cache: PrefixCache): WrittenAnswer {
  const reply = answer(readAsked(provider, body))
  const { input, cached } = cache.count(provider, body)
  const seal = (text: string): string => createHash('sha512').update(text).digest('base64')
  const counter = resolveCounter('estimate')
  const textOf = (parts: Reply): string =>
    parts.map((part) => ('text' in part ? part.text : JSON.stringify(part))).join('\n')
  return provider.writeAnswer(reply, {
    request: body,
    measured: {
      input,
      cached,
      written: input - cached,
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
  const speaker = speakerAt(path)
  if (speaker !== undefined && path.endsWith('/count_tokens') && request.method === 'POST') {
    const body = await readBody(request)
    if (body === undefined) return refuse(speaker, { status: 400, message: notJson })
    return json({ input_tokens: cache.weigh(speaker, body) })
  }
  const message = `Invalid URL (${request.method} ${path})`
  return speaker === undefined
    ? json({ error: { message } }, 404)
    : refuse(speaker, { status: 404, message })
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

function refuse(provider: Provider, error: ProviderError): Response {
  return json(provider.errors.body(error), error.status)
}

function json(body: JsonObject, status = 200): Response {
  return Response.json(body, { status })
}
