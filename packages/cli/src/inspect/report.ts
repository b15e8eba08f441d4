// Report data of one conversation and of all together. Pure.

import type { Counter } from 'oriel'
import type { Conversation } from '../transcript/conversation.ts'
import { type Anatomy, dissect } from './anatomy.ts'
import { type Outcome, projectUnchanged, type Trial, tryPolicy } from './savings.ts'
import { examine, type Structure } from './structure.ts'
import type { Summary } from './summary.ts'
import { memoizedCounter } from './token-cost.ts'

export interface ConversationReport {
  readonly conversation: Conversation
  readonly anatomy: Anatomy
  readonly structure: Structure
  /** Tokens of the next request without a policy, repaired; undefined if there is no valid one. */
  readonly unchangedTokens?: number
  /** One per trial, in order; empty if there is no valid request at all. */
  readonly outcomes: readonly Outcome[]
}

/** The result of `oriel inspect`. */
export interface InspectReport {
  readonly files: readonly string[]
  /** No file was given: this is the bundled sample. */
  readonly isSample: boolean
  readonly notes: readonly string[]
  readonly counter: { readonly name: string; readonly remark: string }
  readonly summary: Summary
  /** The largest conversation. */
  readonly detail: ConversationReport
  /** Number of standard trials in `summary.savings`. The requested policy follows them, if any. */
  readonly trialCount: number
  /** What the input of all steps would have cost under a preset, relative to no policy, by the name of its trial; empty where there was too much to replay. */
  readonly costs: ReadonlyMap<string, number>
}

export interface InspectOptions {
  readonly counter: Counter
  readonly trials: readonly Trial[]
  /** Called after each unit of work; there are `trials.length + 2`. */
  readonly onWork?: () => void
}

/** Throws OrielError with the path for an invalid message or an invalid trial policy. */
export function inspectConversation(
  conversation: Conversation,
  { counter: plain, trials, onWork = () => {} }: InspectOptions,
): ConversationReport {
  const counter = memoizedCounter(plain)
  const anatomy = dissect(conversation, counter)
  onWork()
  const unchanged = projectUnchanged(conversation, counter)
  const structure = examine(conversation, unchanged)
  onWork()
  const unchangedTokens = unchanged?.tokens.after
  const outcomes = (unchangedTokens === undefined ? [] : trials).map((trial) => {
    const isRoomy = trial.policy === undefined && (unchangedTokens ?? 0) <= (trial.budget ?? 0)
    const outcome: Outcome = isRoomy
      ? { type: 'fits', tokens: unchangedTokens ?? 0, changes: [] }
      : tryPolicy(conversation, trial, counter)
    onWork()
    return outcome
  })
  return {
    conversation,
    anatomy,
    structure,
    ...(unchangedTokens === undefined ? {} : { unchangedTokens }),
    outcomes,
  }
}
