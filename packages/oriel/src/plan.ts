// What changes now: rules propose, the schedule decides. Used by `project` and by the thread.

import type { Edit } from './core/log/entry.ts'
import { waitsFrom } from './core/state/reasoning.ts'
import type { State } from './core/state/state.ts'
import { isSurelyBelow, requestTokens } from './core/state/weight.ts'
import type { Policy } from './policy/schema.ts'
import { isCheckpoint, type ProposeContext, propose } from './propose.ts'
import { limitOf, readableBy, scaleOf } from './rules/compaction.ts'
import { type CacheState, type Decision, decide, takingEffectNow } from './schedule/cache-aware.ts'
import { type Prices, usualPrices } from './schedule/cache-rules.ts'
import { contextWindowOf } from './schedule/context-window.ts'
import { type Window, windowOf } from './schedule/window.ts'

export interface PlanContext extends Omit<ProposeContext, 'window' | 'memory'> {
  /** What is known of the provider's cache, where something is proposed. @default nothing: all of it is applied */
  readonly cache?: () => CacheState
  /** @default the usual ones: read 0.1, write 1.25, five minutes */
  readonly prices?: Prices
}

/** The edits to apply now, why now, and what was weighed. Pure. */
export function plan(state: State, policy: Policy, context: PlanContext): Decision {
  const window = windowFor(state, policy, context)
  const proposed = propose(state, policy, { ...context, window, memory: policy.memory })
  if (proposed.length === 0) return { edits: [], cause: 'none' }
  if (policy.schedule !== 'cache-aware') return { edits: proposed, cause: 'policy' }
  const { prices = usualPrices } = context
  const cache = context.cache?.() ?? { idleMs: 0 }
  const checkpoint = proposed.find(isCheckpoint)
  // A checkpoint rewrites everything behind it: what was pending comes along for nothing.
  if (checkpoint !== undefined) {
    const { sent = 0, newest = sent } = cache
    const edits = proposed.map((edit) => takingEffectNow(edit, newest))
    return withoutWaiting(state, { edits, cause: 'limit' })
  }
  return withoutWaiting(state, decide(state, proposed, { cache, prices }))
}

/**
 * In a tool loop with signed reasoning, what would take effect now waits for its end, although it fell due before. A checkpoint is proposed
 * there only where it cannot wait.
 */
function withoutWaiting(state: State, decision: Decision): Decision {
  const waits = waitsFrom(state)
  if (waits === Infinity) return decision
  const edits = decision.edits.filter(
    (edit) => (edit.since ?? Infinity) < waits || isCheckpoint(edit),
  )
  return { ...decision, edits, cause: edits.length === 0 ? 'none' : decision.cause }
}

/** How much conversation a cache-aware view carries; undefined under another schedule. */
export function windowFor(
  state: State,
  policy: Policy,
  context: Pick<PlanContext, 'frameTokens' | 'prices' | 'contextWindow'>,
): PricedWindow | undefined {
  if (policy.schedule !== 'cache-aware' || policy.compaction === undefined) return undefined
  const { frameTokens, prices = usualPrices, contextWindow = prices.contextWindow } = context
  const limit = limitOf(policy.compaction, contextWindow)
  const { read, write, inputDollars } = prices
  const window = windowOf({
    totalTokens: state.totalTokens,
    steps: state.step,
    prices,
    least: (policy.compaction.foldAbove ?? 0) - frameTokens,
    scale: scaleOf(policy.compaction),
    ...(limit > 0 ? { limit: Math.max(1, limit - frameTokens) } : {}),
  })
  const price = { read, write, ...(inputDollars === undefined ? {} : { inputDollars }) }
  return { ...window, price }
}

/** Less than this is no model's window: it only starts checkpoints. */
const leastLimit = 2000

/**
 * What a request may use where its caller gave no budget: nothing that a policy shows may be longer than what the model can read. Undefined
 * while it is not, where nobody knows the model's window, and without a policy, which changes nothing.
 */
export function windowBudget(
  state: State,
  planned: readonly Edit[],
  { schedule: _, ...parts }: Policy,
  context: Pick<PlanContext, 'frameTokens' | 'measured' | 'contextWindow'>,
): number | undefined {
  const isPlain = Object.values(parts).every((part) => part === undefined)
  const limit = isPlain ? Infinity : readableBy(parts.compaction ?? {}, context.contextWindow)
  if (limit === Infinity || limit < leastLimit) return undefined
  if (isSurelyBelow(limit, state, context)) return undefined
  if (requestTokens(state, planned, context) <= limit) return undefined
  return Math.max(1, Math.floor(limit / (context.measured?.factor ?? 1)))
}

/** The marks, and the prices that the reason of a fold names. */
export interface PricedWindow extends Window {
  readonly price: Pick<Prices, 'read' | 'write' | 'inputDollars'>
}

/** The catalogue's window of a model, where the policy does not name one. */
export function windowOfModel(
  { compaction }: Policy,
  model: string | undefined,
): number | undefined {
  if (model === undefined || compaction?.contextWindow !== undefined) return undefined
  return contextWindowOf(model)
}
