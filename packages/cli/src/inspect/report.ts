// Everything that is known about one conversation, and about all of them together. Pure.

import type { Counter } from 'oriel'
import type { Conversation } from '../transcript/conversation.ts'
import { type Anatomy, dissect } from './anatomy.ts'
import { type Outcome, projectUnchanged, type Trial, tryPolicy } from './savings.ts'
import { examine, type Structure } from './structure.ts'
import type { Summary } from './summary.ts'
import { rememberingCounter } from './weigh.ts'

export interface ConversationReport {
  readonly conversation: Conversation
  readonly anatomy: Anatomy
  readonly structure: Structure
  /** Tokens of the next request without a policy, made valid; undefined where there is no valid one. */
  readonly unchangedTokens?: number
  /** One for each trial, in their order; empty where there is no valid request at all. */
  readonly outcomes: readonly Outcome[]
}

/** What `oriel inspect` found. */
export interface InspectReport {
  readonly files: readonly string[]
  /** No file was named: this is the sample that comes with the command. */
  readonly isSample: boolean
  readonly notes: readonly string[]
  readonly counter: { readonly name: string; readonly remark: string }
  readonly summary: Summary
  /** The largest conversation. */
  readonly detail: ConversationReport
  /** Standard trials come first in `summary.savings`; behind them stands the policy that was asked for, if one was. */
  readonly trialCount: number
}

export interface InspectOptions {
  readonly counter: Counter
  readonly trials: readonly Trial[]
  /** Told after each piece of work, of which there are `trials.length + 2`. */
  readonly onWork?: () => void
}

/** Throws OrielError with the path when a message is not one, or when a trial's policy is wrong. */
export function inspectConversation(
  conversation: Conversation,
  { counter: plain, trials, onWork = () => {} }: InspectOptions,
): ConversationReport {
  const counter = rememberingCounter(plain)
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
