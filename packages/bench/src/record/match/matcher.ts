// Prototype of thread matching: classifies a request, given the previous requests and answers.

import type { RecordedRequest } from '../fixture.ts'
import type { WireFormat } from '../reply.ts'
import type { About } from './doubts.ts'
import { hasStrongId, isDoubtful, isHarmless, isSideCall } from './doubts.ts'
import type { Key } from './key.ts'
import { isMarkedRetry, previousReplyOf, sessionOf } from './session.ts'
import type { Asked, Candidate, Decision, Holder, Logged, Thread } from './thread.ts'
import { byMerit, wholeMessages } from './thread.ts'
import type { Frame, Placed } from './unit.ts'
import { frameOf, rawReplyUnits, rawRequestUnits, replyUnits, requestUnits } from './unit.ts'

export interface MatcherRules {
  /** Nothing joins before an answer of ours comes back, except marked retries. */
  readonly needsReply: boolean
  /** Texts alone join only if one conversation fits. */
  readonly doubtsTexts: boolean
  /** A request with another frame does not continue a thread in place. */
  readonly seesSideCalls: boolean
  /** A rewritten history is found by the ids of its calls. */
  readonly findsCallIds: boolean
}

export const allMatcherRules: MatcherRules = {
  needsReply: true,
  doubtsTexts: true,
  seesSideCalls: true,
  findsCallIds: true,
}

export interface MatcherOptions {
  readonly key: Key
  /** Use session ids from headers and bodies. */
  readonly usesSessions: boolean
  /** @default all of them */
  readonly rules?: MatcherRules
}

/** Feed it requests and answers in order of arrival. */
export class Matcher {
  readonly #options: Required<MatcherOptions>
  readonly #threads: Thread[] = []
  readonly #replies = new Map<string, Holder>()
  #messages = 0

  constructor(options: MatcherOptions) {
    this.#options = { rules: allMatcherRules, ...options }
  }

  /** Decides what the request is, logs it and its answer. */
  take(format: WireFormat, request: RecordedRequest, index: number): Decision {
    const { key, usesSessions } = this.#options
    const units =
      key.isRaw === true ? rawRequestUnits(request.body) : requestUnits(format, request.body)
    const holder = this.#holder(request)
    const held = holder?.thread.log.slice(0, holder.length) ?? []
    const sent = [
      ...held.map(({ unit }) => ({ unit, message: -1 })),
      ...units.filter(({ unit }) => !key.ignores(unit)),
    ]
    const session = usesSessions ? sessionOf(request) : undefined
    const frame = frameOf(request.body)
    const family = holder?.thread.family
    const best = this.#best(sent, { session, frame, family, isRetry: isMarkedRetry(request) })
    const decision = best?.decision ?? { type: 'new-thread' }
    const thread = this.#apply(best, { sent, session, frame, isHeld: holder !== undefined, index })
    this.#answer(format, request, thread, index)
    return decision
  }

