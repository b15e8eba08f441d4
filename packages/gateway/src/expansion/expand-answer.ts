// An upstream's answer in which the model's calls to the gateway's own tools are already answered.

import { type JsonObject, OrielError } from 'oriel'
import { EventCutter, parseAnswer, parseObject, type Splicer } from 'oriel/providers'
import type { UpstreamAnswer } from '../http/client.ts'
import { RefusedError, refusalOf, refuse } from '../http/errors.ts'
import type { Closing, Rounds } from './rounds.ts'
import { withMembers, withoutEchoes } from './splice.ts'

const unreachable = 'The upstream could not be reached, or broke off before it answered.'

/** A whole answer that is longer is passed on unread. */
const maxWhole = 32 * 1024 * 1024

/** Presents all rounds as one answer. A stream is passed on as it arrives; a whole answer is there when the last round is. */
export async function expandAnswer(
  answer: UpstreamAnswer,
  rounds: Rounds,
): Promise<UpstreamAnswer> {
  if (answer.status < 200 || answer.status >= 300 || headerOf(answer, 'content-encoding')) {
    return answer
  }
  return isStream(answer) ? expandStream(answer, rounds) : expandWhole(answer, rounds)
}

async function expandWhole(first: UpstreamAnswer, rounds: Rounds): Promise<UpstreamAnswer> {
  const { provider, names } = rounds.options
  const { tools } = provider
  const bodies: JsonObject[] = []
  let answer = first
  for (;;) {
    const { text, body: unread } = await readText(answer, rounds.options.limits.streamMs)
    const body = text === undefined ? undefined : parseAnswer(provider, text)
    if (text === undefined || body === undefined) {
      if (bodies.length === 0) return { ...answer, body: unread }
      throw refuse(502, 'upstream-failed', 'The upstream gave no answer that can be read.')
    }
    bodies.push(body)
    const found = provider.answer(body) ?? { messages: [] }
    const { own, hasOthers } = tools.sort(found.messages, names)
    if (own.length === 0 && bodies.length === 1) {
      const echoes = tools.echoes?.(rounds.options)
      const { begun = [] } = rounds.options
      const added = addedTo(body, rounds.options)
      if (begun.length > 0) {
        const whole = tools.join([body], rounds.options)
        return { ...answer, body: once(JSON.stringify(whole)) }
      }
      if (echoes === undefined && added === undefined) return { ...answer, body: unread }
      const clean = echoes === undefined ? text : withoutEchoes(text, echoes)
      return { ...answer, body: once(withMembers(clean, added)) }
    }
    const why = closing({ hasOthers, isCut: tools.isCut(body), mayGoOn: rounds.mayGoOn })
    if (own.length === 0) await rounds.end(found)
    else if (why !== undefined) await rounds.close(found, own, why)
    if (own.length === 0 || why !== undefined) {
      const joined = tools.join(bodies, rounds.options)
      // A stream as one list stays one.
      const isList = text.trimStart().startsWith('[')
      return { ...first, body: once(JSON.stringify(isList ? [joined] : joined)) }
    }
    answer = await rounds.next(found, own)
    if (answer.status < 200 || answer.status >= 300) return answer
  }
}

/** Fields that an answer gets, and those that it should repeat and does not have. */
function addedTo(
  body: JsonObject,
  { added, echo = {} }: Rounds['options'],
): JsonObject | undefined {
  const missing = Object.entries(echo).filter(([key]) => !(key in body))
  return missing.length === 0 ? added : { ...Object.fromEntries(missing), ...added }
}

function expandStream(first: UpstreamAnswer, rounds: Rounds): UpstreamAnswer {
  let current = first
  return {
    ...first,
    body: spliced(first, rounds, (next) => {
      current = next
    }),
    cancel() {
      rounds.leave()
      current.cancel()
    },
  }
}

