// Simulation: replays recorded conversations under several policies and sums their cost and kept
// facts.

import { availableParallelism } from 'node:os'
import { OrielError, wrongOption } from '../core/log/errors.ts'
import { assertOptions, type OptionNames } from '../core/log/options.ts'
import { type PolicyInput, parsePolicy } from '../policy/schema.ts'
import { assertTogether } from '../propose.ts'
import type { Prices } from '../schedule/prices.ts'
import type { CachePrices } from './cost.ts'
import { commonValues } from './facts.ts'
import type { Judgement } from './judge.ts'
import { Pool, type WeighedTask } from './pool.ts'
import type { Recording } from './recording.ts'
import type { JudgeTask, StudyResult, TaskOptions } from './task.ts'
import { type Totals, totalsOf } from './totals.ts'

export interface NamedPolicy {
  readonly name: string
  readonly policy: PolicyInput
}

export interface SimulateOptions {
  /** Policies to compare. The baseline without a policy is always included. */
  readonly policies: readonly NamedPolicy[]
  /**
   * Prices for billing requests and for cache-aware policies. @default read 0.1, write 1.25, always
   * live
   */
  readonly prices?: CachePrices & Partial<Prices>
  /** Token counter. @default 'estimate' */
  readonly tokens?: 'estimate' | 'o200k'
  /** Maximum tokens of a request. @default no limit */
  readonly budget?: number
  /** Rules to state in each conversation, to see whether the last request has them. @default 0 */
  readonly rules?: number
  /** Simulates a summarizer and counts its calls. @default false */
  readonly summarizer?: boolean
  /** Worker threads; 0 = the calling thread. @default one per core, none for little work */
  readonly workers?: number
  /** Called with the completed share of the work, from 0 to 1. */
  readonly onProgress?: (share: number) => void
}

const simulateOptions: OptionNames<SimulateOptions> = {
  policies: true,
  prices: true,
  tokens: true,
  budget: true,
  rules: true,
  summarizer: true,
  workers: true,
  onProgress: true,
}

/** Result of one policy. */
export interface Outcome {
  readonly name: string
  /** Cost relative to no policy; below 1 is cheaper. 1 where nothing was sent. */
  readonly costRatio: number
  /** Input tokens relative to no policy. */
  readonly tokensRatio: number
  readonly totals: Totals
  readonly sources: Readonly<Record<string, Totals>>
  /** One per conversation, in order. */
  readonly conversations: readonly Judgement[]
}

export interface Simulation {
  readonly messages: number
  readonly requests: number
  /** The baseline without a policy. */
  readonly none: Outcome
  readonly outcomes: readonly Outcome[]
  /**
   * Cost of the best schedule of clearing old results, the last four untouched, in base input
   * tokens.
   */
  readonly optimum: number
  /** The same per conversation. */
  readonly optima: readonly number[]
  readonly inputDollars?: number
}

/** Fewer messages than this finish before a worker has started. */
const littleWork = 400

/** Judges policies on recorded conversations. Throws if a recording or a policy is invalid. */
export async function simulate(
  recordings: readonly Recording[],
  options: SimulateOptions,
): Promise<Simulation> {
  assertOptions(options, simulateOptions, 'simulate')
  const { tokens = 'estimate', prices = {}, policies, onProgress } = options
  if (!Array.isArray(policies)) throw wrongOption('policies', 'a list of { name, policy }')
  policies.forEach((named: NamedPolicy, index) => {
    assertOptions(named, { name: true, policy: true }, 'simulate', `policies[${index}]`)
    assertTogether(parsePolicy(named.policy, `policies[${index}].policy`))
  })
  const names = new Set(policies.map(({ name }) => name))
  if (names.size < policies.length || names.has('none')) {
    const message = "Policies must have different names, and 'none' is the name for doing nothing."
    throw new OrielError('invalid-option', message, { path: 'policies' })
  }
  const { inputDollars } = prices
  const pool = new Pool(options.workers ?? workersFor(recordings))
  try {
    const { rules = 0, summarizer = false } = options
    const how = { tokens, prices, rules, summarizer }
    const run = new Run(pool, recordings, how, onProgress ?? (() => undefined))
    const studies = await run.study(policies.length + 1)
    const judged = await run.judge(studies, policies, options.budget)
    const base = totalsOf(judged[0] ?? [])
    const [none, ...outcomes] = judged.map((judgements, index) =>
      outcomeOf(policies[index - 1]?.name ?? 'none', judgements, base),
    )
    const optima = studies.map(({ optimum }) => optimum)
    return {
      messages: sum(studies.map(({ messages }) => messages)),
      requests: sum(studies.map(({ requests }) => requests)),
      none: none as Outcome,
      outcomes,
      optimum: sum(optima),
      optima,
      ...(inputDollars === undefined ? {} : { inputDollars }),
    }
  } finally {
    await pool.stop()
  }
}

