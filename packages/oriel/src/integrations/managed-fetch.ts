// A fetch for a provider's own SDK: requests for an answer go out with the view in them, and what comes back is recorded as it
// passes. Everything else of the SDK (helpers, retries, timeouts, types) stays as it is.

import { createParser } from 'eventsource-parser'
import { OrielError } from '../core/log/errors.ts'
import { isObject, type Json, type JsonObject } from '../core/log/json.ts'
import { assertOptions, type OptionNames } from '../core/log/options.ts'
import { modelOf, type Provider } from '../providers/provider.ts'
import { type Answer, type AnswerStream, parseEvent, parseObject } from '../providers/stream.ts'
import type { AnyThread } from '../thread/thread.ts'
import { readUsage } from '../thread/view/read-usage.ts'
import {
  type Answered,
  type Call,
  type CallUsage,
  type Conversation,
  type ManagedOptions,
  managedOptions,
  type StatelessOptions,
  statelessConversation,
  statelessOptions,
  threadConversation,
} from './conversation.ts'
import { type ExpandingOptions, expandResponse, injectedInto } from './expanding-fetch.ts'

/** The conversation of all calls is kept in a thread, or each call is projected by itself. */
export type ManagedClientOptions = ManagedOptions &
  ({ readonly thread: AnyThread } | StatelessOptions)

type AllOptions = ManagedOptions & Partial<StatelessOptions> & { readonly thread?: AnyThread }
const allOptions: OptionNames<AllOptions> = { ...managedOptions, ...statelessOptions, thread: true }

/** What is needed of a client: both SDKs make a copy of it with another fetch. */
export interface ClientLike<C> {
  withOptions(options: never): C
}

type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

/** The fetches made here: a client that has one is managed already. */
const made = new WeakSet<Fetch>()

/** A copy of the client whose answers are managed. Throws 'invalid-option' for what is no client, or is managed already. */
export function managedClient<C extends ClientLike<C>>(
  client: C,
  options: ManagedClientOptions,
  providers: readonly Provider[],
): C {
  if (!isObject(client) || typeof client.withOptions !== 'function') {
    const message = 'managed takes a client of the SDK, for example new OpenAI().'
    throw new OrielError('invalid-option', message, { path: 'client' })
  }
  assertOptions<AllOptions>(options, allOptions, 'managed')
  const own: unknown = Reflect.get(client, 'fetch')
  const fetch = (typeof own === 'function' ? own : globalThis.fetch) as Fetch
  if (made.has(fetch)) {
    const message =
      'This client is managed already, and each answer would be recorded twice. Pass the client that it was made from.'
    throw new OrielError('invalid-option', message, { path: 'client' })
  }
  const conversation =
    'thread' in options
      ? threadConversation(options.thread, options)
      : statelessConversation(options, options)
  const managing = managedFetch(fetch, conversation, providers)
  made.add(managing)
  return client.withOptions({ fetch: managing } as never)
}

/** What is recorded of an answer. */
function answeredOf({ messages, usage, response }: Answer): Answered {
  return { messages, usage: usageOf(usage), isPaused: response?.isPaused === true }
}

/** The token counts of an answer; undefined where there are none that can be read. */
function usageOf(usage: JsonObject | undefined): CallUsage | undefined {
  if (usage === undefined) return undefined
  try {
    return readUsage(usage)
  } catch (error) {
    if (OrielError.is(error, 'invalid-input')) return undefined
    throw error
  }
}

function managedFetch(
  fetch: Fetch,
  conversation: Conversation,
  providers: readonly Provider[],
): Fetch {
  return async (input, init) => {
    const body = init?.method?.toUpperCase() === 'POST' ? readBody(init.body) : undefined
    const path = new URL(input instanceof Request ? input.url : input).pathname
    const provider = body && providers.find((one) => isPathOf(one, path))
    const history = provider && managedHistory(provider, body, conversation)
    if (!body || provider === undefined || history === undefined)
      return fetch.call(undefined, input, init)
    const { request, name: format } = provider
    const injected = conversation.isKept ? injectedInto(provider, body) : undefined
    const send = (call: Call): Promise<Response> => {
      const own = call.offersExpansion ? (injected?.body ?? body) : body
      return fetch.call(undefined, input, withBody(init, request.write(own, call)))
    }
    const model = modelOf(provider, body, path)
    const first = await conversation.begin(history, {
      format,
      frame: request.frame(body),
      expand: injected && { tool: injected.name, frame: request.frame(injected.body) },
      ...(model === undefined ? {} : { model }),
    })
    const { call, response } = await attempt(first, send)
    if (!response.ok || response.body === null) return response
    if (call.offersExpansion && injected !== undefined) {
      const again = async (next: Call): Promise<Response> => (await attempt(next, send)).response
      return expanded(response, call, {
        ...{ provider, injected, model, send: again, answered: answeredOf },
      })
    }
    return isStream(response)
      ? overheard(response, provider.stream(), call)
      : recorded(response, provider, call)
  }
}

