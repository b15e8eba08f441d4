// One piece of the simulator's work on one conversation, so that any thread of the process can do it.

import { assert } from '../core/log/errors.ts'
import type { Counter } from '../core/tokens/counter.ts'
import { resolveCounter } from '../counters.ts'
import type { PolicyInput } from '../policy/schema.ts'
import { lookupPrices, type Prices } from '../schedule/prices.ts'
import { type CachePrices, remembering } from './cost.ts'
import { type Need, neededValues, needsOf, withoutCommon } from './facts.ts'
import { type Judgement, judge } from './judge.ts'
import { optimalCost } from './optimum.ts'
import { type Opened, openRecording, type Recording } from './recording.ts'
import { type ThreadManagerOptions, threadManager, unmanaged } from './replay.ts'
import { Sightings } from './sightings.ts'

export interface TaskOptions {
  readonly tokens: 'estimate' | 'o200k'
  readonly prices: CachePrices & Partial<Prices>
}

/** Reads a conversation and finds out what its model calls needed. */
export interface StudyTask {
  readonly type: 'study'
  readonly index: number
  readonly recording: Recording
  readonly options: TaskOptions
}

/** Judges one policy on it; without a policy, doing nothing. */
export interface JudgeTask {
  readonly type: 'judge'
  readonly index: number
  /** May be missing for a conversation that was sent before. */
  readonly recording?: Recording
  /** Values that are common to its source. */
  readonly common: readonly string[]
  readonly policy?: PolicyInput
  readonly budget?: number
  readonly options: TaskOptions
}

export type Task = StudyTask | JudgeTask

export interface StudyResult {
  readonly messages: number
  readonly requests: number
  /** Every value that was needed, once. */
  readonly values: readonly string[]
  /** What the best schedule of clearing old results would cost. */
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

/** Does tasks, and remembers the conversations it has read: another policy on the same one costs only its own work. */
export class Desk {
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
    const settings: ThreadManagerOptions = {
      tokens: counter,
      thread: { prices: { ...lookupPrices(), ...prices } },
      ...(policy === undefined ? {} : { policy }),
      ...(budget === undefined ? {} : { budget }),
    }
    const create = policy === undefined ? unmanaged : threadManager(settings)
    const options = { counter, prices, needs, sightings: known.sightings }
    return { type: 'judge', judgement: await judge(known.opened, create, options) }
  }

  #read({ index, recording, options }: Task): Known {
    let known = this.#known.get(index)
    if (known === undefined) {
      assert(recording !== undefined, 'a conversation comes with the first task about it')
      const opened = openRecording(recording)
      const sightings = new Sightings()
      const counter = remembering(resolveCounter(options.tokens))
      known = { opened, sightings, counter, needs: needsOf(opened, sightings) }
      this.#known.set(index, known)
    }
    return known
  }
}
