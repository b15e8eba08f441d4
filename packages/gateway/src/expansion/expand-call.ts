// Expansion as a model call uses it, where its request offers the tool.

import type { Provider } from 'oriel/providers'
import type { UpstreamAnswer } from '../http/client.ts'
import { expandAnswer } from './expand-answer.ts'
import type { InjectedTool } from './inject.ts'
import { type RoundedCall, Rounds, type RoundsOptions } from './rounds.ts'

export interface ExpandingCall extends RoundedCall {
  /** Logs what came before a break. */
  recordInterrupted(answer: undefined, reason: string): void
}

export interface ExpandCallOptions extends Pick<RoundsOptions, 'limits' | 'now' | 'send'> {
  readonly call: ExpandingCall
  readonly provider: Provider
  /** The client's. */
  readonly signal: AbortSignal
}

/** Answers the model's calls to the gateway's own tools; what the client gets is one answer. */
export async function expandCall(
  answer: UpstreamAnswer,
  offer: InjectedTool,
  { call, provider, signal, ...rest }: ExpandCallOptions,
): Promise<UpstreamAnswer> {
  const { body, clientTools: tools, ...about } = offer
  // What is only listed is not called, but an answer may repeat the list.
  if (!offer.isOpen && provider.tools.echoes === undefined) return answer
  const names = offer.own.map(({ name }) => name)
  const rounds = new Rounds({ ...rest, ...about, names, tools, call, provider, body: body.value })
  try {
    return await expandAnswer(answer, rounds)
  } catch (error) {
    call.recordInterrupted(undefined, signal.aborted ? 'client-left' : 'upstream-broke')
    throw error
  }
}