/** Whether a client asks this provider for an answer at a path: its base URL may have a path of its own. */
function isPathOf({ request: { paths, hasFreeRoot = false } }: Provider, path: string): boolean {
  return paths.some((one) => path.endsWith(hasFreeRoot ? one.slice(one.indexOf('/', 1)) : one))
}

/** The messages of a request that can be managed, in such a conversation; undefined for any other request. */
function managedHistory(
  { request }: Provider,
  body: JsonObject,
  { isKept }: Conversation,
): readonly Json[] | undefined {
  if (request.isAmbiguous?.(body) === true) return undefined
  const history = request.history(body)
  if (history === undefined) return undefined
  // Only a thread knows an answer that continues.
  return request.isBegun?.(history) === true && !isKept ? undefined : history
}

/** JSON texts only: uploads and the like pass as they are. */
function readBody(body: unknown): JsonObject | undefined {
  return typeof body === 'string' ? parseObject(body) : undefined
}

function withBody(init: RequestInit | undefined, body: JsonObject): RequestInit {
  const headers = new Headers(init?.headers)
  headers.delete('content-length')
  return { ...init, headers, body: JSON.stringify(body) }
}

/** Sends once, and once more with a smaller view when the provider says that the first was too long. */
async function attempt(
  call: Call,
  send: (call: Call) => Promise<Response>,
): Promise<{ readonly call: Call; readonly response: Response }> {
  const response = await send(call)
  if (response.status !== 400 && response.status !== 413) return { call, response }
  const text = await response.text()
  const smaller = await call.recover({ status: response.status, body: text })
  if (smaller !== undefined) return { call: smaller, response: await send(smaller) }
  return { call, response: rebuilt(response, text) }
}

function isStream(response: Response): boolean {
  return response.headers.get('content-type')?.includes('text/event-stream') === true
}

/** All rounds of a call in which the model may look up originals, as one response. */
async function expanded(
  response: Response,
  call: Call,
  options: ExpandingOptions,
): Promise<Response> {
  const { stream, whole } = expandResponse(response, call, options)
  const body = stream ?? (await whole) ?? ''
  return body instanceof Response ? body : rebuilt(response, body)
}

async function recorded(response: Response, provider: Provider, call: Call): Promise<Response> {
  const text = await response.text()
  const body = parseObject(text)
  const answer = body && provider.answer(body)
  if (answer !== undefined) await call.record(answeredOf(answer))
  return rebuilt(response, text)
}

/** The longest event that is listened to: a larger one is passed on and not recorded. */
const maxEventLength = 32 * 1024 * 1024

function overheard(response: Response, answer: AnswerStream, call: Call): Response {
  const decoder = new TextDecoder()
  const parser = createParser({
    maxBufferSize: maxEventLength,
    onEvent: ({ data }) => answer.take(parseEvent(data)),
  })
  let isRecorded = false
  const record = async (): Promise<void> => {
    const answered = isRecorded || !answer.isComplete ? undefined : answer.answer()
    isRecorded = true
    if (answered !== undefined) await call.record(answeredOf(answered))
  }
  const listening = new TransformStream<Uint8Array, Uint8Array>({
    async transform(chunk, controller) {
      parser.feed(decoder.decode(chunk, { stream: true }))
      // Before the end is told: SDKs stop reading there, and the next step must find this one in the thread.
      if (answer.isOver) await record()
      controller.enqueue(chunk)
    },
    flush: record,
    // A reader may leave as soon as it knows that the answer is whole, before the end of the stream is told.
    cancel: record,
  })
  return rebuilt(response, (response.body as ReadableStream<Uint8Array>).pipeThrough(listening))
}

/** The same response with a body that was read: it is no longer encoded, and its length may differ. */
function rebuilt(response: Response, body: string | ReadableStream<Uint8Array>): Response {
  const headers = new Headers(response.headers)
  headers.delete('content-encoding')
  headers.delete('content-length')
  const { status, statusText, url } = response
  const copy = new Response(body, { status, statusText, headers })
  // A response that was made by hand has no address: `asResponse()` and the SDK's own log tell the real one's.
  return Object.defineProperty(copy, 'url', { value: url })
}
