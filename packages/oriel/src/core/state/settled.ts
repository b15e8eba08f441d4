// How far a rule is done with a log, so that it looks only at what changed since its last answer.

import type { Result } from './results.ts'
import type { State } from './state.ts'

/**
 * Everything up to a seq is settled for one rule and its settings: what the rule says about it is in force, or it says nothing and never
 * will, unless an edit, an undo or a mark touches those messages. It only saves work: forgetting it changes nothing.
 */
export class Settled {
  #seq = 0
  #touches = 0

  /** The seq up to which nothing has to be looked at. */
  upTo(state: State): number {
    const touched = state.touchedSince(this.#touches)
    this.#touches = state.touchCount
    if (touched <= this.#seq) this.#seq = Math.max(0, touched - 1)
    return this.#seq
  }

  /** Moves on over the oldest of these results, message by message, as long as the rule is done with them. */
  pass(results: readonly Result[], isDone: (result: Result) => boolean): void {
    let newest = 0
    for (const result of results) {
      const { seq } = result.item.entry
      if (newest !== seq) this.#seq = Math.max(this.#seq, newest)
      if (!isDone(result)) return
      newest = seq
    }
    this.#seq = Math.max(this.#seq, newest)
  }
}

/** What a rule with these settings is done with. */
export function settledBy(state: State, rule: string, settings: object): Settled {
  const { known } = state.derive(`settled:${rule}`, () => ({
    known: new WeakMap<object, Settled>(),
  }))
  const found = known.get(settings)
  if (found !== undefined) return found
  const settled = new Settled()
  known.set(settings, settled)
  return settled
}
