// Savings of policies on the next request of a conversation. Pure.

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

/** A policy to try. */
export interface Trial {
  readonly name: string
  readonly policy?: PolicyInput
  readonly budget?: number
}

export type Outcome =
  | {
      readonly type: 'fits'
      readonly tokens: number
      /** Blocks that are reduced or dropped; repairs are not counted. */
      readonly changes: readonly Change[]
    }
  | {
      /** No valid request fits the budget. */
      readonly type: 'cannot-project'
      /** Tokens that would be needed, if known. */
      readonly needed?: number
    }

/** The effect of one policy on all conversations. */
export interface Saving extends Trial {
  readonly tokensBefore: number
  /** A conversation that cannot be projected counts unchanged. */
  readonly tokensAfter: number
  readonly changedConversations: number
  /** Conversations without a valid request within the budget. */
  readonly cannotProject: number
  /** The smallest budget that would suffice for all, if known. */
  readonly needed?: number
  /** Changes by rule and form, and by reason; most tokens first. */
  readonly forms: readonly ChangeKind[]
  readonly reasons: readonly ChangeKind[]
}

export interface ChangeKind {
  readonly rule: string
  /** The form or the reason. */
  readonly what: string
  readonly count: number
  readonly savedTokens: number
}

/**
 * Windows in user turns: the range recommended by the history guide, and a short one for short
 * chats.
 */
const windows = [2, 5, 20] as const
/** Common context windows and fractions of them. */
const budgets = [128_000, 64_000, 32_000, 16_000, 8000, 4000] as const

/** The standard policies: windows, presets, and budgets (or only the given one). */
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

/** The request without a policy, repaired; undefined if there is no valid one. */
export function projectUnchanged(
  conversation: Conversation,
  counter: Counter,
): Projection<unknown> | undefined {
  return attempt(conversation, { name: 'none' }, counter).projection
}

/** Throws OrielError if the policy is invalid. */
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

/** Sums the effects of one policy. */
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
