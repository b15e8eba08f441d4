// Calls of a language model of the AI SDK in which the model's lookups are already answered: generated, or as a stream of parts.

import { isObject, type Json, type JsonObject } from '../core/log/json.ts'
import { expandToolNames, isLookupOf, searchToolNames } from '../core/state/expansion.ts'
import { answers } from '../providers/ai-sdk/stream.ts'
import type { OwnCall } from '../providers/provider.ts'
import { sumUsage } from '../providers/splice.ts'
import type { Answer } from '../providers/stream.ts'
import { injectedTools } from '../thread/expand/lookups.ts'
import type { Answered, Call } from './conversation.ts'
import { type LastRound, type LookupResult, Lookups } from './lookups.ts'

/** A part of an answer. */
export type Content = Readonly<Record<string, unknown>> & { readonly type: string }

export interface GenerateResult {
  readonly content: readonly Content[]
  readonly usage: unknown
  readonly finishReason?: unknown
}

const [name] = expandToolNames

/** The parts of a model call's options that a tool depends on. */
interface ToolOptions {
  readonly tools?: unknown
  readonly toolChoice?: unknown
  readonly responseFormat?: unknown
}

/**
 * The tools of a call with the expand tool and the search tool; undefined where it must go without: the application has a tool of that name, or the answer must
 * be one document.
 */
export function toolsWithExpand({
  tools = [],
  responseFormat,
}: ToolOptions): readonly unknown[] | undefined {
  if (!Array.isArray(tools) || (isObject(responseFormat) && responseFormat.type === 'json')) {
    return undefined
  }
  const list: readonly unknown[] = tools
  const names: readonly unknown[] = [...expandToolNames, ...searchToolNames]
  if (list.some((tool) => isObject(tool) && names.includes(tool.name))) return undefined
  const own = injectedTools(name).map(({ parameters, ...tool }) => ({
    ...{ type: 'function', ...tool, inputSchema: parameters },
  }))
  return [...list, ...own]
}

export interface RoundsOptions<R> {
  readonly model: string
  /** Asks the model, and once more with a smaller view when the first was too long. */
  ask(call: Call): Promise<{ readonly call: Call; readonly result: R }>
  /** What is recorded of an answer. */
  answered(answer: Answer | undefined): Answered
}

/** Answers of several rounds as one result. */
export async function generateRounds(
  first: { readonly call: Call; readonly result: GenerateResult },
  options: RoundsOptions<GenerateResult>,
): Promise<GenerateResult> {
  const rounds = new Rounds(options)
  const results: GenerateResult[] = []
  for (let { call, result } = first; ; ) {
    results.push(result)
    const calls = callsIn(result.content)
    const found = answers.answer(result as unknown as JsonObject)
    const why = rounds.last(calls, result.finishReason)
    if (calls.own.length > 0 && why === undefined) {
      const next = await options.ask(await rounds.next(call, found, calls.own))
      call = next.call
      result = next.result
      continue
    }
    const joined = results.length === 1 && calls.own.length === 0 ? result : joinedOf(results)
    const seen = answers.answer(joined as unknown as JsonObject)
    await rounds.end(call, found, { own: calls.own, why, seen })
    return joined
  }
}

/** Streams of several rounds as one. */
export function streamRounds(
  first: { readonly call: Call; readonly result: { readonly stream: ReadableStream<Content> } },
  options: RoundsOptions<{ readonly stream: ReadableStream<Content> }>,
): ReadableStream<Content> {
  const parts = spliced(first, options)
  return new ReadableStream<Content>({
    async pull(controller) {
      const { done, value } = await parts.next()
      if (done === true) controller.close()
      else controller.enqueue(value)
    },
    async cancel() {
      await parts.return(undefined)
    },
  })
}

async function* spliced(
  first: { readonly call: Call; readonly result: { readonly stream: ReadableStream<Content> } },
  options: RoundsOptions<{ readonly stream: ReadableStream<Content> }>,
): AsyncGenerator<Content> {
  const rounds = new Rounds(options)
  const seen = answers.stream()
  let usage: JsonObject | undefined
  for (let { call, result } = first, round = 0; ; round++) {
    const stream = answers.stream()
    const calls: Content[] = []
    let finish: Content | undefined
    for await (const part of partsOf(result.stream)) {
      stream.take(part)
      if (part.type === 'tool-call') calls.push(part)
      if (part.type === 'finish') {
        finish = part
        break
      }
      if (isOwnPart(part) || (round > 0 && isOpening(part))) continue
      const shown = round === 0 ? part : renamed(part, round)
      seen.take(shown)
      yield shown
    }
    if (finish === undefined) return
    usage = sumUsage(usage, (isObject(finish.usage) ? finish.usage : {}) as JsonObject)
    const sorted = callsIn(calls)
    const why = rounds.last(sorted, finish.finishReason)
    if (sorted.own.length > 0 && why === undefined) {
      const next = await options.ask(await rounds.next(call, stream.answer(), sorted.own))
      call = next.call
      result = next.result
      continue
    }
    const isStripped = sorted.own.length > 0 && !sorted.hasOthers
    const end = {
      ...finish,
      ...(isStripped ? { finishReason: stopped(finish.finishReason) } : {}),
      ...(round === 0 ? {} : { usage }),
    }
    seen.take(end)
    // Before the end is told: the next step must find this one in the thread.
    await rounds.end(call, stream.answer(), { own: sorted.own, why, seen: seen.answer() })
    yield end
    return
  }
}

