// Memoized search for values in the texts of one conversation.

import { indexOfValue, plain } from './values.ts'

/** Caches results per text: replays under several policies repeat the same lookups. */
export class Sightings {
  readonly #texts = new Map<
    string,
    { readonly plain: string; readonly seen: Map<string, boolean> }
  >()

  has(text: string, value: string): boolean {
    const known = this.#text(text)
    let seen = known.seen.get(value)
    if (seen === undefined) {
      seen = known.plain.length >= value.length && indexOfValue(known.plain, value) !== -1
      known.seen.set(value, seen)
    }
    return seen
  }

  /** The normalized text in which values are searched. */
  plain(text: string): string {
    return this.#text(text).plain
  }

  #text(text: string): { readonly plain: string; readonly seen: Map<string, boolean> } {
    let known = this.#texts.get(text)
    if (known === undefined) {
      known = { plain: plain(text), seen: new Map() }
      this.#texts.set(text, known)
    }
    return known
  }
}
