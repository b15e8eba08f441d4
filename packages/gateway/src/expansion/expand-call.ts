// Expansion as a model call uses it, where its request offers the tool.

import type { Endpoint } from '../endpoints.ts'
import type { UpstreamAnswer } from '../upstream.ts'
import { expandAnswer } from './expand-answer.ts'
import { expansionFormats } from './formats.ts'
import type { Offer } from './offer.ts'
import { type RoundedCall, Rounds, type RoundsOptions } from './rounds.ts'

export interface ExpandingCall extends RoundedCall {
  /** Logs what came before a break. */
  recordInterrupted(answer: undefined, reason: string): void
}

export interface ExpandCallOptions extends Pick<RoundsOptions, 'limits' | 'now' | 'send'> {
  readonly call: ExpandingCall
  readonly endpoint: Endpoint
  /** The client's. */
  readonly signal: AbortSignal
}

/** Answers the model's calls to the gateway's own tool; what the client gets is one answer. */
export async function expandCall(
  answer: UpstreamAnswer,
  offer: Offer,
  { call, endpoint, signal, ...rest }: ExpandCallOptions,
): Promise<UpstreamAnswer> {
  const { body, ...about } = offer
  const format = expansionFormats[endpoint.format]
  // What is only listed is not called, but an answer may repeat the list.
  if (!offer.isOpen && format.clean === undefined) return answer
  const rounds = new Rounds({ ...rest, ...about, call, format, body: body.value })
  try {
    return await expandAnswer(answer, { endpoint, rounds })
  } catch (error) {
    call.recordInterrupted(undefined, signal.aborted ? 'client-left' : 'upstream-broke')
    throw error
  }
}
