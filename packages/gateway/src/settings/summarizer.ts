// Summaries by a model of the operator's choice: one call without tools, and the models to ask when it fails.

import {
  type AlignedRequest,
  type Block,
  type JsonObject,
  OrielError,
  type Summarize,
  type SummaryJob,
} from 'oriel'
import { fillPath, parseObject, providers } from 'oriel/providers'
import { isObject } from '../call/rewrite.ts'
import type { Upstream, UpstreamAnswer } from '../http/client.ts'
import { RefusedError } from '../http/errors.ts'
import { readWhole } from '../http/relay.ts'
import type { SummarizerOptions } from '../options.ts'

/** Summarizers are asked by the API that most servers have. */
const chat = providers['openai-chat'].request
/** The API refuses requests that name no version. */
const anthropicVersion: [string, string] = ['anthropic-version', '2023-06-01']
const maxAnswerBytes = 1024 * 1024
/** Characters for each token asked for; generous, since the job checks the length itself. */
const charsPerToken = 3
/** As long as a thread waits for a summary where nothing is configured. */
const defaultSummarizerMs = 30_000

/** Every way in which a summarizer fails, as the code in the event `job-failed` and in the log. */
export const summarizerFailures = {
  connection: 'The upstream could not be reached, or the connection broke off.',
  timeout: 'The upstream did not answer in time.',
  redirect: 'The upstream answered with a redirect, which is not followed.',
  status: 'The upstream answered with a status other than 200.',
  'content-type': 'The answer is not JSON by its content type, or it is compressed.',
  'too-large': 'The answer is larger than 1 MiB.',
  'broken-body': 'The answer is not a whole JSON object.',
  'error-body': 'The answer has the status 200 and is an error.',
  'no-choices': 'The answer has no choices.',
  'no-text': 'The choice has no text.',
  refused: 'The model refused.',
  incomplete: 'The model stopped before the end: too long, filtered, or a tool call.',
} as const

type FailureCode = keyof typeof summarizerFailures

export interface SummarizeContext {
  readonly upstream: Upstream
  readonly via: string
  /** Whether conversations with this model go to the same upstream. */
  readonly isServed: (model: string) => boolean
}

/**
 * Asks the models one after the other, each with an equal share of the time that is left. A model that the conversation is with is asked
 * with the conversation's own request first, which the provider has cached. Rejects with 'job-failed' and a code.
 */
export function createSummarize(
  { model, fallbacks = [], timeoutMs = defaultSummarizerMs }: SummarizerOptions,
  context: SummarizeContext,
): Summarize {
  const models = [model, ...fallbacks]
  return async (job) => {
    const endsAt = performance.now() + timeoutMs
    let failure: unknown
    for (const [index, name] of models.entries()) {
      const shareMs = (endsAt - performance.now()) / (models.length - index)
      try {
        return await within(shareMs, job.signal, (signal) =>
          askEither({ ...job, signal }, name, context),
        )
      } catch (error) {
        failure = error
        if (job.signal.aborted) break
      }
    }
    throw failure
  }
}

/** Runs a call whose signal aborts with `outer` or when its time is over, and never after it succeeded. */
async function within<T>(
  ms: number,
  outer: AbortSignal,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const control = new AbortController()
  const leave = (): void => control.abort(outer.reason)
  const timer = setTimeout(() => control.abort(failureOf('timeout')), Math.max(0, ms))
  outer.addEventListener('abort', leave, { once: true })
  if (outer.aborted) leave()
  try {
    return await call(control.signal)
  } finally {
    clearTimeout(timer)
    outer.removeEventListener('abort', leave)
  }
}

/** Asks with the conversation's own request where the model is the conversation's, and with the conversation as data where that fails. */
async function askEither(
  job: SummaryJob,
  model: string,
  context: SummarizeContext,
): ReturnType<Summarize> {
  const { request } = job
  if (request === undefined || !isShared(request, model, context)) return ask(job, model, context)
  try {
    return await askAligned(job, request, context)
  } catch (error) {
    if (job.signal.aborted) throw error
    return ask(job, model, context)
  }
}

/** Whether a request goes to the model that the conversation is with, and may be answered with a text. */
function isShared(
  { model, format, body }: AlignedRequest,
  own: string,
  { isServed }: SummarizeContext,
): boolean {
  if (model !== own || !isServed(own) || !(format in providers)) return false
  const { response_format: shape, tool_choice: choice, n } = body
  const isForced = choice !== undefined && choice !== 'auto' && !isAuto(choice)
  return shape === undefined && !isForced && (n === undefined || n === 1)
}

function isAuto(choice: unknown): boolean {
  return isObject(choice) && choice.type === 'auto'
}

async function askAligned(
  { signal }: SummaryJob,
  { format, model = '', body }: AlignedRequest,
  context: SummarizeContext,
): ReturnType<Summarize> {
  const provider = providers[format as keyof typeof providers]
  const path = fillPath(provider.request.paths[0] ?? '', { model })
  try {
    const { keyHeader } = provider.request
    // Says where the upstream's own key belongs.
    const keys: [string, string][] = keyHeader === 'authorization' ? [] : [[keyHeader, '']]
    const headers = format === 'anthropic' ? [...keys, anthropicVersion] : keys
    const answer = await send(context, { path, headers, body: JSON.stringify(body), signal })
    const value = await readBody(answer)
    const { messages = [], response } = provider.answer(value) ?? {}
    const blocks = provider
      .decode(messages, 'messages')
      .flatMap(({ draft: { content } }): readonly Block[] =>
        typeof content === 'string' ? [{ type: 'text', text: content }] : content,
      )
    if (blocks.some((block) => block.type === 'tool-call')) throw failureOf('incomplete')
    const summary = blocks.map((block) => (block.type === 'text' ? block.text : '')).join('')
    if (summary.trim() === '') throw failureOf('no-text')
    const { finish } = response ?? {}
    return { summary, isAligned: true, ...(finish === undefined ? {} : { finishReason: finish }) }
  } catch (error) {
    throw typed(error)
  }
}

