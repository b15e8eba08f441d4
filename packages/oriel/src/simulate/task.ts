// Simulation task on one conversation, serializable for worker threads.

import { assert } from '../core/log/errors.ts'
import type { Counter } from '../core/tokens/counter.ts'
import { resolveCounter } from '../counters.ts'
import type { PolicyInput } from '../policy/schema.ts'
import { lookupPrices, type Prices } from '../schedule/prices.ts'
import { type CachePrices, memoizeCounter } from './cost.ts'
import { type Need, neededValues, needsOf, withoutCommon } from './facts.ts'
import { type Judgement, judge } from './judge.ts'
import { optimalCost } from './optimum.ts'
import { type Opened, openRecording, type Recording } from './recording.ts'
import { type ThreadManagerOptions, threadManager, unmanaged } from './replay.ts'
import { rulesKept } from './rules-kept.ts'
import { Sightings } from './sightings.ts'
import { SimulatedSummarizer } from './summarizer.ts'

export interface TaskOptions {
  readonly tokens: 'estimate' | 'o200k'
  readonly prices: CachePrices & Partial<Prices>
  /** Rules to state in each conversation. @default 0 */
  readonly rules?: number
  /** Whether calls of a summarizer are simulated. @default false */
  readonly summarizer?: boolean
}

/** Parses a conversation and finds the facts its model calls needed. */
export interface StudyTask {
  readonly type: 'study'
  readonly index: number
  readonly recording: Recording
  readonly options: TaskOptions
}

/** Judges one policy on it; without a policy, the baseline. */
export interface JudgeTask {
  readonly type: 'judge'
  readonly index: number
  /** Absent for a conversation that was already sent. */
  readonly recording?: Recording
  /** Values common to its source. */
  readonly common: readonly string[]
  readonly policy?: PolicyInput
  readonly budget?: number
  readonly options: TaskOptions
}

export type Task = StudyTask | JudgeTask

export interface StudyResult {
  readonly messages: number
  readonly requests: number
  /** All needed values, deduplicated. */
  readonly values: readonly string[]
  /** Cost of the best schedule of clearing old results. */
  readonly optimum: number
}

export type TaskResult =
  | { readonly type: 'study'; readonly studied: StudyResult }
  | { readonly type: 'judge'; readonly judgement: Judgement }

interface Known {
  readonly opened: Opened
  readonly sightings: Sightings
  readonly needs: readonly Need[]
  readonly counter: Counter
}

/** Runs tasks and caches parsed conversations for further policies. */
export class TaskRunner {
  readonly #known = new Map<number, Known>()

  async do(task: Task): Promise<TaskResult> {
    const known = this.#read(task)
    const { prices } = task.options
    const { counter } = known
    if (task.type === 'study') {
      const { opened, needs } = known
      const studied = {
        messages: opened.recorded.length,
        requests: opened.answers.length,
        values: neededValues(needs),
        optimum: optimalCost(opened, { counter, prices }),
      }
      return { type: 'study', studied }
    }
    const needs = withoutCommon(known.needs, new Set(task.common))
    const { policy, budget } = task
    const { rules = 0, summarizer = false } = task.options
    const simulated = summarizer ? new SimulatedSummarizer(counter, prices) : undefined
    const settings: ThreadManagerOptions = {
      tokens: counter,
      thread: {
        prices: { ...lookupPrices(), ...prices },
        ...(simulated === undefined ? {} : { summarize: simulated.summarize }),
      },
      ...(policy === undefined ? {} : { policy }),
      ...(budget === undefined ? {} : { budget }),
    }
    const create = policy === undefined ? unmanaged : threadManager(settings)
    const options = { counter, prices, needs, sightings: known.sightings }
    const judgement = await judge(known.opened, create, options)
    if (policy === undefined) return { type: 'judge', judgement }
    const kept =
      rules === 0
        ? undefined
        : await rulesKept(known.opened, { policy, counter, prices, count: rules })
    return {
      type: 'judge',
      judgement: {
        ...judgement,
        ...(kept === undefined ? {} : { rules: kept }),
        ...(simulated === undefined ? {} : { summaries: simulated.total() }),
      },
    }
  }

  #read({ index, recording, options }: Task): Known {
    let known = this.#known.get(index)
    if (known === undefined) {
      assert(recording !== undefined, 'a conversation comes with the first task about it')
      const opened = openRecording(recording)
      const sightings = new Sightings()
      const counter = memoizeCounter(resolveCounter(options.tokens))
      known = { opened, sightings, counter, needs: needsOf(opened, sightings) }
      this.#known.set(index, known)
    }
    return known
  }
}
