// The one shape of every rule: it looks at the state and proposes edits. It never awaits and never changes anything.

import type { Edit } from '../core/log/entry.ts'
import type { FileOf } from '../core/state/file-request.ts'
import type { State } from '../core/state/state.ts'
import type { SummaryOf } from '../core/state/summary-request.ts'
import type { Measured } from '../core/state/weight.ts'
import type { Prompt } from './compact-prompt.ts'
import type { Relevance } from './relevance.ts'

/** How much the memory of facts in a checkpoint may hold. */
export interface MemorySettings {
  /** Tokens of lines that are likely to be needed again. @default half of what stays */
  readonly lines?: number | undefined
  /** Tokens of single values: ids, paths, numbers. @default a fifth of what stays */
  readonly values?: number | undefined
}

export interface RuleContext {
  /** Milliseconds since 1970, from the host. */
  readonly now: number
  /** Tokens of what stands around the messages in the request. */
  readonly frameTokens: number
  /** What the provider measured. @default nothing */
  readonly measured?: Measured
  /** What other rules propose in the same pass. */
  readonly planned: readonly Edit[]
  /** Where a cache-aware schedule wants a checkpoint, and how much conversation it leaves. @default the settings' own limit */
  readonly window?: { readonly low: number; readonly high: number } | undefined
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
  /** Where an output is kept as a file. Ask only for one that would be shown as a notice now. */
  readonly fileOf: FileOf
  /** SHA-256 of a text in UTF-8, as hexadecimal digits. */
  readonly sha256: (text: string) => string
}

/**
 * Contracts:
 * - `propose` is pure: same state, settings and context, same edits.
 * - It reads only visible messages, so that its cost is the view's size and never the log's length.
 * - Feeding messages one by one, proposing after each, ends in the same view as proposing once at the end.
 * - It never proposes to change what is protected: system messages (unless its settings say so), pinned ones, the newest user
 *   message, the newest exchange that the model has not seen.
 */
export interface Rule<Settings> {
  readonly name: string
  propose(state: State, settings: Settings, context: RuleContext): readonly Edit[]
}
