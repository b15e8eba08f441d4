// Prices of cached and uncached input, cache lifetimes and context windows, by provider and model. Dated data.

import { createRequire } from 'node:module'
import type { calcPrice } from '@pydantic/genai-prices'
import { assertOptions, type OptionNames } from '../core/log/options.ts'

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

export interface PricesQuery {
  /** The provider's name, as in `priceProviders`. @default the one that is known to have the model, else 'anthropic' */
  readonly provider?: string
  /** @default the provider's usual shares */
  readonly model?: string
  /** Some providers sell a longer life of the cache for a higher price of writing. @default 'short' */
  readonly life?: 'short' | 'long'
  /** The moment whose prices count, in milliseconds since 1970. @default the catalogue's own day, at noon */
  readonly at?: number
}

/** The day of the catalogue's version in package.json. */
const catalogueDay = '2026-09-23'
/** The day on which the tables below were last compared with the providers' pages and reports of users. */
const tableDay = '2026-11-16'

const second = 1000
const minute = 60 * second
const hour = 60 * minute

type CacheRules = Pick<Prices, 'read' | 'write' | 'ttlMs' | 'coldMs' | 'minimumTokens'>

/** How each provider's cache works, where the catalogue does not say: shares of the current models, time to live, least size. */
const providers: Readonly<Record<string, CacheRules & { readonly long?: Partial<CacheRules> }>> = {
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
const models: readonly {
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

/** The providers whose caches are known. */
export const priceProviders: readonly string[] = Object.keys(providers)

/** What is assumed of a provider that nobody knows: a cache like Anthropic's. */
const unknownProvider = providers.anthropic as CacheRules

const priceOptions: OptionNames<PricesQuery> = { provider: true, model: true, life: true, at: true }

/**
 * Prices and limits: from the catalogue where it knows the model, else from the tables here, else what holds for most. Never fails:
 * `inputDollars` and `contextWindow` are missing where nobody knows them. Pure: the same query gives the same answer.
 */
export function lookupPrices(query: PricesQuery = {}): Prices {
  assertOptions(query, priceOptions, 'lookupPrices')
  const { provider, model, life, at } = query
  const isPlain = provider === undefined && life === undefined && at === undefined
  const remembered = isPlain ? rememberedModels : rememberedQueries
  const key = isPlain ? model : JSON.stringify([provider, model, life, at])
  const known = remembered.get(key)
  if (known !== undefined) return known
  const prices = findPrices(query)
  if (remembered.size >= maxRemembered) remembered.clear()
  remembered.set(key, prices)
  return prices
}

/** Looking through the catalogue takes longer than a view. */
const rememberedQueries = new Map<string | undefined, Prices>()
/** Nearly always only a model is asked for. */
const rememberedModels = new Map<string | undefined, Prices>()
const maxRemembered = 1000

function findPrices(query: PricesQuery): Prices {
  const { model, life = 'short', at = Date.parse(`${catalogueDay}T12:00:00Z`) } = query
  const found = model === undefined ? undefined : findModel(model, query.provider, new Date(at))
  const provider = query.provider ?? found?.provider ?? 'anthropic'
  const { long, ...rules }: CacheRules & { readonly long?: Partial<CacheRules> } =
    providers[provider] ?? unknownProvider
  const row = models.find(
    (one) => one.provider === provider && model !== undefined && one.name.test(model),
  )
  const prices = { ...rules, ...found?.[life], ...row?.rules, ...(life === 'long' ? long : {}) }
  return {
    provider,
    ...(found === undefined ? {} : { model: found.model }),
    ...prices,
    ...found?.limits,
    // The catalogue's own price of a long life is nearer to the truth than the table's.
    ...(life === 'long' && found?.long.write !== undefined ? { write: found.long.write } : {}),
    asOf: found === undefined ? tableDay : catalogueDay,
  }
}

interface Found {
  readonly provider: string
  readonly model: string
  readonly short: Partial<CacheRules>
  readonly long: Partial<CacheRules>
  readonly limits: Pick<Prices, 'contextWindow' | 'inputDollars' | 'outputDollars'>
}

function findModel(
  model: string,
  provider: string | undefined,
  timestamp: Date,
): Found | undefined {
  catalogue ??= loadCatalogue()
  const options = { timestamp, ...(provider === undefined ? {} : { providerId: provider }) }
  const result = catalogue.calcPrice({ input_tokens: 1 }, model, options)
  if (result === null) return undefined
  const price = (key: string): number | undefined => basePrice(result.model_price[key])
  const input = price('input_mtok')
  const output = price('output_mtok')
  const share = (key: string): number | undefined => {
    const dollars = price(key)
    return dollars === undefined || input === undefined || input === 0
      ? undefined
      : Math.round((dollars / input) * 1e6) / 1e6
  }
  const read = share('cache_read_mtok')
  const write = share('cache_write_mtok')
  const longWrite = share('cache_write_1h_mtok') ?? write
  const { context_window: contextWindow } = result.model
  const both = read === undefined ? {} : { read }
  return {
    provider: result.provider.id,
    model: result.model.id,
    short: { ...both, ...(write === undefined ? {} : { write }) },
    long: { ...both, ...(longWrite === undefined ? {} : { write: longWrite }) },
    limits: {
      ...(contextWindow === undefined ? {} : { contextWindow }),
      ...(input === undefined ? {} : { inputDollars: input }),
      ...(output === undefined ? {} : { outputDollars: output }),
    },
  }
}

/** A price below the first tier. */
function basePrice(price: unknown): number | undefined {
  if (typeof price === 'number') return price
  if (typeof price !== 'object' || price === null || !('base' in price)) return undefined
  return typeof price.base === 'number' ? price.base : undefined
}

/** What we use of @pydantic/genai-prices. */
interface Catalogue {
  readonly calcPrice: typeof calcPrice
}

let catalogue: Catalogue | undefined

/** Loaded at the first question for a model (about 60 ms), synchronously, because the schedule is pure. */
function loadCatalogue(): Catalogue {
  return createRequire(import.meta.url)('@pydantic/genai-prices') as Catalogue
}
