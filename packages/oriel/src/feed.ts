// Fills a state with messages; under a schedule that looks back, as a thread would have been filled, step by step.

import type { Draft, Edit, EditEntry } from './core/log/entry.ts'
import { entryId } from './core/log/ids.ts'
import { prepare } from './core/log/prepare.ts'
import { waitsFrom } from './core/state/reasoning.ts'
import { State } from './core/state/state.ts'
import { type PlanContext, plan, windowBudget } from './plan.ts'
import type { Policy } from './policy/schema.ts'
import { isCheckpoint } from './propose.ts'

export type FeedContext = Omit<PlanContext, 'cache'>

/** A state that is fed a list of messages, at once or as the list grows: both end in the same view. */
export class Feed {
  readonly state: State
  readonly #policy: Policy
  readonly #context: FeedContext
  #hasSigned = false
  /** The calls of the newest assistant message. */
  #calls: ReadonlySet<string> = new Set()
  /** The log's length at the newest request of a replayed list. */
  #sent: number | undefined
  /** What the newest view would change. */
  #planned: { readonly version: number; readonly edits: readonly Edit[] } | undefined

  constructor(state: State, policy: Policy, context: FeedContext) {
    this.state = state
    this.#policy = policy
    this.#context = context
  }

  /**
   * Whether these messages may be added to those before. A list with signed reasoning is read as a whole where rules look back at what
   * was thought before they acted.
   */
  mayAdd(drafts: readonly Draft[]): boolean {
    if (this.#policy.schedule === 'cache-aware') return true
    if (isSteady(this.#policy) && hasLateResult(drafts, this.#calls)) return false
    if (!this.#hasSigned && !drafts.some(isSigned)) return true
    return !isSteady(this.#policy) && this.#policy.compaction === undefined && this.#hasSigned
  }

  /** What the newest view would change once these messages are there, on top of the edits that the state holds by then. */
  add(drafts: readonly Draft[]): readonly Edit[] {
    this.#hasSigned ||= drafts.some(isSigned)
    const newest = drafts.findLast(({ role }) => role === 'assistant')
    if (newest !== undefined) this.#calls = callsIn(newest)
    if (this.#policy.schedule === 'cache-aware') this.#replay(drafts)
    else this.#append(drafts)
    const edits = this.#edits()
    if (!isSteady(this.#policy) || this.#hasSigned) return edits
    for (const edit of edits) this.state.adopt(edit)
    return []
  }

  /** What the view may use where its caller gave no budget. */
  windowBudget(planned: readonly Edit[]): number | undefined {
    return windowBudget(this.state, planned, this.#policy, this.#context)
  }

  #append(drafts: readonly Draft[]): void {
    const { state } = this
    const { now } = this.#context
    const isFirst = state.version === 0
    const before =
      this.#policy.compaction === undefined || !this.#hasSigned || !isFirst
        ? 0
        : beforeOpenLoop(state, drafts, now)
    if (before > 0) {
      for (const entry of prepare(state, drafts.slice(0, before), now)) state.apply(entry)
      // A checkpoint that was due when a tool loop with signed reasoning began is what that reasoning was made on.
      const { edits } = plan(state, this.#policy, this.#context)
      if (edits.some(isCheckpoint)) apply(state, edits, now)
    }
    for (const entry of prepare(state, drafts.slice(before), now)) state.apply(entry)
  }

  /** What was decided at a step depends on what had been sent before it: a list of messages is replayed from its first answer on. */
  #replay(drafts: readonly Draft[]): void {
    const { state } = this
    const { now } = this.#context
    for (const draft of drafts) {
      if (draft.role === 'assistant') {
        apply(state, this.#edits(), now)
        this.#sent = state.version
      }
      for (const entry of prepare(state, [draft], now)) state.apply(entry)
    }
  }

  #edits(): readonly Edit[] {
    const { version } = this.state
    if (this.#planned?.version === version) return this.#planned.edits
    const { edits } = plan(this.state, this.#policy, this.#planContext())
    this.#planned = { version, edits }
    return edits
  }

  #planContext(): PlanContext {
    if (this.#policy.schedule !== 'cache-aware') return this.#context
    const cache = { idleMs: 0, ...(this.#sent === undefined ? {} : { sent: this.#sent }) }
    return { ...this.#context, cache: () => cache }
  }
}

/** Feeds a state once; see `Feed.add`. */
export function feed(
  state: State,
  drafts: readonly Draft[],
  policy: Policy,
  context: FeedContext,
): readonly Edit[] {
  return new Feed(state, policy, context).add(drafts)
}

/**
 * Whether every edit of a policy, once made, is made again of any longer list: then it is put in force, and rules look at what is new. What
 * a checkpoint covers, which result is relevant and which one repeats another depend on what came last.
 */
function isSteady({
  schedule,
  history,
  toolOutput,
  toolResults,
  expiry,
  ...rest
}: Policy): boolean {
  if (schedule === 'cache-aware') return false
  if (expiry?.relevance !== undefined || expiry?.duplicates !== undefined) return false
  // What the cap drops first, a window may claim when the list has grown: then the reason is another one.
  if ((history?.maxMessages ?? 0) > 0) return false
  return Object.values(rest).every((part) => part === undefined)
}

/** Whether a result answers a call before the newest assistant message: it changes what was decided of that exchange. */
function hasLateResult(drafts: readonly Draft[], newest: ReadonlySet<string>): boolean {
  let calls = newest
  for (const draft of drafts) {
    if (draft.role === 'assistant') calls = callsIn(draft)
    for (const block of typeof draft.content === 'string' ? [] : draft.content) {
      if (block.type === 'tool-result' && !calls.has(block.callId)) return true
    }
  }
  return false
}

function callsIn({ content }: Draft): ReadonlySet<string> {
  const blocks = typeof content === 'string' ? [] : content
  return new Set(blocks.flatMap((block) => (block.type === 'tool-call' ? [block.callId] : [])))
}

function isSigned({ content }: Draft): boolean {
  return (
    typeof content !== 'string' &&
    content.some((block) => block.type === 'reasoning' && block.signature !== undefined)
  )
}

/** How many drafts stand before the open tool loop that carries signed reasoning; 0 where there is none. */
function beforeOpenLoop({ counter, salt }: State, drafts: readonly Draft[], now: number): number {
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
