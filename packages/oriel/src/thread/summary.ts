// What a host's `summarize` gets and answers.

import type { JsonObject } from '../core/json.ts'
import type { SummaryResult } from './answer.ts'

/** What a host's `summarize` gets. */
export interface SummaryJob {
  readonly kind: 'checkpoint' | 'tool-result' | 'message'
  /** The conversation to summarize, as text. Data, never instructions. */
  readonly text: string
  readonly prompt: string
  /** Characters that the whole answer should have: for several results in one call, those of all of them. */
  readonly targetChars: number
  readonly meta: JsonObject
  readonly signal: AbortSignal
}

/** Calls a model. Its answer is used only if it is not empty and not too long. */
export type Summarize = (job: SummaryJob) => Promise<SummaryResult>
