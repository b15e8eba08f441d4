// Judge: scores a context manager on one recorded conversation, only by the requests it would have
// sent.

import type { Counter } from '../core/tokens/counter.ts'
import { bodyOf, type FormatName } from '../providers/format.ts'
import { formatNamed } from '../providers/registry.ts'
import { CacheMeter, type CachePrices } from './cost.ts'
import type { Need } from './facts.ts'
import { type Fate, type Recover, Witness } from './fidelity.ts'
import { framePieces, type Piece, piecesOf } from './pieces.ts'
import type { Opened } from './recording.ts'
import { type CreateManager, type Manager, replay, type Sent } from './replay.ts'
import type { RulesKept } from './rules-kept.ts'
import type { Sightings } from './sightings.ts'
import type { SummaryCalls } from './summarizer.ts'

export interface FactCount {
  readonly needed: number
  /** Somewhere in the request. */
  readonly visible: number
  /** Visible verbatim, or with words that were beside it. */
  readonly anchored: number
  /** Not visible, but reachable by an id that the request prints. */
  readonly recoverable: number
  readonly lost: number
}

/** What fetching costs: each lookup is one more call, which reads the request again and writes the answer. */
export interface LookupCount {
  readonly count: number
  /** In base input tokens. */
  readonly cost: number
}

/** One model call. */
export interface Step {
  readonly tokens: number
  readonly cached: number
  /** In base input tokens. */
  readonly cost: number
  /** Cause of a broken cache prefix: a rule's name, `edit`, or `ttl`. */
  readonly broken?: string
  /** Needed facts that were not visible. */
  readonly missing: number
  /** Lookups that would fetch them, as far as they can be fetched. */
  readonly lookups: LookupCount
}

export interface Judgement {
  readonly id: string
  readonly source: string
  readonly steps: readonly Step[]
  readonly arguments: FactCount
  readonly text: FactCount
  /** Facts in arguments that last appeared four or more calls before. */
  readonly old: FactCount
  /** Calls that needed facts, and those that saw all of them. */
  readonly calls: { readonly needing: number; readonly complete: number }
  /** Requests that the provider would reject, and those that could not be built. */
  readonly invalid: number
  readonly refused: number
  /** Share of user text, up to 2,000 tokens per message, that is verbatim; mean over requests. */
  readonly userText: number
  /** Rules that were stated in it, if they were judged. */
  readonly rules?: RulesKept
  /** Calls of a summarizer, if one was simulated. */
  readonly summaries?: SummaryCalls
}

export interface JudgeOptions {
  readonly counter: Counter
  readonly needs: readonly Need[]
  readonly sightings: Sightings
  readonly prices?: CachePrices
  /** Request format. @default the recording's */
  readonly format?: FormatName
}

/** Longer user messages need not stay verbatim. */
const longUserMessage = 2000
/** Minimum age in calls of an old fact. */
const oldAge = 4

export async function judge(
  recording: Opened,
  create: CreateManager,
  options: JudgeOptions,
): Promise<Judgement> {
  const manager = await create(recording)
  const bench = new Bench(recording, options)
  for await (const { answer, sent } of replay(recording, manager)) {
    await bench.see(answer, sent, manager)
  }
  return bench.judgement()
}

class Bench {
  readonly #recording: Opened
  readonly #options: JudgeOptions
  readonly #meter: CacheMeter
  readonly #witness: Witness
  readonly #needs: ReadonlyMap<number, Need>
  readonly #frame: readonly Piece[]
  readonly #steps: Step[] = []
  readonly #counts = { arguments: newCount(), text: newCount(), old: newCount() }
  readonly #calls = { needing: 0, complete: 0 }
  readonly #userTexts: { readonly text: string; readonly tokens: number; readonly at: number }[]
  #userText = 0
  #invalid = 0
  #refused = 0