async function* spliced(
  first: UpstreamAnswer,
  rounds: Rounds,
  begun: (answer: UpstreamAnswer) => void,
): AsyncGenerator<Uint8Array> {
  const { provider, names } = rounds.options
  const splicer = provider.tools.splicer(rounds.options)
  let answer = first
  for (;;) {
    const stream = provider.stream()
    const cutter = new EventCutter()
    const chunks = answer.body[Symbol.asyncIterator]()
    for (;;) {
      const next = chunks.next()
      const { done, value } =
        rounds.count === 0 ? await next : yield* whileWaiting(next, splicer, rounds)
      const events = done === true ? cutter.rest() : cutter.take(value)
      let text = ''
      for (const event of events) {
        stream.take(event.value)
        text += splicer.take(event).join('')
      }
      const isPlainEnd = stream.isComplete && splicer.verdict === 'plain'
      if (isPlainEnd && rounds.count > 0) {
        await rounds.end(stream.answer() ?? { messages: [] })
      }
      if (text !== '') yield Buffer.from(text)
      if (done === true) break
      if (stream.isOver && splicer.verdict !== 'plain') {
        // Nothing more comes that belongs to the round; the connection ends when it likes.
        drain(chunks)
        break
      }
    }
    if (splicer.verdict === 'plain' || !stream.isComplete) return
    const found = stream.answer() ?? { messages: [] }
    const { own, hasOthers } = provider.tools.sort(found.messages, names)
    const why = closing({ hasOthers, isCut: splicer.isCut, mayGoOn: rounds.mayGoOn })
    if (why !== undefined) {
      yield* whileWaiting(rounds.close(found, own, why), splicer, rounds)
      yield Buffer.from(splicer.finish().join(''))
      return
    }
    const next = yield* nextRound(rounds.next(found, own), splicer, rounds)
    if (next === undefined) return
    answer = next
    begun(answer)
    if (rounds.hasLeft) answer.cancel()
    splicer.nextRound()
  }
}

/** The stream of the next round; where there is none, the client is told in the stream why. */
async function* nextRound(
  asked: Promise<UpstreamAnswer>,
  splicer: Splicer,
  rounds: Rounds,
): AsyncGenerator<Uint8Array, UpstreamAnswer | undefined> {
  let answer: UpstreamAnswer
  try {
    answer = yield* whileWaiting(asked, splicer, rounds)
  } catch (error) {
    if (rounds.hasLeft) throw error
    const isOurs = error instanceof RefusedError || OrielError.is(error)
    const message = isOurs ? refusalOf(error).message : unreachable
    yield Buffer.from(splicer.failure({ type: 'api_error', message }))
    return undefined
  }
  const isGood = answer.status >= 200 && answer.status < 300 && isStream(answer)
  if (isGood) return answer
  const { text } = await readText(answer, rounds.options.limits.streamMs)
  const body = text === undefined ? undefined : parseObject(text)
  const message = `The upstream answered with ${answer.status}.`
  yield Buffer.from(splicer.failure({ body, type: 'api_error', message }))
  return undefined
}

/** Waits, and keeps the client's connection open meanwhile. */
async function* whileWaiting<T>(
  promise: Promise<T>,
  { keepAlive }: Splicer,
  rounds: Rounds,
): AsyncGenerator<Uint8Array, T> {
  const { expandPulseMs } = rounds.options.limits
  for (;;) {
    let timer: NodeJS.Timeout | undefined
    const tick = new Promise<'tick'>((resolve) => {
      timer = setTimeout(() => resolve('tick'), expandPulseMs)
    })
    try {
      const first = await Promise.race([promise.then((value) => ({ value })), tick])
      if (first !== 'tick') return first.value
    } finally {
      clearTimeout(timer)
    }
    yield Buffer.from(keepAlive)
  }
}

function closing(round: {
  readonly hasOthers: boolean
  readonly isCut: boolean
  readonly mayGoOn: boolean
}): Closing | undefined {
  if (round.isCut) return 'cut'
  if (round.hasOthers) return 'mixed'
  return round.mayGoOn ? undefined : 'enough'
}

async function drain(chunks: AsyncIterator<Uint8Array>): Promise<void> {
  try {
    while ((await chunks.next()).done !== true);
  } catch {
    // The answer was whole before.
  }
}

/** The text of an answer; all of it is in `body` too, also where it is too long to be read. */
async function readText(
  answer: UpstreamAnswer,
  timeoutMs: number,
): Promise<{ readonly text?: string; readonly body: AsyncIterable<Uint8Array> }> {
  const chunks = answer.body[Symbol.asyncIterator]()
  const read: Uint8Array[] = []
  let size = 0
  async function* all(): AsyncGenerator<Uint8Array> {
    yield* read
    for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) {
      yield next.value
    }
  }
  const timer = setTimeout(() => answer.cancel(), timeoutMs)
  try {
    for (;;) {
      const { done, value } = await chunks.next()
      if (done === true) return { text: Buffer.concat(read).toString(), body: all() }
      read.push(value)
      size += value.byteLength
      if (size > maxWhole) return { body: all() }
    }
  } finally {
    clearTimeout(timer)
  }
}

async function* once(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}

function isStream(answer: UpstreamAnswer): boolean {
  return /^text\/event-stream/i.test(headerOf(answer, 'content-type') ?? '')
}

function headerOf({ headers }: UpstreamAnswer, name: string): string | undefined {
  const value = headers.find(([key]) => key.toLowerCase() === name)?.[1]
  return value === 'identity' ? undefined : value
}
