// Options of `oriel simulate`.

import { type FormatName, formatNames, OrielError } from 'oriel'
import { lookupPrices, type NamedPolicy, type Prices, priceProviders } from 'oriel/simulate'
import { type RawOptions, readCount, single } from '../inspect/settings.ts'
import { choice, didYouMean } from '../names.ts'
import { readPolicy } from '../policy-option.ts'
import { type Condition, readCondition } from './condition.ts'

export interface SimulateSettings {
  readonly policies: readonly NamedPolicy[]
  readonly prices: Prices
  readonly format?: FormatName
  readonly budget?: number
  readonly rules: number
  readonly summarizer: boolean
  readonly tokens: 'estimate' | 'o200k'
  readonly workers?: number
  readonly html?: string
  readonly isJson: boolean
  readonly failIf?: Condition
}

/** Rules stated in each conversation by default. */
const statedRules = 10

/** Policies compared by default. */
const defaultPolicies: readonly string[] = [
  'recommended',
  'placeholders',
  'compaction',
  'turn-expiry',
  'history-window',
]

/** The default model per provider, for prices. */
const usualModels: Readonly<Record<string, string>> = {
  anthropic: 'claude-sonnet-4-6',
  openai: 'gpt-5.6-terra',
  google: 'gemini-2.5-pro',
  deepseek: 'deepseek-v4-flash',
  mistral: 'mistral-large-latest',
}

export function readSimulateSettings(raw: RawOptions): SimulateSettings {
  const format = single(raw, 'format')
  const tokens = single(raw, 'tokens')
  const budget = readCount(raw, 'budget')
  const workers = readCount(raw, 'workers')
  const html = single(raw, 'html')
  const failIf = single(raw, 'failIf')
  return {
    policies: readPolicies(raw.policy),
    prices: readPrices(single(raw, 'prices'), raw.longCache === true),
    ...(format === undefined ? {} : { format: choice('format', format, formatNames) }),
    ...(budget === undefined ? {} : { budget }),
    tokens:
      tokens === undefined ? 'estimate' : choice('tokens', tokens, ['estimate', 'o200k'] as const),
    ...(workers === undefined ? {} : { workers }),
    ...(html === undefined ? {} : { html: String(html) }),
    rules: readCount(raw, 'rules', 0) ?? statedRules,
    summarizer: raw.summarizer === true,
    isJson: raw.json === true,
    ...(failIf === undefined ? {} : { failIf: readCondition(String(failIf)) }),
  }
}

function readPolicies(value: unknown): readonly NamedPolicy[] {
  const names = value === undefined ? defaultPolicies : [value].flat().map(String)
  return [...new Set(names)].map((name) => readPolicy(name))
}

/** `anthropic`, `claude-opus-5` or `anthropic/claude-opus-5`. */
export function readPrices(value?: string | number, isLong = false): Prices {
  const text = value === undefined ? 'anthropic' : String(value)
  const life = isLong ? ('long' as const) : ('short' as const)
  if (priceProviders.includes(text)) {
    const model = usualModels[text]
    return lookupPrices({ provider: text, life, ...(model === undefined ? {} : { model }) })
  }
  const [first = '', ...rest] = text.split('/')
  const hasProvider = priceProviders.includes(first) && rest.length > 0
  const model = hasProvider ? rest.join('/') : text
  const found = lookupPrices({ model, life, ...(hasProvider ? { provider: first } : {}) })
  if (found.model !== undefined) return found
  throw new OrielError(
    'invalid-option',
    `--prices: no provider or model is called '${text.slice(0, 60)}'${didYouMean(text, priceProviders)}; providers: ${priceProviders.join(', ')}; a model: anthropic/claude-opus-5.`,
  )
}
