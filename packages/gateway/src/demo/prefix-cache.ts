// A provider's prompt cache, as a model of it: what an earlier request began with is read, the rest is written.

import { type Counter, type JsonObject, resolveCounter } from 'oriel'
import type { Provider } from 'oriel/providers'

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
  count(provider: Provider, body: JsonObject): Counted {
    const units = this.#unitsOf(provider, body)
    const cached = this.#kept.reduce((most, kept) => Math.max(most, sharedTokens(kept, units)), 0)
    this.#kept.push(units)
    if (this.#kept.length > remembered) this.#kept.shift()
    return { input: sum(units), cached }
  }

  /** Counts a request and remembers nothing. */
  weigh(provider: Provider, body: JsonObject): number {
    return sum(this.#unitsOf(provider, body))
  }

  /** In the order in which providers cache: tools, system, messages. Cache marks are no content. */
  #unitsOf({ request, fields, tools, cacheMarks }: Provider, body: JsonObject): readonly Unit[] {
    const around = [body.model ?? null, body[tools.listKey] ?? null]
    const values = [around, body[fields.system] ?? null, ...request.list(body)]
    return values.map((value) => {
      const text = JSON.stringify(value, (key, inner) =>
        key === cacheMarks?.key ? undefined : inner,
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