async function ask(
  job: SummaryJob,
  model: string,
  context: SummarizeContext,
): ReturnType<Summarize> {
  const body = JSON.stringify({
    model,
    max_tokens: Math.ceil(job.targetChars / charsPerToken) + 200,
    messages: [
      { role: 'system', content: job.prompt },
      { role: 'user', content: job.text },
    ],
  })
  try {
    const path = chat.paths[0] ?? ''
    return readCompletion(
      await readBody(await send(context, { path, headers: [], body, signal: job.signal })),
    )
  } catch (error) {
    throw typed(error)
  }
}

function send(
  { upstream, via }: SummarizeContext,
  {
    headers,
    ...request
  }: Pick<Parameters<Upstream['send']>[0], 'path' | 'headers' | 'body' | 'signal'>,
): Promise<UpstreamAnswer> {
  return upstream.send({
    method: 'POST',
    ...request,
    headers: [
      ['content-type', 'application/json'],
      // What comes is not decompressed.
      ['accept-encoding', 'identity'],
      ['via', via],
      ...headers,
    ],
  })
}

/** The body of an answer that is one. */
async function readBody(answer: UpstreamAnswer): Promise<JsonObject> {
  const bytes = await readWhole(answer, maxAnswerBytes)
  if (bytes === undefined) throw failureOf('too-large')
  const text = Buffer.from(bytes).toString()
  const value = parseObject(text)
  if (answer.status !== 200) throw refusalOf('status', answer.status, value)
  if (!isPlainJson(answer)) throw failureOf('content-type')
  if (value === undefined) throw failureOf('broken-body')
  return value
}

function readCompletion(value: JsonObject): Awaited<ReturnType<Summarize>> {
  const choices = Array.isArray(value.choices) ? value.choices : []
  const [choice] = choices
  if (isError(value) || (isObject(choice) && isError(choice))) {
    throw refusalOf('error-body', undefined, isError(value) ? value : choice)
  }
  if (!isObject(choice)) throw failureOf('no-choices')
  const { message, finish_reason: finishReason } = choice
  if (!isObject(message)) throw failureOf('no-text')
  if (typeof message.refusal === 'string' && message.refusal !== '') throw failureOf('refused')
  if (typeof finishReason === 'string' && cutOff.has(finishReason)) throw failureOf('incomplete')
  const summary = textOf(message.content)
  if (summary.trim() === '') throw failureOf('no-text')
  return { summary, ...(typeof finishReason === 'string' ? { finishReason } : {}) }
}

/** Another model may do better. The thread checks the reason again, by the words of all providers. */
const cutOff: ReadonlySet<string> = new Set([
  'length',
  'content_filter',
  'tool_calls',
  'function_call',
])

/** A body without a content type may still be JSON; one that says something else is a page of a proxy, or a stream. */
function isPlainJson({ headers }: UpstreamAnswer): boolean {
  const header = (wanted: string): string =>
    headers.find(([name]) => name.toLowerCase() === wanted)?.[1].toLowerCase() ?? ''
  const type = header('content-type')
  const encoding = header('content-encoding')
  const isJson = type === '' || /^application\/(?:[\w.-]+\+)?json\b/.test(type)
  return isJson && (encoding === '' || encoding === 'identity')
}

function isError(value: Readonly<Record<string, unknown>>): boolean {
  const { error } = value
  return error !== undefined && error !== null && error !== false
}

/** Some servers write content as a list of parts. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  const parts = Array.isArray(content) ? content : []
  return parts
    .map((part: unknown) => (isObject(part) && typeof part.text === 'string' ? part.text : ''))
    .join('')
}

/** With the status and the provider's words as the cause: a refusal of what is too long is asked again in smaller parts. */
function refusalOf(code: FailureCode, status: number | undefined, value: unknown): OrielError {
  const error = isObject(value) ? value.error : undefined
  const words = isObject(error) ? error.message : error
  const cause = Object.assign(
    new Error(typeof words === 'string' ? words : 'It refused.'),
    status === undefined ? {} : { status },
  )
  return failureOf(code, { cause, ...(status === undefined ? {} : { status }) })
}

/** What an attempt failed with, as a failure with a code. Words of others are in the cause alone, which nobody prints. */
function typed(error: unknown): OrielError {
  if (OrielError.is(error)) return error
  const code = error instanceof RefusedError ? error.refusal.code : undefined
  if (code === 'upstream-timeout') return failureOf('timeout', { cause: error })
  if (code === 'upstream-redirect') return failureOf('redirect', { cause: error })
  return failureOf('connection', { cause: error })
}

function failureOf(
  failure: FailureCode,
  { cause, status }: { readonly cause?: unknown; readonly status?: number } = {},
): OrielError {
  const details = { failure, ...(status === undefined ? {} : { status }) }
  const what = status === undefined ? summarizerFailures[failure] : `The status is ${status}.`
  const message = `The summarizer failed. ${what}`
  return new OrielError('job-failed', message, {
    details,
    ...(cause === undefined ? {} : { cause }),
  })
}
