// Prices of cached and uncached input, cache lifetimes and context windows, by provider and model.

import { assertOptions, type OptionNames } from '../core/log/options.ts'
import {
  type CacheRules,
  modelRules,
  type Prices,
  providerRules,
  tableDay,
  unknownProvider,
} from './cache-rules.ts'
import { catalogueDay, findInCatalogue } from './catalogue.ts'

export type { Prices }

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

/** The providers whose caches are known. */
export const priceProviders: readonly string[] = Object.keys(providerRules)

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
    providerRules[provider] ?? unknownProvider
  const row = modelRules.find(
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

function findModel(model: string, provider: string | undefined, at: Date): Found | undefined {
  const known = findInCatalogue({ model, provider, at })
  if (known === undefined) return undefined
  const { input, output, contextWindow } = known
  const share = (dollars: number | undefined): number | undefined =>
    dollars === undefined || input === undefined || input === 0
      ? undefined
      : Math.round((dollars / input) * 1e6) / 1e6
  const read = share(known.read)
  const write = share(known.write)
  const longWrite = share(known.longWrite) ?? write
  const both = read === undefined ? {} : { read }
  return {
    provider: known.provider,
    model: known.model,
    short: { ...both, ...(write === undefined ? {} : { write }) },
    long: { ...both, ...(longWrite === undefined ? {} : { write: longWrite }) },
    limits: {
      ...(contextWindow === undefined ? {} : { contextWindow }),
      ...(input === undefined ? {} : { inputDollars: input }),
      ...(output === undefined ? {} : { outputDollars: output }),
    },
  }
}
