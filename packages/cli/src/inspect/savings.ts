// What policies would save on the next request of a conversation. Pure.

import {
  type Change,
  type Counter,
  OrielError,
  type PolicyInput,
  type Projection,
  presets,
  project,
} from 'oriel'
import type { Conversation } from '../transcript/conversation.ts'

/** One policy to try. */
export interface Trial {
  readonly name: string
  readonly policy?: PolicyInput
  readonly budget?: number
}

export type Outcome =
  | {
      readonly type: 'fits'
      readonly tokens: number
      /** Blocks that are not full or not there; repairs are not counted. */
      readonly changes: readonly Change[]
    }
  | {
      /** No valid request is that small. */
      readonly type: 'cannot-project'
      /** Tokens that would be needed, where that is known. */
      readonly needed?: number
    }

/** What one policy does to all conversations. */
export interface Saving extends Trial {
  readonly tokensBefore: number
  /** A conversation that cannot be projected counts as it was. */
  readonly tokensAfter: number
  readonly changedConversations: number
  /** Conversations of which no valid request fits the budget. */
  readonly cannotProject: number
  /** The smallest budget that would do for all of them, where that is known. */
  readonly needed?: number
  /** Changes by rule and form, and by reason; most tokens first. */
  readonly forms: readonly ChangeKind[]
  readonly reasons: readonly ChangeKind[]
}

export interface ChangeKind {
  readonly rule: string
  /** The form, or the reason. */
  readonly what: string
  readonly count: number
  readonly savedTokens: number
}

/** Windows over user turns: the two ends of what the guide on history recommends, and a short one for short chats. */
const windows = [2, 5, 20] as const
/** Context windows, and parts of them, that people set as a budget. */
const budgets = [128_000, 64_000, 32_000, 16_000, 8000, 4000] as const

/** The policies that are always tried: windows, presets that this version has, and budgets (or only the given one). */
export function standardTrials(budget?: number): readonly Trial[] {
  const history = windows.map((length) => ({
    name: `history: last ${length} turns`,
    policy: { history: { length } },
  }))
  const others = (Object.keys(presets) as (keyof typeof presets)[])
    // Its window of twenty turns is already among the windows.
    .filter((name) => name !== 'history-window')
    .map((name) => ({ name: `preset: ${name}`, policy: name }))
  const limits = (budget === undefined ? budgets : [budget]).map((tokens) => ({
    name: `budget: ${tokens.toLocaleString('en-US')} tokens`,
    budget: tokens,
  }))
  return [...history, ...others, ...limits]
}

/** The request that would be sent without a policy, made valid; undefined where there is no valid one. */
export function projectUnchanged(
  conversation: Conversation,
  counter: Counter,
): Projection<unknown> | undefined {
  return attempt(conversation, { name: 'none' }, counter).projection
}

/** Throws OrielError if the policy is wrong. */
export function tryPolicy(conversation: Conversation, trial: Trial, counter: Counter): Outcome {
  const { projection, needed } = attempt(conversation, trial, counter)
  if (projection === undefined) {
    return { type: 'cannot-project', ...(needed === undefined ? {} : { needed }) }
  }
  return {
    type: 'fits',
    tokens: projection.tokens.after,
    changes: projection.trace.filter(({ rule }) => rule !== 'repair'),
  }
}

/** Adds up what one policy does. */
export class SavingSum {
  readonly #trial: Trial
  readonly #forms = new Map<string, ChangeKind>()
  readonly #reasons = new Map<string, ChangeKind>()
  #before = 0
  #after = 0
  #changed = 0
  #failed = 0
  #needed = 0

  constructor(trial: Trial) {
    this.#trial = trial
  }

  add(unchangedTokens: number, outcome: Outcome): void {
    this.#before += unchangedTokens
    this.#after += outcome.type === 'fits' ? outcome.tokens : unchangedTokens
    if (outcome.type === 'cannot-project') {
      this.#failed += 1
      this.#needed = Math.max(this.#needed, outcome.needed ?? 0)
      return
    }
    if (outcome.changes.length > 0) this.#changed += 1
    for (const change of outcome.changes) {
      addKind(this.#forms, change, change.form)
      addKind(this.#reasons, change, change.reason)
    }
  }

  saving(): Saving {
    return {
      ...this.#trial,
      tokensBefore: this.#before,
      tokensAfter: this.#after,
      changedConversations: this.#changed,
      cannotProject: this.#failed,
      ...(this.#needed === 0 ? {} : { needed: this.#needed }),
      forms: [...this.#forms.values()].sort(bySaved),
      reasons: [...this.#reasons.values()].sort(bySaved),
    }
  }
}

function addKind(kinds: Map<string, ChangeKind>, change: Change, what: string): void {
  const { rule, tokensBefore, tokensAfter } = change
  const known = kinds.get(`${rule}\n${what}`)
  kinds.set(`${rule}\n${what}`, {
    rule,
    what,
    count: (known?.count ?? 0) + 1,
    savedTokens: (known?.savedTokens ?? 0) + tokensBefore - tokensAfter,
  })
}

function bySaved(a: ChangeKind, b: ChangeKind): number {
  return b.savedTokens - a.savedTokens || b.count - a.count || (a.what < b.what ? -1 : 1)
}

function attempt(
  { messages, frame, detection }: Conversation,
  { policy, budget }: Trial,
  counter: Counter,
): { readonly projection?: Projection<unknown>; readonly needed?: number } {
  try {
    const projection = project(messages, policy, {
      format: detection.format,
      frame,
      tokens: counter,
      ...(budget === undefined ? {} : { budget }),
    })
    return { projection }
  } catch (error) {
    if (!OrielError.is(error, 'cannot-project')) throw error
    const needed = error.details?.needed
    return typeof needed === 'number' ? { needed } : {}
  }
}
