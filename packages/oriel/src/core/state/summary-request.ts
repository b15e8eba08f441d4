// Summary requests: a rule asks a model to summarize one block. Rules never await; they ask again
// in the next pass.

import type { Edit } from '../log/entry.ts'

/** A summary that a rule asks for. */
export interface SummaryRequest {
  /** Kind of job, passed to the host's `summarize`. */
  readonly kind: 'tool-result' | 'message'
  /** The block that contains the text. The same object always has the same text. */
  readonly source: object
  /** The whole original. It is clipped before a model sees it. */
  readonly text: string
  /** One-line description of the text: `Tool: read; status: ok`. */
  readonly about: string
  /** Instructions for the model, without the text. */
  readonly prompt: string
  /** What names the summary instead of `prompt`, if that says when the text came. @default the prompt */
  readonly promptKey?: string
  /** Target length in characters. */
  readonly targetChars: number
  /** Longer answers are truncated. */
  readonly maxChars: number
  /** Longer answers are rejected. @default none */
  readonly ceilingChars?: number
  /** Do not batch with other summaries. @default false */
  readonly isAlone?: boolean
  /** Preferred models, passed to the host's `summarize`. */
  readonly models?: readonly string[]
  /** Why no model can be asked. The request fails with this message. */
  readonly fault?: string
}

/**
 * - `ready`: the model's summary, not empty and at most `maxChars` long. `key` identifies its
 *   source.
 * - `waiting`: a job is running or queued. The block keeps its form until then.
 * - `none`: there is no model, or it failed. The rule uses its deterministic form.
 */
export type SummaryAnswer =
  | { readonly state: 'ready'; readonly text: string; readonly key: string }
  | { readonly state: 'waiting' }
  | { readonly state: 'none' }

/** Answers are stable within a pass: asking twice gives the same answer. */
export type SummaryOf = (request: SummaryRequest) => SummaryAnswer

/** Wraps a model's summary in a rule's text, and records its offsets. */
export function around(
  { text, key }: SummaryAnswer & { readonly state: 'ready' },
  { before, after }: { readonly before: string; readonly after: string },
): Required<Pick<Edit, 'text' | 'summary'>> {
  const at = [before.length, before.length + text.length] as const
  return { text: `${before}${text}${after}`, summary: { of: key, at } }
}

/** For hosts without a model. */
export const noSummary: SummaryOf = () => ({ state: 'none' })
