// Fidelity: how many of the facts an agent needed at a step were visible in its request.

import type { Fact } from './facts.ts'
import type { Piece } from './pieces.ts'
import type { Opened, RecordedMessage } from './recording.ts'
import type { Sightings } from './sightings.ts'
import { indexOfValue } from './values.ts'

/**
 * - `anchored`: visible verbatim, or rewritten with words that were beside it
 * - `bare`: visible only in rewritten text, without its words
 * - `recoverable`: not visible, but in a text whose id the request prints
 * - `lost`: none of these
 */
export type Fate = 'anchored' | 'bare' | 'recoverable' | 'lost'

/** Words on each side of a value that count as its neighbours. */
const reach = 6
/** Neighbours that must survive with it. */
const wanted = 2

/** True if expanding the ids in a rewritten text yields the value. */
export type Recover = (text: string, value: string) => boolean | Promise<boolean>

export class Witness {
  readonly #recording: Opened
  readonly #sightings: Sightings
  readonly #original = new Set<string>()
  readonly #neighbours = new Map<string, readonly (readonly string[])[]>()

  constructor(recording: Opened, sightings: Sightings) {
    this.#recording = recording
    this.#sightings = sightings
    for (const { texts } of recording.recorded) for (const text of texts) this.#original.add(text)
  }

  /** Classifies each fact in a request. `until` is the index of the answer that needs them. */
  async fates(
    facts: readonly Fact[],
    pieces: readonly Piece[],
    { until, recover }: { readonly until: number; readonly recover?: Recover },
  ): Promise<readonly Fate[]> {
    if (facts.length === 0) return []
    const full: string[] = []
    const rewritten: string[] = []
    for (let index = pieces.length - 1; index >= 0; index--) {
      for (const text of (pieces[index] as Piece).texts) {
        if (this.#original.has(text)) full.push(text)
        else rewritten.push(text)
      }
    }
    const fates: Fate[] = []
    for (const fact of facts) {
      const has = (text: string): boolean => this.#sightings.has(text, fact.value)
      if (full.some(has)) {
        fates.push('anchored')
        continue
      }
      const seen = rewritten.filter(has)
      if (seen.length === 0) {
        fates.push((await isRecoverable(rewritten, fact, recover)) ? 'recoverable' : 'lost')
      } else {
        fates.push(seen.some((text) => this.#isAnchored(text, fact, until)) ? 'anchored' : 'bare')
      }
    }
    return fates
  }

  /** True if enough neighbours of the value, from any of its original lines, are beside it here. */
  #isAnchored(text: string, { value }: Fact, until: number): boolean {
    const here = this.#sightings.plain(text)
    const lines: string[] = []
    for (let at = indexOfValue(here, value); at !== -1; at = indexOfValue(here, value, at + 1)) {
      lines.push(lineAt(here, at))
    }
    const words = lines.map((line) => new Set(wordsOf(line)))
    return this.#neighboursOf(value, until).some((neighbours) => {
      const enough = Math.min(wanted, neighbours.length)
      return words.some((own) => neighbours.filter((word) => own.has(word)).length >= enough)
    })
  }

  /** The words around a value, one list per earlier occurrence. */
  #neighboursOf(value: string, until: number): readonly (readonly string[])[] {
    const key = `${until}:${value}`
    const known = this.#neighbours.get(key)
    if (known !== undefined) return known
    const found: (readonly string[])[] = []
    for (let position = 0; position < until; position++) {
      const { texts } = this.#recording.recorded[position] as RecordedMessage
      for (const text of texts) {
        if (!this.#sightings.has(text, value)) continue
        const whole = this.#sightings.plain(text)
        for (
          let at = indexOfValue(whole, value);
          at !== -1;
          at = indexOfValue(whole, value, at + value.length)
        ) {
          found.push(neighboursAt(whole, at, value.length))
        }
      }
    }
    this.#neighbours.set(key, found)
    return found
  }
}

function neighboursAt(text: string, at: number, length: number): readonly string[] {
  const from = text.lastIndexOf('\n', at - 1) + 1
  const end = text.indexOf('\n', at)
  // JSON lines can be megabytes; neighbours are near.
  const before = text.slice(Math.max(from, at - 300), at)
  const after = text.slice(at + length, Math.min(end === -1 ? text.length : end, at + length + 300))
  return [...new Set([...wordsOf(before).slice(-reach), ...wordsOf(after).slice(0, reach)])]
}

function lineAt(text: string, at: number): string {
  const end = text.indexOf('\n', at)
  return text.slice(text.lastIndexOf('\n', at - 1) + 1, end === -1 ? text.length : end)
}

function wordsOf(text: string): readonly string[] {
  return text.match(/\w+/g) ?? []
}

async function isRecoverable(
  rewritten: readonly string[],
  { value }: Fact,
  recover: Recover | undefined,
): Promise<boolean> {
  if (recover === undefined) return false
  for (const text of rewritten) if (await recover(text, value)) return true
  return false
}
