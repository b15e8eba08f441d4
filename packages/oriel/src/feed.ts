// Fills a state with messages; under a schedule that looks back, as a thread would have been filled, step by step.

import type { Draft, Edit, EditEntry } from './core/log/entry.ts'
import { entryId } from './core/log/ids.ts'
import { prepare } from './core/log/prepare.ts'
import { waitsFrom } from './core/state/reasoning.ts'
import { State } from './core/state/state.ts'
import { isCheckpoint, type PlanContext, plan } from './plan.ts'
import type { Policy } from './policy/schema.ts'

/** What the newest view would change, on top of the edits that the state holds by now. */
export function feed(
  state: State,
  drafts: readonly Draft[],
  policy: Policy,
  context: Omit<PlanContext, 'cache'>,
): readonly Edit[] {
  if (policy.schedule !== 'cache-aware') {
    const before = policy.compaction === undefined ? 0 : beforeOpenLoop(state, drafts, context.now)
    for (const entry of prepare(state, drafts.slice(0, before), context.now)) state.apply(entry)
    // A checkpoint that was due when a tool loop with signed reasoning began is what that reasoning was made on.
    const { edits } = before === 0 ? { edits: [] } : plan(state, policy, context)
    if (edits.some(isCheckpoint)) apply(state, edits, context.now)
    for (const entry of prepare(state, drafts.slice(before), context.now)) state.apply(entry)
    return plan(state, policy, context).edits
  }
  let sent: number | undefined
  const edits = (): readonly Edit[] => {
    const cache = { idleMs: 0, ...(sent === undefined ? {} : { sent }) }
    return plan(state, policy, { ...context, cache: () => cache }).edits
  }
  // What was decided at a step depends on what had been sent before it: a list of messages is replayed from its first answer on.
  for (const draft of drafts) {
    if (draft.role === 'assistant') {
      apply(state, edits(), context.now)
      sent = state.version
    }
    for (const entry of prepare(state, [draft], context.now)) state.apply(entry)
  }
  return edits()
}

/** How many drafts stand before the open tool loop that carries signed reasoning; 0 where there is none. */
function beforeOpenLoop({ counter, salt }: State, drafts: readonly Draft[], now: number): number {
  const isSigned = ({ content }: Draft): boolean =>
    typeof content !== 'string' &&
    content.some((block) => block.type === 'reasoning' && block.signature !== undefined)
  if (!drafts.some(isSigned)) return 0
  const state = new State({ counter, salt })
  for (const entry of prepare(state, drafts, now)) state.apply(entry)
  const start = waitsFrom(state)
  return start === Infinity ? 0 : start - 1
}

function apply(state: State, edits: readonly Edit[], at: number): void {
  const epoch = `p${(state.version + 1).toString(36)}`
  for (const edit of edits) {
    const seq = state.version + 1
    const entry: EditEntry = { ...edit, type: 'edit', id: entryId(state.salt, seq), seq, at, epoch }
    state.apply(entry)
  }
}
