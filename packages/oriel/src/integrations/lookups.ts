// The model's lookups within one call of an application: how many rounds, how much of the originals, and what it reads where that is over.

import { resolveCounter } from '../counters.ts'
import type { OwnCall } from '../providers/provider.ts'
import { type LookupTool, lookupRoom } from '../thread/expand/lookups.ts'

/** Rounds in which the model may look up originals; then it must continue without. As in the gateway. */
const maxRounds = 4
/** Time after the first round in which another may start. */
const maxMs = 120_000
/** What the results of one call have together: one original as long as it is ever given, with the words around it. */
const maxCharacters = 201_000

const enough =
  '\n[This was the last expansion for this answer. Do not expand more; go on with what you have.]'
const tooMany = 'Not expanded: no more expansions for this answer. Go on with what you have.'
const brokenOff = 'Not expanded: the call was cut off.'
const tooMuch = 'Not expanded: too much at once; ask for lines or a query.'

const counter = resolveCounter('estimate')

export interface LookupResult {
  readonly id: string
  readonly name: string
  readonly text: string
}

/** Why an answer with lookups is the last one: other tools are called too, it broke off, or it is enough. */
export type LastRound = 'mixed' | 'cut' | 'enough'

export class Lookups {
  readonly #model: string | undefined
  #rounds = 0
  #since = 0
  #characters = maxCharacters

  constructor(model: string | undefined) {
    this.#model = model
  }

  /** Whether the application has not seen a round. */
  get isHidden(): boolean {
    return this.#rounds > 0
  }

  /** Why an answer must be the last one; undefined where another round may begin. */
  last(answer: { readonly hasOthers: boolean; readonly isCut: boolean }): LastRound | undefined {
    if (answer.isCut) return 'cut'
    if (answer.hasOthers) return 'mixed'
    return this.#isEnough ? 'enough' : undefined
  }

  get #isEnough(): boolean {
    return this.#rounds >= maxRounds || (this.#rounds > 0 && Date.now() - this.#since >= maxMs)
  }

  /** Begins a round that the application does not see. */
  begin(): void {
    if (this.#rounds === 0) this.#since = Date.now()
    this.#rounds += 1
  }

  /** The results of an answer's lookups, within the bounds. */
  async results(
    tool: LookupTool,
    calls: readonly OwnCall[],
    { usedTokens, why }: { readonly usedTokens: number; readonly why?: LastRound | undefined },
  ): Promise<readonly LookupResult[]> {
    if (why === 'cut') return calls.map(({ id, name }) => ({ id, name, text: brokenOff }))
    if (why === 'enough') return calls.map(({ id, name }) => ({ id, name, text: tooMany }))
    const note = why === undefined && this.#isEnough ? enough : ''
    let tokens = lookupRoom({ model: this.#model, usedTokens })
    const results: LookupResult[] = []
    for (const { id, name, input } of calls) {
      const found = await tool.handle({ name, input })
      const isFitting = found.length <= this.#characters && counter.count(found) <= tokens
      const text = isFitting ? found : tooMuch
      this.#characters -= text.length
      tokens -= counter.count(text)
      results.push({ id, name, text: text + note })
    }
    return results
  }
}
