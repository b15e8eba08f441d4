// The provider's cache as a thread knows it: what was sent, what it costs, and when it was lost.

import type { EditEntry, RecordedBreak, UsageEntry } from '../../core/log/entry.ts'
import { wrongOption } from '../../core/log/errors.ts'
import { assertOptions, isNearly, type OptionNames } from '../../core/log/options.ts'
import { settings } from '../../core/log/settings.ts'
import { seqsOf } from '../../core/state/edits.ts'
import { nearestName } from '../../core/text/nearest-name.ts'
import type { CacheState } from '../../schedule/cache-aware.ts'
import {
  lookupPrices,
  type Prices,
  type PricesQuery,
  priceProviders,
} from '../../schedule/prices.ts'
import type { FieldsOf } from '../events.ts'
import type { EntryBody, Journal } from '../journal/journal.ts'
import { breakOf, cacheOf, unkeptIn } from './lanes.ts'
import type { Usage } from './read-usage.ts'
import type { ViewRequest } from './view.ts'

/** A provider's name, what to look up, or numbers that stand over what is known. */
export type PricesOption = string | (PricesQuery & Partial<Prices>)

const pricesOptions: OptionNames<PricesQuery & Partial<Prices>> = {
  provider: true,
  model: true,
  life: true,
  at: true,
  read: true,
  write: true,
  ttlMs: true,
  coldMs: true,
  minimumTokens: true,
  contextWindow: true,
  inputDollars: true,
  outputDollars: true,
  asOf: true,
}

/** Rejects prices with other fields, and a provider's name that is nearly one of ours. */
export function assertPrices(prices: PricesOption | undefined): void {
  if (prices === undefined) return
  const provider = typeof prices === 'string' ? prices : prices.provider
  if (typeof prices !== 'string') assertOptions(prices, pricesOptions, 'openThread', 'prices')
  if (provider === undefined || !isNearly(provider, priceProviders)) return
  throw wrongOption('prices', `a provider's name, such as ${nearestName(provider, priceProviders)}`)
}

/** What is known of a model: what was given stands over what can be looked up. */
export function pricesOf(option: PricesOption | undefined, model: string | undefined): Prices {
  const query = model === undefined || model === '' ? {} : { model }
  if (option === undefined) return lookupPrices(query)
  const own = typeof option === 'string' ? { provider: option } : option
  const { provider, model: named = model, life, at } = own
  const asked = Object.entries({ provider, model: named, life, at }).filter(([, value]) => value)
  return { ...lookupPrices(Object.fromEntries(asked)), ...own }
}

/** What a cache-aware schedule must know for a view; under another one, only the host's own numbers, for the limit of checkpoints. */
export function cacheFor(
  journal: Journal,
  around: Pick<ViewRequest, 'options' | 'framing' | 'now' | 'policy'>,
  { prices }: { readonly prices?: PricesOption | undefined },
): Partial<Pick<ViewRequest, 'cache' | 'prices'>> {
  const { options, policy } = around
  if (policy.schedule !== 'cache-aware') {
    const isAsked = prices !== undefined && policy.compaction !== undefined
    return isAsked ? { prices: pricesOf(prices, options.model) } : {}
  }
  return {
    cache: () => cacheStateOf(journal, around),
    prices: pricesOf(prices, options.model),
  }
}

function cacheStateOf(
  { state, facts }: Journal,
  { options, framing, now }: Pick<ViewRequest, 'options' | 'framing' | 'now'>,
): CacheState {
  const { format = 'openai-chat', model = '' } = options
  const { lanes = [] } = facts
  const cache = cacheOf(lanes, { format, model, frameHash: framing.hash }, { state, now })
  const newest = state.visible.at(-1)?.entry.seq ?? 0
  // Nothing was said since the newest request: it is asked for again, and must come out the same.
  const isRetry = cache.sent !== undefined && newest < cache.sent
  return isRetry ? { ...cache, idleMs: 0 } : cache
}

/** The provider's numbers for a view as an entry, with what they say about its cache. */
export function usageEntry(
  journal: Journal,
  { sample, view }: { readonly sample: Usage; readonly view: string },
  prices: PricesOption | undefined,
): EntryBody<UsageEntry> {
  const broken = brokenBy(journal, sample, view, prices)
  const entry = { type: 'usage', view, sample: { ...sample } } as const
  return broken === undefined ? entry : { ...entry, broken }
}

/** The event for an entry that says that the provider's cache did not hold what it should have. */
export function cacheBroken({
  broken,
}: Pick<UsageEntry, 'broken'>): FieldsOf<'cache-broken'> | undefined {
  if (broken === undefined) return undefined
  return {
    message: `${broken.lost} tokens were not in the provider's cache: ${broken.cause}${broken.told === undefined ? '' : ` (the provider says ${broken.told})`}.`,
    reason: broken.cause,
    tokensLost: broken.lost,
    ...(broken.first === undefined ? {} : { id: broken.first }),
  }
}

function brokenBy(
  journal: Journal,
  usage: Usage,
  view: string,
  option: PricesOption | undefined,
): RecordedBreak | undefined {
  const lane = journal.facts.lanes?.findLast((one) => one.view === view)
  const { before } = lane ?? {}
  if (lane === undefined || before === undefined) return undefined
  const { uncached, cacheRead, cacheWrite } = usage
  const measured = { input: uncached + cacheRead + cacheWrite, cacheRead, cacheWrite }
  const { newestChange } = journal.facts
  const found = breakOf({ ...lane, before }, measured, {
    prices: pricesOf(option, lane.model),
    hasEdits: newestChange > before.seq,
    told: usage.miss,
    frame: (hash) => journal.setting(settings.frame.at(hash)),
  })
  if (found === undefined) return undefined
  if (found.cause !== 'edit') return found
  const edits = [...editsBetween(journal, before.seq, lane.seq)]
  const first = firstChanged(journal, edits, unkeptIn({ ...lane, before }))
  return { ...found, ...(first === undefined ? {} : { first }) }
}

function* editsBetween(journal: Journal, from: number, to: number): Generator<EditEntry> {
  for (const edit of journal.state.liveEdits()) {
    if (edit.seq > from && edit.seq < to) yield edit
  }
}

/** The id of the first block that edits changed, or that was shown in a form which is not kept. */
function firstChanged(
  journal: Journal,
  edits: readonly EditEntry[],
  unkept: number | undefined,
): string | undefined {
  let first = unkept === undefined ? undefined : { seq: unkept, block: 0 }
  for (const edit of edits) {
    const { target } = edit
    const [seq] = 'seq' in target ? [target.seq] : seqsOf(edit)
    const block = 'seq' in target ? target.block : 0
    if (seq !== undefined && (first === undefined || seq < first.seq)) first = { seq, block }
  }
  return first === undefined ? undefined : journal.state.blockIdAt(first)
}
