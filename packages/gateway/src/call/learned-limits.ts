// The request lengths that upstreams have refused, by upstream and model: later views obey them at once, also after a restart.

import type { Store } from 'oriel'
import type { Background } from '../background.ts'

/** What a refusal taught. */
interface Learned {
  /** Tokens that a request may have, by the thread's counter. */
  readonly tokens: number
  /** When it was learned, in milliseconds since 1970. */
  readonly at: number
}

/** Limits change with models and servers: an older one is tried again. */
const lifetimeMs = 24 * 60 * 60 * 1000
/** Model names are the clients': the least recently learned are forgotten. */
const maxKnown = 1000

export class LearnedLimits {
  readonly #store: Store
  readonly #background: Background
  readonly #now: () => number
  readonly #known = new Map<string, Learned>()
  #loading: Promise<void> | undefined

  constructor(store: Store, background: Background, now: () => number) {
    this.#store = store
    this.#background = background
    this.#now = now
  }

  /** Loads what other processes and earlier runs have learned, once; undefined when that is done. Never rejects. */
  ready(): Promise<void> | undefined {
    if (this.#loading !== undefined) return this.#isLoaded ? undefined : this.#loading
    this.#loading = this.#background.run('learned-limits', () => this.#load())
    return this.#loading
  }

  #isLoaded = false

  async #load(): Promise<void> {
    try {
      const listed = (await this.#store.values?.list(place, { limit: maxKnown })) ?? []
      for (const { name, value } of listed) {
        if (isLearned(value) && !this.#known.has(name)) this.#known.set(name, value)
      }
    } finally {
      this.#isLoaded = true
    }
  }

  /** The most tokens that this upstream takes for this model; undefined where nothing was refused. */
  of(upstream: string, model: string): number | undefined {
    const learned = this.#known.get(keyOf(upstream, model))
    if (learned === undefined || this.#now() - learned.at > lifetimeMs) return undefined
    return learned.tokens
  }

  /** A request was accepted after a longer one was refused. */
  learn(upstream: string, model: string, tokens: number): void {
    const key = keyOf(upstream, model)
    const learned = { tokens, at: this.#now() }
    this.#known.delete(key)
    this.#known.set(key, learned)
    if (this.#known.size > maxKnown) this.#known.delete(this.#known.keys().next().value as string)
    this.#background.run('learned-limits', () => this.keep(key, learned))
  }

  /** Nothing fits the limit: it must be wrong. */
  forget(upstream: string, model: string): void {
    const key = keyOf(upstream, model)
    this.#known.delete(key)
    this.#background.run('learned-limits', () => this.keep(key, undefined))
  }

  /** Writes what was learned to the store, where it keeps values. */
  async keep(name: string, learned: Learned | undefined): Promise<void> {
    await this.#store.values?.put({ ...place, name }, learned && { ...learned })
  }
}

const place = { tenant: 'index:', space: 'learned-limits' } as const

function keyOf(upstream: string, model: string): string {
  return `${upstream}/${model}`.slice(0, 200)
}

function isLearned(value: unknown): value is Learned {
  if (typeof value !== 'object' || value === null) return false
  const { tokens, at } = value as Partial<Record<keyof Learned, unknown>>
  return typeof tokens === 'number' && tokens > 0 && typeof at === 'number'
}
