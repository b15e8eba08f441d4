// The one shape of every rule: a part of the policy with its schema and defaults, and a pure function that proposes edits.

import type { Edit } from '../core/log/entry.ts'
import type { ObjectSchema } from '../core/schema/schema.ts'
import type { FileOf } from '../core/state/file-request.ts'
import type { State } from '../core/state/state.ts'
import type { SummaryOf } from '../core/state/summary-request.ts'
import type { Measured } from '../core/state/weight.ts'
import type { Prompt } from './compact-prompt.ts'
import type { MemorySettings } from './compaction.ts'
import type { Similarity } from './duplicates.ts'
import type { Relevance } from './relevance.ts'
import type { Success } from './tool-results.ts'

export interface RuleContext {
  /** Milliseconds since 1970, from the host. */
  readonly now: number
  /** Tokens of the request beside its messages: system text, tools. */
  readonly frameTokens: number
  /** What the provider measured. @default nothing */
  readonly measured?: Measured | undefined
  /** What other rules propose in the same pass. */
  readonly planned: readonly Edit[]
  /** Where a cache-aware schedule wants a checkpoint, and how much conversation it leaves. @default the settings' own limit */
  readonly window?:
    | {
        readonly low: number
        readonly high: number
        /** What a token costs, for the reason of a fold: shares of an uncached one, and dollars for a million. */
        readonly price?: {
          readonly read: number
          readonly write: number
          readonly inputDollars?: number | undefined
        }
      }
    | undefined
  /** The model's context window, as a catalogue knows it: for a policy that does not name one. @default unknown */
  readonly contextWindow?: number | undefined
  /** The memory of facts in a checkpoint, if it has one. */
  readonly memory?: MemorySettings | undefined
  /** A model's summary, where there is one. Ask only for a block that would take the summary's form now. */
  readonly summaryOf: SummaryOf
  /** Prompts by id, for summaries. @default only Oriel's own */
  readonly prompts?: Readonly<Record<string, Prompt>>
  /** Judges how relevant a result is. @default the lexical score */
  readonly relevance?: Relevance
  /** Compares two results, to fold what repeats. @default the share of word triples in common */
  readonly similarity?: Similarity
  /** Judges whether a result is a success, where its format has no flag. @default by a field of the output */
  readonly success?: Success | undefined
  /** Where an output is kept as a file. Ask only for one that would be shown as a notice now. */
  readonly fileOf: FileOf
  /** SHA-256 of a text in UTF-8, as hexadecimal digits. */
  readonly sha256: (text: string) => string
}

/**
 * What each field is when its part is on and nobody set it, by its path inside the part: a value, or words where it depends on something.
 * A field that is not named here is off until it is set.
 */
export type Defaults = Readonly<Record<string, string | number | boolean | InWords>>

export interface InWords {
  readonly words: string
}

/**
 * Contracts of `propose`:
 * - It is pure: same state, settings and context, same edits. It never awaits.
 * - It reads only visible messages, so that its cost is the view's size and never the log's length.
 * - Feeding messages one by one, proposing after each, ends in the same view as proposing once at the end.
 * - It never proposes to change what is protected: system messages (unless its settings say so), pinned ones, the newest user
 *   message, the newest exchange that the model has not seen.
 */
export interface Rule<Settings extends object = object> {
  /** The name of its part in a policy. The trace names it for each edit. */
  readonly name: string
  /** Checks the settings. Environment variables, the docs and the generators of tests follow its fields. */
  readonly schema: ObjectSchema
  readonly defaults: Defaults
  /** Whether it is asked without a part in the policy too, with its defaults: messages bring settings of their own. @default false */
  readonly isAlwaysAsked?: boolean
  /** Whether it is asked a second time when all have answered, since it must know what they take from the view. @default false */
  readonly isAskedAgain?: boolean
  propose(state: State, settings: Settings, context: RuleContext): readonly Edit[]
}
