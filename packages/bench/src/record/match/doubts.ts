// Reasons not to join a request to a conversation that it would fit.

import type { Candidate, Decision } from './thread.ts'
import type { Frame, Unit } from './unit.ts'

export interface About {
  readonly session: string | undefined
  readonly frame: Frame
  /** Known where the provider holds the history; then the frame is not sent again either. */
  readonly family: number | undefined
  readonly isRetry: boolean
}

/**
 * Two conversations may begin with the same words. Before an answer of ours comes back, only a request that its client
 * marks as a retry joins. A session id settles it too.
 */
export function isHarmless(decision: Decision, about: About): boolean {
  return about.session !== undefined || (decision.type === 'retry' && about.isRetry)
}

/**
 * Texts alone do not distinguish conversations: short answers repeat. Without a call id among what matched, a request
 * joins only if exactly one conversation fits, and is not the repetition of one that was answered.
 */
export function isDoubtful(
  best: Candidate,
  candidates: readonly Candidate[],
  about: About,
): boolean {
  const { thread, matched, decision } = best
  if (about.session !== undefined || about.family !== undefined || about.isRetry) return false
  if (thread.log.slice(0, matched).some(({ unit, isReply }) => isReply && hasStrongId(unit)))
    return false
  const rivals = candidates.filter((candidate) => candidate.matched === matched)
  if (new Set(rivals.map((candidate) => candidate.thread.family)).size > 1) return true
  const before =
    decision.type === 'retry' ? thread.asked.find(({ index }) => index === decision.of) : undefined
  return before?.isAnswered === true
}

export function hasStrongId(unit: Unit): boolean {
  return unit.type === 'call' && isStrongId(unit.id)
}

/** A title, a summary or a memory is asked for with other instructions and other tools, or with none. */
export function isSideCall(before: Frame, now: Frame): boolean {
  const hasOtherTools = before.tools.join() !== now.tools.join()
  if (!hasOtherTools) return false
  return now.tools.length === 0 || before.system !== now.system
}

/** Some servers count their calls; such ids occur in every conversation. */
export function isStrongId(id: string): boolean {
  return id.length >= 9 && !/[:._-]\d{1,4}$/.test(id)
}
