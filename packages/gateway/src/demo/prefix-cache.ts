// A provider's prompt cache, as a model of it: what an earlier request began with is read, the rest is written.

import type { JsonObject, WireFormat } from 'oriel'
import { type Counter, resolveCounter } from 'oriel'
import { messagesOf } from './wire.ts'

/** How many requests are remembered. */
const remembered = 256

export interface Counted {
  readonly input: number
  /** Tokens of the longest beginning that an earlier request had too. */
  readonly cached: number
}

interface Unit {
  readonly text: string
  readonly tokens: number
}

/** Remembers what was asked, in units of whole messages. A request counts as cached only after it was kept. */
export class PrefixCache {
  readonly #kept: (readonly Unit[])[] = []
  readonly #counter: Counter

  constructor(counter: Counter = resolveCounter('estimate')) {
    this.#counter = counter
  }

  /** Counts a request against the ones before it and remembers it. */
  count(format: WireFormat, body: JsonObject): Counted {
    const units = this.#unitsOf(format, body)
    const cached = this.#kept.reduce((most, kept) => Math.max(most, sharedTokens(kept, units)), 0)
    this.#kept.push(units)
    if (this.#kept.length > remembered) this.#kept.shift()
    return { input: sum(units), cached }
  }

  /** Counts a request and remembers nothing. */
  weigh(format: WireFormat, body: JsonObject): number {
    return sum(this.#unitsOf(format, body))
  }

  /** In the order in which providers cache: tools, system, messages. Cache markers are no content. */
  #unitsOf(format: WireFormat, body: JsonObject): readonly Unit[] {
    const { model = null, tools = null, system = null, instructions = null } = body
    const values = [[model, tools], [system, instructions], ...messagesOf(format, body)]
    return values.map((value) => {
      const text = JSON.stringify(value, (key, inner) =>
        key === 'cache_control' ? undefined : inner,
      )
      return { text, tokens: this.#counter.count(text) }
    })
  }
}

function sharedTokens(kept: readonly Unit[], units: readonly Unit[]): number {
  let tokens = 0
  for (const [index, unit] of units.entries()) {
    if (kept[index]?.text !== unit.text) break
    tokens += unit.tokens
  }
  return tokens
}

function sum(units: readonly Unit[]): number {
  return units.reduce((total, { tokens }) => total + tokens, 0)
}