  constructor(recording: Opened, options: JudgeOptions) {
    const { counter, prices, needs, sightings } = options
    this.#recording = recording
    this.#options = options
    this.#meter = new CacheMeter(counter, prices)
    this.#witness = new Witness(recording, sightings)
    this.#frame = framePieces(recording.frame)
    this.#needs = new Map(needs.map((need) => [need.answer, need]))
    this.#userTexts = recording.recorded.flatMap(({ role, texts }, at) =>
      role !== 'user'
        ? []
        : texts
            .map((text) => ({ text, tokens: counter.count(text), at }))
            .filter(({ tokens }) => tokens > 0 && tokens <= longUserMessage),
    )
  }

  async see(
    answer: number,
    sent: Sent | undefined,
    { recover, fetch }: Pick<Manager, 'recover' | 'fetch'>,
  ): Promise<void> {
    const { format = this.#recording.format } = this.#options
    const facts = this.#needs.get(answer)?.facts ?? []
    if (sent === undefined) this.#refused += 1
    else if (!isValid(format, sent)) this.#invalid += 1
    const pieces = [...this.#frame, ...piecesOf(sent?.messages ?? [], sent?.system)]
    const at = this.#recording.recorded[answer]?.at
    const { tokens, cached, cost, broken } = this.#meter.send(pieces, at)
    const fetched: number[] = []
    const lookUp: Recover = async (text, value) => {
      const found = (await (fetch ?? recover)?.(text, value)) ?? false
      const isArgument = facts.some((fact) => fact.value === value && fact.place === 'arguments')
      if (found !== false && isArgument) fetched.push(Number(found))
      return found !== false
    }
    const fates = await this.#witness.fates(facts, pieces, { until: answer, recover: lookUp })
    let missing = 0
    let needed = 0
    for (const [index, fate] of fates.entries()) {
      const fact = facts[index] as (typeof facts)[number]
      add(this.#counts[fact.place], fate)
      if (fact.place !== 'arguments') continue
      if (fact.age >= oldAge) add(this.#counts.old, fate)
      needed += 1
      if (fate === 'recoverable' || fate === 'lost') missing += 1
    }
    if (needed > 0) this.#calls.needing += 1
    if (needed > 0 && missing === 0) this.#calls.complete += 1
    this.#userText += this.#userTextKept(answer, new Set(pieces.flatMap(({ texts }) => texts)))
    const why = broken === 'edit' ? (sent?.causes?.()[0] ?? 'edit') : broken
    this.#steps.push({
      tokens,
      cached,
      cost,
      missing,
      lookups: lookupCost(fetched, tokens, this.#options.prices),
      ...(why === undefined ? {} : { broken: why }),
    })
  }

  judgement(): Judgement {
    const { id, source } = this.#recording
    return {
      id,
      source,
      steps: this.#steps,
      ...this.#counts,
      calls: this.#calls,
      invalid: this.#invalid,
      refused: this.#refused,
      userText: this.#steps.length === 0 ? 1 : this.#userText / this.#steps.length,
    }
  }

  #userTextKept(until: number, shown: ReadonlySet<string>): number {
    let all = 0
    let kept = 0
    for (const { text, tokens, at } of this.#userTexts) {
      if (at >= until) break
      all += tokens
      if (shown.has(text)) kept += tokens
    }
    return all === 0 ? 1 : kept / all
  }
}

/** Each lookup reads the request and the answers before it from the cache, and writes its own answer. */
function lookupCost(
  fetched: readonly number[],
  tokens: number,
  { read = 0.1, write = 1.25 }: CachePrices = {},
): LookupCount {
  let size = tokens
  let cost = 0
  for (const answer of fetched) {
    cost += read * size + write * answer
    size += answer
  }
  return { count: fetched.length, cost }
}

type Counting = { -readonly [K in keyof FactCount]: FactCount[K] }

function newCount(): Counting {
  return { needed: 0, visible: 0, anchored: 0, recoverable: 0, lost: 0 }
}

function add(count: Counting, fate: Fate): void {
  count.needed += 1
  if (fate === 'anchored' || fate === 'bare') count.visible += 1
  if (fate !== 'bare') count[fate] += 1
}

function isValid(format: FormatName, { messages, system }: Sent): boolean {
  const target = formatNamed(format)
  const body = bodyOf(target, { messages, system })
  return messages.length > 0 && target.validate(body).length === 0
}
