// What a rule asks of a model: a summary in place of one block. A rule never awaits; it asks again in the next pass.

import type { Edit } from '../log/entry.ts'

/** A summary that a rule would like to have. */
export interface SummaryRequest {
  /** What kind of job it is; the host's `summarize` gets it. */
  readonly kind: 'tool-result' | 'message'
  /** The block that the text comes from: the same object, the same text. */
  readonly source: object
  /** The whole original. It is clipped before a model sees it. */
  readonly text: string
  /** What the text is, in a line: `Tool: read; status: ok`. */
  readonly about: string
  /** What the model is told, without the text. */
  readonly prompt: string
  /** Characters that are asked for. */
  readonly targetChars: number
  /** Characters above which an answer is cut. */
  readonly maxChars: number
  /** Characters above which an answer is refused. @default none */
  readonly ceilingChars?: number
  /** Never in one call with others. @default false */
  readonly isAlone?: boolean
  /** Models that the prompt is meant for; the host's `summarize` is told. */
  readonly models?: readonly string[]
  /** Why no model can be asked at all: the wish fails with it. */
  readonly fault?: string
}

/**
 * - `ready`: the model's summary, not empty and at most `maxChars` long. `key` names what it was made from.
 * - `waiting`: a job is or will be under way. The block keeps its form until then.
 * - `none`: there is no model, or it failed. The rule takes its deterministic form.
 */
export type SummaryAnswer =
  | { readonly state: 'ready'; readonly text: string; readonly key: string }
  | { readonly state: 'waiting' }
  | { readonly state: 'none' }

/** Answers are facts of a pass: asking twice in one pass gives the same answer. */
export type SummaryOf = (wish: SummaryRequest) => SummaryAnswer

/** A model's summary between what a rule writes around it: the text of an edit, and where the summary stands in it. */
export function around(
  { text, key }: SummaryAnswer & { readonly state: 'ready' },
  { before, after }: { readonly before: string; readonly after: string },
): Required<Pick<Edit, 'text' | 'summary'>> {
  const at = [before.length, before.length + text.length] as const
  return { text: `${before}${text}${after}`, summary: { of: key, at } }
}

/** What a rule knows where no model can be asked. */
export const noSummary: SummaryOf = () => ({ state: 'none' })
