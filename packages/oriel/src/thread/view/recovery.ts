// After the provider refused a request as too long: how small the next one must be.

import { OrielError } from '../../core/log/errors.ts'
import type { Policy } from '../../policy/schema.ts'
import { contextLengthNumbers, isContextLengthError } from '../../providers/context-length.ts'
import type { ThreadEngine } from '../engine.ts'
import { pricesOf } from './cache.ts'
import { estimateOf } from './usage.ts'
import type { ViewOptions } from './view.ts'

/** How much of the limit the next request may use: counters and providers differ. */
const safety = 0.9
/** Where the error names no numbers: how much of what was sent may be sent again. */
const shrink = 0.7

/** What was sent, and what may be sent instead. Throws when the error is another one, or when this was tried before. */
export function planRecovery(
  error: unknown,
  { journal, policy, prices }: Pick<ThreadEngine, 'journal' | 'policy' | 'prices'>,
  { budget = Infinity, model }: Pick<ViewOptions, 'budget' | 'model'>,
): { readonly sent: number; readonly budget: number } {
  if (!isContextLengthError(error)) {
    const message = 'recover takes a context-length error; this is another one. Handle it as it is.'
    throw new OrielError('invalid-option', message, { path: 'error', cause: error })
  }
  const { newestRequest } = journal.facts
  const details = newestRequest?.details ?? {}
  if (details.isRecovery === true && newestRequest?.step === journal.state.step) {
    const message =
      'The request was reduced once and refused again. Raise the window, shorten the system text or the newest message, or give a budget.'
    throw new OrielError('cannot-project', message, { cause: error })
  }
  const sent = details.tokens ?? estimateOf(journal)
  const window = policy.compaction?.contextWindow ?? pricesOf(prices, model).contextWindow
  return { sent, budget: Math.max(1, Math.min(budget, recoveryBudget(error, sent, window))) }
}

/** Options whose budget obeys what the provider takes. */
export function withLimit({ limit, ...options }: ViewOptions): ViewOptions {
  if (limit === undefined) return options
  return { ...options, budget: Math.max(1, Math.min(options.budget ?? Infinity, limit)) }
}

/** A policy whose checkpoints are made in time for what the provider takes. */
export function withinLimit(policy: Policy, limit: number): Policy {
  const { compaction } = policy
  if (compaction === undefined) return policy
  const known = limited.get(policy) ?? new Map<number, Policy>()
  limited.set(policy, known)
  const contextWindow = Math.max(1, Math.floor(Math.min(compaction.contextWindow || limit, limit)))
  const found = known.get(contextWindow) ?? {
    ...policy,
    compaction: { ...compaction, contextWindow },
  }
  if (known.size > maxLimited) known.clear()
  known.set(contextWindow, found)
  return found
}

/** Policies are compared by identity; limits seldom change. */
const limited = new WeakMap<Policy, Map<number, Policy>>()
const maxLimited = 16

/** A retry of the same size would be refused again. */
export function assertProgress(sent: number, after: number): void {
  if (after < sent) return
  throw new OrielError(
    'cannot-project',
    `Nothing can be left out: the request had ${sent} tokens and would have ${after}.`,
    { details: { sent, after } },
  )
}

/**
 * The budget of the next request, in our counter's tokens. An error that names what was sent and what is allowed also tells how our
 * count compares with the provider's. One that names nothing is about the known window, where that was passed.
 */
export function recoveryBudget(error: unknown, sentTokens: number, window = Infinity): number {
  const { sent, limit } = contextLengthNumbers(error)
  if (limit === undefined) {
    return Math.floor(sentTokens > window ? window * safety : sentTokens * shrink)
  }
  const scale = sent === undefined || sent < limit ? 1 : sentTokens / sent
  return Math.floor(Math.min(limit * scale * safety, sentTokens * safety))
}
