// Prepared recordings, judged under many policies.

import { assertOptions } from '../core/log/options.ts'
import { resolveCounter, type TokensOption } from '../counters.ts'
import { type CachePrices, memoizeCounter } from './cost.ts'
import { commonValues, type Need, neededValues, needsOf, withoutCommon } from './facts.ts'
import { type Judgement, judge } from './judge.ts'
import { type Opened, openRecording, type Recording } from './recording.ts'
import type { CreateManager } from './replay.ts'
import { Sightings } from './sightings.ts'

export interface Studied {
  readonly recording: Opened
  readonly needs: readonly Need[]
  readonly sightings: Sightings
}

/** Parses recordings and finds the facts that each model call needed. */
export function study(recordings: readonly Recording[]): readonly Studied[] {
  const studied = recordings.map((one): Studied => {
    const recording = openRecording(one)
    const sightings = new Sightings()
    return { recording, sightings, needs: needsOf(recording, sightings) }
  })
  const sources = new Set(studied.map(({ recording }) => recording.source))
  const common = new Map(
    [...sources].map((source) => {
      const own = studied.filter(({ recording }) => recording.source === source)
      return [source, commonValues(own.map(({ needs }) => neededValues(needs)))]
    }),
  )
  return studied.map((one) => ({
    ...one,
    needs: withoutCommon(one.needs, common.get(one.recording.source) ?? new Set()),
  }))
}

export interface JudgeAllOptions {
  /** @default 'estimate' */
  readonly tokens?: TokensOption
  readonly prices?: CachePrices
  /** Called after every conversation. */
  readonly onDone?: (done: number) => void
}

/** Judges one manager on every conversation. */
export async function judgeAll(
  studied: readonly Studied[],
  create: CreateManager,
  given: JudgeAllOptions = {},
): Promise<readonly Judgement[]> {
  assertOptions(given, { tokens: true, prices: true, onDone: true }, 'judgeAll')
  const { tokens, prices, onDone } = given
  const judgements: Judgement[] = []
  for (const { recording, needs, sightings } of studied) {
    const counter = memoizeCounter(resolveCounter(tokens))
    const options = { counter, needs, sightings, ...(prices === undefined ? {} : { prices }) }
    judgements.push(await judge(recording, create, options))
    onDone?.(judgements.length)
  }
  return judgements
}
