// Compares a decision with the ground truth and classifies the error.

import type { RecordedRequest } from '../fixture.ts'
import type { WireFormat } from '../reply.ts'
import type { Expected } from '../script.ts'
import { sessionOf } from './session.ts'
import type { Decision } from './thread.ts'

/**
 * - wrong join: taken into a conversation or a place where it does not belong, or an edit overlooked
 * - missed join: taken for a new conversation
 * - spurious fork: the right conversation, but branched where it only continued
 * - fork elsewhere: rightly branched, at another message
 * - side call in line: a title, summary or memory request appended to the conversation it is about
 */
export const verdicts = [
  'right',
  'wrong join',
  'missed join',
  'spurious fork',
  'fork elsewhere',
  'side call in line',
] as const
export type Verdict = (typeof verdicts)[number]

export interface Sample {
  /** The recording's name. */
  readonly name: string
  readonly format: WireFormat
  readonly request: RecordedRequest
  readonly expected: Expected
}

interface Made {
  readonly decision: Decision
  readonly usesSessions: boolean
}

export function judge(samples: readonly Sample[], index: number, made: Made): Verdict {
  const { decision, usesSessions } = made
  const { expected, request } = samples[index] as Sample
  if (expected.type === 'new-thread') return decision.type === 'new-thread' ? 'right' : 'wrong join'
  if (expected.type === 'other') return judgeSideCall(samples, decision)
  if (decision.type === 'new-thread') {
    // A rewritten history that shares nothing is a thread of its own; its session id still tells where it belongs.
    const isGrouped = usesSessions && sessionOf(request) !== undefined && expected.type === 'fork'
    return isGrouped ? 'right' : 'missed join'
  }
  if (familyOf(samples, decision.of) !== familyOf(samples, expected.of)) return 'wrong join'
  if (decision.type === 'fork') {
    if (expected.type !== 'fork') return 'spurious fork'
    return decision.at === expected.at ? 'right' : 'fork elsewhere'
  }
  if (decision.type !== expected.type) return 'wrong join'
  const isSameRequest = firstTry(samples, decision.of) === firstTry(samples, expected.of)
  return isSameRequest ? 'right' : 'wrong join'
}

/** A side call may stand alone, branch off, or join another side call. */
function judgeSideCall(samples: readonly Sample[], decision: Decision): Verdict {
  if (decision.type === 'new-thread' || decision.type === 'fork') return 'right'
  return samples[decision.of]?.expected.type === 'other' ? 'right' : 'side call in line'
}

/** To continue a request is to continue any retry of it. */
function firstTry(samples: readonly Sample[], index: number): number {
  const expected = samples[index]?.expected
  return expected?.type === 'retry' ? firstTry(samples, expected.of) : index
}

function familyOf(samples: readonly Sample[], index: number): number {
  const expected = samples[index]?.expected
  return expected !== undefined && 'of' in expected ? familyOf(samples, expected.of) : index
}