/** Reasons for which an answer ends before the model was done, so that its calls may be broken. */
const cutReasons: ReadonlySet<unknown> = new Set(['length', 'content-filter', 'error'])

/** The rounds of one call of the SDK. */
class Rounds {
  readonly #options: Pick<RoundsOptions<unknown>, 'answered'>
  readonly #lookups: Lookups

  constructor(options: Pick<RoundsOptions<unknown>, 'answered' | 'model'>) {
    this.#options = options
    this.#lookups = new Lookups(options.model)
  }

  last({ own, hasOthers }: SortedCalls, finishReason: unknown): LastRound | undefined {
    if (own.length === 0) return undefined
    return this.#lookups.last({ hasOthers, isCut: cutReasons.has(wordOf(finishReason)) })
  }

  next(call: Call, answer: Answer | undefined, own: readonly OwnCall[]): Promise<Call> {
    this.#lookups.begin()
    const usedTokens = call.tokens
    return call.next({
      ...this.#options.answered(answer),
      results: async (tool) => [resultsOf(await this.#lookups.results(tool, own, { usedTokens }))],
    })
  }

  async end(
    call: Call,
    answer: Answer | undefined,
    {
      own,
      why,
      seen,
    }: {
      readonly own: readonly OwnCall[]
      readonly why: LastRound | undefined
      readonly seen: Answer | undefined
    },
  ): Promise<void> {
    const answered = this.#options.answered(answer)
    const isSeen = own.length === 0 && !this.#lookups.isHidden
    if (isSeen) return call.record(answered)
    const around = { usedTokens: call.tokens, why }
    const found =
      own.length === 0
        ? []
        : [resultsOf(await call.lookUp((tool) => this.#lookups.results(tool, own, around)))]
    const messages = [...answered.messages, ...found]
    return call.record({ ...answered, messages, seen: seen?.messages ?? [] })
  }
}

function resultsOf(results: readonly LookupResult[]): Json {
  return {
    role: 'tool',
    content: results.map(({ id, name: toolName, text }) => ({
      type: 'tool-result',
      toolCallId: id,
      toolName,
      output: { type: 'text', value: text },
    })),
  }
}

interface SortedCalls {
  readonly own: readonly OwnCall[]
  readonly hasOthers: boolean
}

/** The calls of an answer: lookups, and calls to others that the application runs. */
function callsIn(content: readonly Content[]): SortedCalls {
  const calls = content.filter(
    ({ type, providerExecuted }) => type === 'tool-call' && providerExecuted !== true,
  )
  const own = calls.filter(isOwnPart)
  return {
    own: own.map(({ toolCallId, toolName, input }) => ({
      ...{ id: String(toolCallId), name: String(toolName), input: input as Json },
    })),
    hasOthers: own.length < calls.length,
  }
}

/** Calls to the expand tool, and the pieces in which their arguments come. */
function isOwnPart(part: Content): boolean {
  return isLookupOf(name, part.toolName) || ownInputs.has(part)
}

const ownInputs = new WeakSet<Content>()

/** Parts of a stream, of which those are marked that belong to a call to the expand tool. */
async function* partsOf(stream: ReadableStream<Content>): AsyncGenerator<Content> {
  const own = new Set<unknown>()
  const reader = stream.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      if (value.type === 'tool-input-start' && isLookupOf(name, value.toolName)) own.add(value.id)
      if (/^tool-input-/.test(value.type) && own.has(value.id)) ownInputs.add(value)
      yield value
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

function isOpening({ type }: Content): boolean {
  return type === 'stream-start' || type === 'response-metadata'
}

/** Texts of two rounds may have the same id. */
function renamed(part: Content, round: number): Content {
  const isText = /^(text|reasoning)-(start|delta|end)$/.test(part.type)
  return isText ? { ...part, id: `round-${round + 1}-${String(part.id)}` } : part
}

function joinedOf(results: readonly GenerateResult[]): GenerateResult {
  const last = results.at(-1) as GenerateResult
  const content = results.flatMap((result) => result.content.filter((part) => !isOwnPart(part)))
  const usage = results
    .map((one) => (isObject(one.usage) ? (one.usage as JsonObject) : {}))
    .reduce((before, after) => sumUsage(before, after))
  const { own, hasOthers } = callsIn(last.content)
  const isStripped = own.length > 0 && !hasOthers
  return {
    ...last,
    content,
    usage,
    ...(isStripped ? { finishReason: stopped(last.finishReason) } : {}),
  }
}

/** The reason of an answer that ends without calls. */
function stopped(reason: unknown): unknown {
  if (wordOf(reason) !== 'tool-calls') return reason
  return isObject(reason) ? { ...reason, unified: 'stop' } : 'stop'
}

/** A word, or from version 3 of the specification on an object with the SDK's and the provider's word. */
function wordOf(reason: unknown): unknown {
  return isObject(reason) ? reason.unified : reason
}
