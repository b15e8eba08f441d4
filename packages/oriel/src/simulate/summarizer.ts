// A simulated summarizer: answers without a model, and counts what its calls would have cost.

import type { Counter } from '../core/tokens/counter.ts'
import type { Prices } from '../schedule/prices.ts'
import type { Summarize } from '../thread/summaries/answer.ts'

export interface SummaryCalls {
  readonly calls: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** In base input tokens; the output at its own price. */
  readonly cost: number
}

/** Output costs this many times the input where the catalogue does not know the model. */
const usualOutputShare = 5

/** Counts the calls. Their input is billed as uncached: the least favourable case. */
export class SimulatedSummarizer {
  readonly #counter: Counter
  readonly #outputShare: number
  #calls = 0
  #input = 0
  #output = 0

  constructor(counter: Counter, { inputDollars, outputDollars }: Partial<Prices> = {}) {
    this.#counter = counter
    const isKnown = inputDollars !== undefined && inputDollars > 0 && outputDollars !== undefined
    this.#outputShare = isKnown ? outputDollars / inputDollars : usualOutputShare
  }

  /** The first and the last part of the text, as long as was asked for. */
  readonly summarize: Summarize = ({ text, prompt, targetChars }) => {
    const half = Math.floor(targetChars / 2)
    const summary =
      text.length <= targetChars ? text : `${text.slice(0, half)}\n${text.slice(-half)}`
    const answer = summary.toWellFormed()
    this.#calls += 1
    this.#input += this.#counter.count(prompt) + this.#counter.count(text)
    this.#output += this.#counter.count(answer)
    return Promise.resolve(answer)
  }

  total(): SummaryCalls {
    return {
      calls: this.#calls,
      inputTokens: this.#input,
      outputTokens: this.#output,
      cost: this.#input + this.#outputShare * this.#output,
    }
  }
}
