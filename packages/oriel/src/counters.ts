// Token counters by name.

import type { Counter } from './core/counter.ts'
import { estimate } from './core/estimate.ts'

export type TokensOption = 'estimate' | 'o200k' | Counter

export function resolveCounter(option: TokensOption | undefined): Counter {
  return typeof option === 'object' ? option : estimate
}
