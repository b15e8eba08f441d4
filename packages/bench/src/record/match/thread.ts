// The prototype's record of a conversation, and the ranking of candidates.

import type { Expected } from '../script.ts'
import type { Frame, Unit } from './unit.ts'

export type Decision = Exclude<Expected, { type: 'other' }>

export interface Logged {
  readonly unit: Unit
  /** Units with the same number came in one message. */
  readonly message: number
  readonly isReply: boolean
}

export interface Asked {
  readonly index: number
  /** Units in the log when it was asked, itself included. */
  readonly length: number
  isAnswered: boolean
}

export interface Thread {
  readonly family: number
  readonly session: string | undefined
  /** Began as a side call: a title, a summary. */
  readonly isSide: boolean
  readonly log: Logged[]
  readonly asked: Asked[]
  frame: Frame
}

export interface Holder {
  readonly thread: Thread
  readonly length: number
}

export interface Candidate {
  readonly thread: Thread
  readonly matched: number
  readonly revisions: number
  readonly decision: Decision
}

/** Leaves out a message that is matched only in part. */
export function wholeMessages(log: readonly Logged[], matched: number): number {
  const next = log[matched]
  let shared = matched
  while (next !== undefined && shared > 0 && log[shared - 1]?.message === next.message) shared -= 1
  return shared
}

export function byMerit(a: Candidate, b: Candidate): number {
  const rank = { extends: 0, retry: 1, fork: 2, 'new-thread': 3 }
  return (
    b.matched - a.matched ||
    rank[a.decision.type] - rank[b.decision.type] ||
    a.revisions - b.revisions ||
    Number(a.thread.isSide) - Number(b.thread.isSide) ||
    (b.thread.asked.at(-1)?.index ?? 0) - (a.thread.asked.at(-1)?.index ?? 0)
  )
}
