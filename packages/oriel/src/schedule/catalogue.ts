// The catalogue of models: which provider has one, its context window and its prices in dollars for a million tokens. Dated data.

import { catalogueText } from './catalogue-data.ts'
import { withSplitDate } from './split-date.ts'

/** The day of the catalogue's version in package.json. */
export const catalogueDay = '2026-09-23'

/** What the catalogue knows of a model. Prices are those below the first tier. */
export interface CatalogueModel {
  readonly provider: string
  readonly model: string
  readonly contextWindow: number | undefined
  readonly input: number | undefined
  readonly output: number | undefined
  readonly read: number | undefined
  readonly write: number | undefined
  /** Writing to a cache that lives longer. */
  readonly longWrite: number | undefined
}

interface Query {
  readonly model: string
  readonly provider: string | undefined
  readonly at: Date
}

/** The model by its name, of the provider that is named or else of the first one whose models have such names. */
export function findInCatalogue({ model, provider: named, at }: Query): CatalogueModel | undefined {
  providers ??= (JSON.parse(catalogueText) as readonly ProviderRow[]).map(readProvider)
  const asked = routed(model.toLowerCase().trim(), named)
  const provider = providerFor(asked)
  if (provider === undefined) return undefined
  const found =
    modelIn(provider, asked.model) ?? modelIn(provider, withSplitDate(asked.model), asked.model)
  if (found === undefined) return undefined
  const [input, output, read, write, longWrite] = pricesAt(found.prices, at).map(
    (price) => price ?? undefined,
  )
  return {
    provider: provider.id,
    model: found.id,
    contextWindow: found.window === 0 ? undefined : found.window,
    ...{ input, output, read, write, longWrite },
  }
}

/** Prices by position: input, output, read, write, write for a longer life. */
type PriceRow = readonly (number | null)[]
/** Prices that hold from a day (`2026-05-01`) or between two times of day (`00:30:00Z/16:30:00Z`); '' = always. */
type DatedPrices = readonly (readonly [since: string, prices: PriceRow])[]
type ModelRow = readonly [
  id: string,
  pattern: string | 0,
  window: number,
  prices: PriceRow | DatedPrices,
]
type ProviderRow = readonly [
  id: string,
  modelPattern: string | 0,
  providerPattern: string | 0,
  fallbacks: readonly string[] | 0,
  models: readonly ModelRow[],
]

interface Model {
  readonly id: string
  readonly fits: (name: string) => boolean
  readonly window: number
  readonly prices: PriceRow | DatedPrices
}

interface Provider {
  readonly id: string
  readonly hasModel: (name: string) => boolean
  readonly isNamed: (name: string) => boolean
  readonly fallbacks: readonly string[]
  readonly models: readonly Model[]
}

let providers: readonly Provider[] | undefined

function readProvider([id, ofModels, ofProvider, fallbacks, models]: ProviderRow): Provider {
  return {
    id,
    hasModel: fitting(ofModels),
    isNamed: fitting(ofProvider),
    fallbacks: fallbacks === 0 ? [] : fallbacks,
    models: models.map(([name, pattern, window, prices]) => ({
      id: name,
      fits: pattern === 0 ? equals(name.toLowerCase()) : fitting(pattern),
      ...{ window, prices },
    })),
  }
}

/** Compiled at the first question, since most patterns are never asked. */
function fitting(pattern: string | 0): (name: string) => boolean {
  if (pattern === 0) return () => false
  let compiled: RegExp | undefined
  return (name) => {
    compiled ??= new RegExp(pattern)
    return compiled.test(name)
  }
}

function equals(known: string): (name: string) => boolean {
  return (name) => name === known
}

interface Asked {
  readonly model: string
  readonly provider: string | undefined
}

/** LiteLLM names a provider in front of the model. */
function routed(model: string, provider: string | undefined): Asked {
  const slash = model.indexOf('/')
  if (provider?.toLowerCase() !== 'litellm' || slash < 1 || slash === model.length - 1) {
    return { model, provider }
  }
  const named = model.slice(0, slash)
  return providerNamed(named) === undefined
    ? { model, provider }
    : { model: model.slice(slash + 1), provider: named }
}

function providerFor({ model, provider }: Asked): Provider | undefined {
  const named = provider === undefined || provider === '' ? undefined : providerNamed(provider)
  const mustBeNamed =
    provider !== undefined && provider !== '' && provider.toLowerCase() !== 'litellm'
  return named ?? (mustBeNamed ? undefined : providers?.find(({ hasModel }) => hasModel(model)))
}

function providerNamed(name: string): Provider | undefined {
  const known = name.toLowerCase().trim()
  return (
    providers?.find(({ id }) => id === known) ?? providers?.find(({ isNamed }) => isNamed(known))
  )
}

/** The first model that fits, of the provider or else of those whose models it resells. */
function modelIn(provider: Provider, name: string, before?: string): Model | undefined {
  if (name === before) return undefined
  const sellers = provider.fallbacks.map((id) => providers?.find((one) => one.id === id))
  for (const seller of [provider, ...sellers]) {
    const found = seller?.models.find(({ fits }) => fits(name))
    if (found !== undefined) return found
  }
  return undefined
}

function pricesAt(prices: PriceRow | DatedPrices, at: Date): PriceRow {
  if (!isDated(prices)) return prices
  const holds = prices.findLast(([since]) => isSince(since, at)) ?? prices[0]
  return holds?.[1] ?? []
}

function isDated(prices: PriceRow | DatedPrices): prices is DatedPrices {
  return Array.isArray(prices[0])
}

function isSince(since: string, at: Date): boolean {
  if (!since.includes('/')) return since === '' || at >= new Date(since)
  const [from = 0, to = 0] = since.split('/').map(secondsOf)
  const now = (at.getTime() % 86_400_000) / 1000
  return to < from ? now >= from || now < to : now >= from && now < to
}

/** `16:30:00Z` in seconds. */
function secondsOf(time: string): number {
  const [hours = 0, minutes = 0, seconds = 0] = time.replace('Z', '').split(':').map(Number)
  return hours * 3600 + minutes * 60 + seconds
}