  /** The thread that the provider holds for the request, and how much of it the request continues. */
  #holder({ body }: RecordedRequest): Holder | undefined {
    const previous = previousReplyOf(body)
    return previous === undefined ? undefined : this.#replies.get(previous)
  }

  #best(sent: readonly Placed[], about: About): Candidate | undefined {
    const candidates = this.#threads
      .filter((thread) =>
        about.family === undefined
          ? thread.session === about.session
          : thread.family === about.family,
      )
      .map((thread) => this.#compare(thread, sent, about))
      .filter((candidate) => candidate !== undefined)
    const [best] = candidates.sort(byMerit)
    if (best === undefined) return this.#byCallId(sent, about)
    const isRefused = this.#options.rules.doubtsTexts && isDoubtful(best, candidates, about)
    return isRefused ? undefined : best
  }

  #compare(thread: Thread, sent: readonly Placed[], about: About): Candidate | undefined {
    const { key, rules } = this.#options
    const log = thread.log
    let matched = 0
    let revisions = 0
    while (matched < log.length && matched < sent.length) {
      const likeness = key.compare((log[matched] as Logged).unit, (sent[matched] as Placed).unit)
      if (likeness === 'other') break
      if (likeness === 'revised') revisions += 1
      matched += 1
    }
    if (matched === 0) return undefined
    const decision = this.#decide(thread, sent, { matched, about })
    const isKnown = log.slice(0, matched).some(({ isReply }) => isReply)
    if (rules.needsReply && !isKnown && !isHarmless(decision, about)) return undefined
    return { thread, matched, revisions, decision }
  }

  #decide(
    thread: Thread,
    sent: readonly Placed[],
    { matched, about }: { readonly matched: number; readonly about: About },
  ): Decision {
    const before = thread.asked.findLast(({ length }) => length === matched)
    if (matched === sent.length && before !== undefined) return { type: 'retry', of: before.index }
    const last = thread.asked.at(-1) as Asked
    const isWhole = matched === thread.log.length
    const canBeSide = this.#options.rules.seesSideCalls && about.family === undefined
    const isSide = canBeSide && isSideCall(thread.frame, about.frame)
    if (isWhole && !isSide) return { type: 'extends', of: last.index }
    const shared = isWhole ? matched : wholeMessages(thread.log, matched)
    const parent = thread.asked.findLast(({ length }) => length <= shared) ?? last
    return { type: 'fork', of: parent.index, at: sent[shared]?.message ?? 0 }
  }

  /** A history that begins differently but holds calls of exactly one known conversation was rewritten by its client. */
  #byCallId(sent: readonly Placed[], about: About): Candidate | undefined {
    if (!this.#options.rules.findsCallIds) return undefined
    const ids = new Set(
      sent.flatMap(({ unit }) => (unit.type === 'call' && hasStrongId(unit) ? [unit.id] : [])),
    )
    const owners = this.#threads.filter(
      (thread) =>
        thread.session === about.session &&
        thread.log.some(({ unit, isReply }) => isReply && unit.type === 'call' && ids.has(unit.id)),
    )
    const thread = owners.at(-1)
    if (thread === undefined || new Set(owners.map(({ family }) => family)).size !== 1)
      return undefined
    const of = (thread.asked.at(-1) as Asked).index
    return {
      thread,
      matched: 0,
      revisions: 0,
      decision: { type: 'fork', of, at: sent[0]?.message ?? 0 },
    }
  }

  #apply(best: Candidate | undefined, request: Arrived): Thread {
    const { sent, session, frame, isHeld, index } = request
    if (best?.decision.type === 'extends') {
      this.#append(best.thread, sent.slice(best.matched), index)
      if (!isHeld) best.thread.frame = frame
      return best.thread
    }
    const last = best?.thread.asked.at(-1)
    if (
      best?.decision.type === 'retry' &&
      last?.isAnswered === false &&
      last.length === best.matched
    ) {
      best.thread.asked.push({ index, length: best.matched, isAnswered: false })
      return best.thread
    }
    const kept = best?.thread.log.slice(0, best.matched) ?? []
    const family = best?.thread.family ?? index
    const isSide = best !== undefined && isSideCall(best.thread.frame, frame)
    const thread: Thread = { family, session, isSide, frame, log: [...kept], asked: [] }
    this.#threads.push(thread)
    this.#append(thread, sent.slice(kept.length), index)
    return thread
  }

  #append(thread: Thread, placed: readonly Placed[], index: number): void {
    const base = this.#messages
    for (const { unit, message } of placed) {
      thread.log.push({ unit, message: base + message, isReply: false })
      this.#messages = Math.max(this.#messages, base + message + 1)
    }
    thread.asked.push({ index, length: thread.log.length, isAnswered: false })
  }

  /** A broken or failed answer is not history: no client sends it back. */
  #answer(format: WireFormat, { reply }: RecordedRequest, thread: Thread, index: number): void {
    if (reply.status !== 200 || reply.isCut === true) return
    const { key } = this.#options
    const units =
      key.isRaw === true ? rawReplyUnits(format, reply.body) : replyUnits(format, reply.body)
    this.#messages += 1
    for (const unit of units.filter((candidate) => !key.ignores(candidate))) {
      thread.log.push({ unit, message: this.#messages, isReply: true })
    }
    this.#messages += 1
    const asked = thread.asked.find((candidate) => candidate.index === index)
    if (asked !== undefined) asked.isAnswered = true
    this.#replies.set(String(reply.body.id), { thread, length: thread.log.length })
  }
}

interface Arrived {
  readonly sent: readonly Placed[]
  readonly session: string | undefined
  readonly frame: Frame
  readonly isHeld: boolean
  readonly index: number
}