class Run {
  readonly #pool: Pool
  readonly #recordings: readonly Recording[]
  readonly #options: TaskOptions
  readonly #report: (share: number) => void
  readonly #weights: readonly number[]
  #total = 0
  #done = 0

  constructor(
    pool: Pool,
    recordings: readonly Recording[],
    options: TaskOptions,
    report: (share: number) => void,
  ) {
    this.#pool = pool
    this.#recordings = recordings
    this.#options = options
    this.#report = report
    // Requests grow with the conversation, so the cost is quadratic in its length.
    this.#weights = recordings.map(({ messages }) => 1 + messages.length ** 2)
  }

  async study(judgesToCome: number): Promise<readonly StudyResult[]> {
    this.#total = sum(this.#weights) * (judgesToCome + 1)
    const results = await this.#run(
      this.#recordings.map((recording, index) => ({
        task: { type: 'study', index, recording, options: this.#options },
        weight: this.#weights[index] as number,
      })),
    )
    return results.map((result) => (result as { studied: StudyResult }).studied)
  }

  /** One list of judgements for the baseline and for each policy. */
  async judge(
    studies: readonly StudyResult[],
    policies: readonly NamedPolicy[],
    budget: number | undefined,
  ): Promise<readonly (readonly Judgement[])[]> {
    const common = commonOf(this.#recordings, studies)
    const tasks = [undefined, ...policies].flatMap((named) =>
      this.#recordings.map((recording, index) => ({
        task: {
          type: 'judge',
          index,
          recording,
          common: common[index] ?? [],
          ...(named === undefined ? {} : { policy: named.policy }),
          ...(budget === undefined ? {} : { budget }),
          options: this.#options,
        } satisfies JudgeTask,
        weight: this.#weights[index] as number,
      })),
    )
    const results = await this.#run(tasks)
    const judgements = results.map((result) => (result as { judgement: Judgement }).judgement)
    const { length } = this.#recordings
    return [undefined, ...policies].map((_, index) =>
      judgements.slice(index * length, (index + 1) * length),
    )
  }

  #run(tasks: readonly WeighedTask[]) {
    return this.#pool.run(tasks, (weight) => {
      this.#done += weight
      this.#report(Math.min(1, this.#done / this.#total))
    })
  }
}

/** Per conversation, the values common to its source. */
function commonOf(
  recordings: readonly Recording[],
  studies: readonly StudyResult[],
): readonly (readonly string[])[] {
  const bySource = new Map<string, (readonly string[])[]>()
  for (const [index, { source = '' }] of recordings.entries()) {
    const lists = bySource.get(source) ?? []
    lists.push(studies[index]?.values ?? [])
    bySource.set(source, lists)
  }
  const common = new Map([...bySource].map(([source, lists]) => [source, commonValues(lists)]))
  return recordings.map(({ source = '' }, index) => {
    const own = common.get(source)
    return (studies[index]?.values ?? []).filter((value) => own?.has(value) === true)
  })
}

function outcomeOf(
  name: string,
  conversations: readonly Judgement[],
  none: Pick<Totals, 'cost' | 'tokens'>,
): Outcome {
  const sources = [...new Set(conversations.map(({ source }) => source))]
  const totals = totalsOf(conversations)
  return {
    name,
    costRatio: none.cost === 0 ? 1 : totals.cost / none.cost,
    tokensRatio: none.tokens === 0 ? 1 : totals.tokens / none.tokens,
    totals,
    sources: Object.fromEntries(
      sources.map((source) => [
        source,
        totalsOf(conversations.filter((one) => one.source === source)),
      ]),
    ),
    conversations,
  }
}

function workersFor(recordings: readonly Recording[]): number {
  const messages = sum(recordings.map((one) => one.messages.length))
  return messages < littleWork ? 0 : Math.min(availableParallelism(), recordings.length)
}

function sum(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0)
}
