// Answers of a provider in which the model's calls to the expand tool are already answered: whole, or as a stream.

import type { Json, JsonObject } from '../core/log/json.ts'
import { expandToolNames, searchToolNames } from '../core/state/expansion.ts'
import { EventCutter } from '../providers/events.ts'
import type { OwnCall, Provider } from '../providers/provider.ts'
import type { SpliceOptions, Splicer } from '../providers/splice.ts'
import { type Answer, type AnswerStream, parseObject } from '../providers/stream.ts'
import { injectedTools } from '../thread/expand/lookups.ts'
import type { Answered, Call } from './conversation.ts'
import { type LastRound, type LookupResult, Lookups } from './lookups.ts'

/** The tool in a request. */
export interface InjectedBody extends SpliceOptions {
  /** The tool's name. */
  readonly name: string
  /** The application's body with the tool. */
  readonly body: JsonObject
}

/** The most tools that a provider takes: a full list stays the application's. */
const maxTools = 128

/**
 * The application's body with the expand tool and the search tool; undefined where it must go without: the application has a tool of that name, the answer must
 * have a given shape, or the provider would refuse it.
 */
export function injectedInto(
  { tools: format }: Provider,
  body: JsonObject,
): InjectedBody | undefined {
  const list = body[format.listKey] ?? []
  if (!Array.isArray(list) || list.length + 2 > maxTools) return undefined
  const taken = format.names(list)
  if ([...expandToolNames, ...searchToolNames].some((name) => taken.includes(name)))
    return undefined
  const stance = format.eligibility(body)
  // Reasoning may be bound to the list of tools: it stays the same, and the text of hidden rounds is held back.
  const isQuiet = stance === 'structured' && format.bindsReasoning
  if (stance !== 'open' && stance !== 'forced' && !isQuiet) return undefined
  const [name] = expandToolNames
  const own = injectedTools(name)
  const all = [...(list as readonly Json[]), ...own.map(format.define)]
  const names = own.map((tool) => tool.name)
  return { body: { ...body, [format.listKey]: all }, name, names, isOpen: true, isQuiet }
}

export interface ExpandingOptions {
  readonly provider: Provider
  readonly injected: InjectedBody
  readonly model: string | undefined
  /** Sends the request of a round. */
  send(call: Call): Promise<Response>
  /** What is recorded of an answer. */
  answered(answer: Answer): Answered
}

/** All rounds of a call as one response. A stream is passed on as it arrives. */
export function expandResponse(
  response: Response,
  call: Call,
  options: ExpandingOptions,
): ExpandedBody {
  const rounds = new Rounds(call, options)
  const isStream = response.headers.get('content-type')?.includes('text/event-stream') === true
  return isStream ? { stream: streamOf(response, rounds) } : { whole: wholeOf(response, rounds) }
}

/** The body of a response: events, or the answer as a text; or another response, which failed. */
export interface ExpandedBody {
  readonly stream?: ReadableStream<Uint8Array>
  readonly whole?: Promise<string | Response>
}

/** The rounds of one call. */
class Rounds {
  readonly options: ExpandingOptions
  readonly #lookups: Lookups
  #call: Call

  constructor(call: Call, options: ExpandingOptions) {
    this.#call = call
    this.options = options
    this.#lookups = new Lookups(options.model)
  }

  get isHidden(): boolean {
    return this.#lookups.isHidden
  }

  last(round: { readonly hasOthers: boolean; readonly isCut: boolean }): LastRound | undefined {
    return this.#lookups.last(round)
  }

  /** Records a round with its lookups, and asks again. */
  async next(answer: Answer, calls: readonly OwnCall[]): Promise<Response> {
    const lookups = this.#lookups
    lookups.begin()
    const usedTokens = this.#call.tokens
    this.#call = await this.#call.next({
      ...this.#kept(answer),
      results: async (tool) => this.#asMessages(await lookups.results(tool, calls, { usedTokens })),
    })
    return this.options.send(this.#call)
  }

  /** Records the end. `seen` is the answer as the application gets it. */
  async end(answer: Answer, seen: Answer | undefined): Promise<void> {
    const shown = this.isHidden ? { seen: seen?.messages ?? [] } : {}
    await this.#call.record({ ...this.#kept(answer), ...shown })
  }

  /** Records an end that calls the expand tool too: its results are there when the conversation continues. */
  async close(
    answer: Answer,
    calls: readonly OwnCall[],
    { why, seen }: { readonly why: LastRound; readonly seen: Answer | undefined },
  ): Promise<void> {
    const call = this.#call
    const around = { usedTokens: call.tokens, why }
    const found = await call.lookUp((tool) => this.#lookups.results(tool, calls, around))
    const kept = this.#kept(answer)
    const messages = [...kept.messages, ...this.#asMessages(found)]
    await call.record({ ...kept, messages, seen: seen?.messages ?? [] })
  }

  #asMessages(found: readonly LookupResult[]): readonly Json[] {
    return this.options.provider.tools.results(found)
  }

  /** An answer as it can be shown to the model again. */
  #kept(answer: Answer): Answered {
    const { provider, injected, answered } = this.options
    const messages = provider.tools.replayed?.(answer.messages, injected.body) ?? answer.messages
    return answered({ ...answer, messages })
  }
}

