// Originals shown again in their place, for a few steps: afterwards the form that was in force returns.

import type { Edit, MessageEntry } from '../log/entry.ts'
import { waitsFrom } from './reasoning.ts'
import type { State } from './state.ts'

/** The names that the tool for originals may have: the second where the first is taken by another tool. */
export const expandToolNames = ['expand_message', 'oriel_expand_message'] as const

export function isExpandTool(name: string): boolean {
  return (expandToolNames as readonly string[]).includes(name)
}

/** A block that is shown again. */
export interface ShownAgain {
  /** The last step whose request shows it. */
  readonly until: number
  /** The part of the original that is shown; absent for the whole. */
  readonly text?: string
  /** The log's length when it was asked for. */
  readonly since: number
}

/** The block's expansion, while it lasts. */
export type Expansions = (seq: number, block: number) => ShownAgain | undefined

/**
 * Expansions in force. One that ends inside an open tool loop with signed reasoning lasts as long as the loop: its end would change
 * what stands before that reasoning.
 */
export function expansionsOf(state: State): Expansions {
  if (!state.hasExpansions) return () => undefined
  const waits = waitsFrom(state)
  const step = waits === Infinity ? state.step : (state.item(waits)?.entry.step ?? state.step)
  return (seq, block) => {
    const found = state.expansion(seq, block)
    return found !== undefined && found.until >= step ? found : undefined
  }
}

/** Which messages show an original again: they stay as long as that lasts. */
export function shownAgainIn(state: State): (message: MessageEntry) => boolean {
  const expansionOf = expansionsOf(state)
  return ({ seq, blocks }) => blocks.some((_, block) => expansionOf(seq, block) !== undefined)
}

/** How an expansion appears in a trace; undefined for the whole original, which is simply full. */
export function asEdit(
  { text }: ShownAgain,
  target: { readonly seq: number; readonly block: number },
): Edit | undefined {
  if (text === undefined) return undefined
  const reason = 'a part was asked for again'
  return { rule: 'expand', form: 'clipped', target, text, reason, tokensBefore: 0, tokensAfter: 0 }
}
