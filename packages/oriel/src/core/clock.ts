// When steps and turns began, as far as the messages that mark them are visible.

import type { State } from './state.ts'
import { startsTurn } from './turns.ts'

export interface Clock {
  /** The seq of a step's assistant message. */
  readonly steps: ReadonlyMap<number, number>
  /** The seq of a turn's user message. */
  readonly turns: ReadonlyMap<number, number>
}

export function clockOf(state: State): Clock {
  const steps = new Map<number, number>()
  const turns = new Map<number, number>()
  for (const { entry } of state.visible) {
    if (entry.role === 'assistant') steps.set(entry.step, entry.seq)
    else if (startsTurn(entry)) turns.set(entry.turn, entry.seq)
  }
  return { steps, turns }
}
