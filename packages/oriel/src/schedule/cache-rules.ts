// How each provider's cache works, and what holds for some models only: shares, lifetimes, least sizes. Dated data.

/** One model's prices and limits. Shares are in units of an uncached input token. */
export interface Prices {
  readonly provider: string
  /** The catalogue's own name of the model; absent where only the provider is known. */
  readonly model?: string
  /** Share that a token read from the cache costs. */
  readonly read: number
  /** Share that a token costs which is not in the cache yet. */
  readonly write: number
  /** How long a prefix is cached at least after its last use, in milliseconds. */
  readonly ttlMs: number
  /** After this long without use a prefix is no longer cached, in milliseconds; between the two it may be. */
  readonly coldMs: number
  /** Shorter prefixes are not cached. */
  readonly minimumTokens: number
  /** Tokens that a request and its answer may have together. */
  readonly contextWindow?: number
  /** Dollars for a million uncached input tokens, below the first tier. */
  readonly inputDollars?: number
  /** Dollars for a million output tokens, below the first tier. */
  readonly outputDollars?: number
  /** The day that the numbers are from. */
  readonly asOf: string
}

/** The day on which the tables below were last compared with the providers' pages and reports of users. */
export const tableDay = '2026-11-16'

const second = 1000
const minute = 60 * second
const hour = 60 * minute

export type CacheRules = Pick<Prices, 'read' | 'write' | 'ttlMs' | 'coldMs' | 'minimumTokens'>

/** How each provider's cache works, where the catalogue does not say: shares of the current models, time to live, least size. */
export const providerRules: Readonly<
  Record<string, CacheRules & { readonly long?: Partial<CacheRules> }>
> = {
  anthropic: {
    read: 0.1,
    write: 1.25,
    ttlMs: 5 * minute,
    coldMs: 5 * minute,
    minimumTokens: 1024,
    long: { write: 2, ttlMs: hour, coldMs: hour },
  },
  // Kept for five to ten minutes, in quiet hours up to an hour. Models since GPT-5.6 charge for writing.
  openai: {
    read: 0.1,
    write: 1,
    ttlMs: 5 * minute,
    coldMs: hour,
    minimumTokens: 1024,
    long: { ttlMs: 24 * hour, coldMs: 24 * hour },
  },
  // Implicit caching promises nothing; explicit caches live for an hour unless told otherwise.
  google: {
    read: 0.1,
    write: 1,
    ttlMs: 3 * minute,
    coldMs: hour,
    minimumTokens: 1024,
    long: { ttlMs: hour, coldMs: hour },
  },
  deepseek: { read: 0.02, write: 1, ttlMs: hour, coldMs: 24 * hour, minimumTokens: 64 },
  mistral: { read: 0.1, write: 1, ttlMs: 5 * minute, coldMs: hour, minimumTokens: 1024 },
}

/** What holds for some models only. The first row that fits wins; later versions of a model have names that begin the same. */
export const modelRules: readonly {
  readonly provider: string
  readonly name: RegExp
  readonly rules: Partial<Omit<Prices, 'provider' | 'model' | 'asOf'>>
}[] = [
  {
    provider: 'anthropic',
    name: /^claude-(opus-4[-.]5|haiku-4[-.]5)/,
    rules: { minimumTokens: 4096 },
  },
  { provider: 'anthropic', name: /^claude-(3-haiku|3[-.]5-haiku)/, rules: { minimumTokens: 2048 } },
  { provider: 'openai', name: /^gpt-5[-.]6/, rules: { ttlMs: 30 * minute, coldMs: hour } },
  { provider: 'google', name: /^gemini-(2\.5|3)/, rules: { contextWindow: 1_048_576 } },
  // The demo's scripted model, at the price of a model of medium size, so that its pages have dollars to show.
  {
    provider: 'anthropic',
    name: /^oriel-demo$/,
    rules: { inputDollars: 3, outputDollars: 15 },
  },
]

/** What is assumed of a provider that nobody knows: a cache like Anthropic's. */
export const unknownProvider = providerRules.anthropic as CacheRules

const { read, write, ttlMs, coldMs, minimumTokens } = unknownProvider
/** The prices where neither provider nor model is known. */
export const usualPrices: Prices = {
  ...{ provider: 'anthropic', read, write, ttlMs, coldMs, minimumTokens },
  asOf: tableDay,
}
