// Which values stand in which texts of one conversation, each looked up once.

import { indexOfValue, plain } from './values.ts'

/** Remembers for each text what was found in it: replays under several policies ask the same again and again. */
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

  /** A text as values are looked for in it. */
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
