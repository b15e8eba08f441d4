// The subpath `oriel/o200k`: the exact counter with its encoding, for bundled programs and browsers. Needs gpt-tokenizer.

import * as encoding from 'gpt-tokenizer/encoding/o200k_base'
import type { Counter } from './core/tokens/counter.ts'
import { exactCounter } from './core/tokens/exact.ts'

/** Counts exactly as OpenAI's o200k does: the same counter that `tokens: 'o200k'` names. */
export const o200k: Counter = exactCounter(() => encoding)
