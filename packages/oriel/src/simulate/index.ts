// Public API of `oriel/simulate`: replays of recorded conversations, judged by cost and by what the
// model could still see.

export type { Counter } from '../core/tokens/counter.ts'
export { lookupPrices, type Prices, type PricesQuery, priceProviders } from '../schedule/prices.ts'
export type { CachePrices } from './cost.ts'
export type { Fact, Need } from './facts.ts'
export type { Fate, Recover } from './fidelity.ts'
export type { FactCount, Judgement, LookupCount, Step } from './judge.ts'
export { type OptimumOptions, optimalCost } from './optimum.ts'
export type { Opened, RecordedMessage, Recording } from './recording.ts'
export {
  type CreateManager,
  type Manager,
  type Sent,
  type ThreadManagerOptions,
  threadManager,
  unmanaged,
} from './replay.ts'
export type { RulesKept } from './rules-kept.ts'
export {
  type NamedPolicy,
  type Outcome,
  type SimulateOptions,
  type Simulation,
  simulate,
} from './simulate.ts'
export { type JudgeAllOptions, judgeAll, type Studied, study } from './study.ts'
export type { SummaryCalls } from './summarizer.ts'
export { type Totals, totalsOf } from './totals.ts'