async function wholeOf(first: Response, rounds: Rounds): Promise<string | Response> {
  const { provider, injected } = rounds.options
  const { tools } = provider
  const bodies: JsonObject[] = []
  for (let response = first; ; ) {
    const text = await response.text()
    const body = parseObject(text)
    if (body === undefined) return text
    bodies.push(body)
    const found = provider.answer(body) ?? { messages: [] }
    const { own, hasOthers } = tools.sort(found.messages, injected.names)
    if (own.length === 0 && bodies.length === 1) {
      await rounds.end(found, undefined)
      return tools.echoes === undefined ? text : JSON.stringify(tools.join(bodies, injected))
    }
    const why = own.length === 0 ? undefined : rounds.last({ hasOthers, isCut: tools.isCut(body) })
    if (own.length === 0 || why !== undefined) {
      const joined = tools.join(bodies, injected)
      const seen = provider.answer(joined)
      if (why === undefined) await rounds.end(found, seen)
      else await rounds.close(found, own, { why, seen })
      return JSON.stringify(joined)
    }
    response = await rounds.next(found, own)
    if (!response.ok) return response
  }
}

function streamOf(first: Response, rounds: Rounds): ReadableStream<Uint8Array> {
  const events = spliced(first, rounds)
  const encoder = new TextEncoder()
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await events.next()
      if (done === true) controller.close()
      else controller.enqueue(encoder.encode(value))
    },
    async cancel() {
      await events.return(undefined)
    },
  })
}

/** The answer as the application sees it, read from the words that it gets. */
class SeenAnswer {
  readonly #stream: AnswerStream
  readonly #cutter = new EventCutter()
  readonly #encoder = new TextEncoder()

  constructor(provider: Provider) {
    this.#stream = provider.stream()
  }

  take(text: string): void {
    for (const { value } of this.#cutter.take(this.#encoder.encode(text))) this.#stream.take(value)
  }

  answer(): Answer | undefined {
    return this.#stream.answer()
  }
}

async function* spliced(first: Response, rounds: Rounds): AsyncGenerator<string> {
  const { provider, injected } = rounds.options
  const splicer = provider.tools.splicer(injected)
  const seen = new SeenAnswer(provider)
  for (let response = first; ; ) {
    const stream = provider.stream()
    yield* eventsOf(response, { stream, splicer, seen, rounds })
    if (splicer.verdict === 'plain' || !stream.isComplete) return
    const found = stream.answer() ?? { messages: [] }
    const { own, hasOthers } = provider.tools.sort(found.messages, injected.names)
    const why = rounds.last({ hasOthers, isCut: splicer.isCut })
    if (why !== undefined) {
      const text = splicer.finish().join('')
      seen.take(text)
      await rounds.close(found, own, { why, seen: seen.answer() })
      yield text
      return
    }
    response = await rounds.next(found, own)
    if (!response.ok) {
      const message = `The provider answered with ${response.status}.`
      const body = parseObject(await response.text())
      yield splicer.failure({ body, type: 'api_error', message })
      return
    }
    splicer.nextRound()
  }
}

interface RoundStream {
  readonly stream: AnswerStream
  readonly splicer: Splicer
  readonly seen: SeenAnswer
  readonly rounds: Rounds
}

/** The events of one round that the application gets. The end of an answer is told when it is recorded. */
async function* eventsOf(response: Response, round: RoundStream): AsyncGenerator<string> {
  const { stream, splicer, seen, rounds } = round
  const cutter = new EventCutter()
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  let isRecorded = false
  const record = async (): Promise<void> => {
    if (isRecorded || !stream.isComplete || splicer.verdict !== 'plain') return
    isRecorded = true
    await rounds.end(stream.answer() ?? { messages: [] }, seen.answer())
  }
  try {
    for (;;) {
      const { done, value } = await reader.read()
      const events = done ? cutter.rest() : cutter.take(value)
      let text = ''
      for (const event of events) {
        stream.take(event.value)
        text += splicer.take(event).join('')
      }
      seen.take(text)
      if (stream.isOver || done) await record()
      if (text !== '') yield text
      if (done || (stream.isOver && splicer.verdict !== 'plain')) return
    }
  } finally {
    // An application may stop reading as soon as it knows that the answer is whole.
    await record()
    await reader.cancel().catch(() => {})
  }
}
