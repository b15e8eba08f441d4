// Provider profiles: a provider's constraints on a message list, and the repairs made to satisfy
// them.

import type { ReasoningBlock } from '../log/block.ts'
import type { Draft, Form, MessageEntry } from '../log/entry.ts'
import type { Call } from '../state/exchange.ts'
import type { ViewMessage } from './view.ts'

/** Provider constraints on a message list, so that one repair pass serves every format. */
export interface Profile {
  /** The first message must be a user message (A2). */
  readonly startsWithUser: boolean
  /** The last message must not be an assistant message (A6). */
  readonly endsWithUser: boolean
  /** True for a message that may come first and last all the same: it begins with the provider's own compaction. @default none may */
  readonly isCompaction?: (message: ViewMessage) => boolean
  /** Text blocks must not be empty or blank (A4). */
  readonly refusesBlankText: boolean
  /**
   * Reasoning (or the blocks for which it returns true) is bound to its prefix and must not be sent
   * after a later change. @default false
   */
  readonly bindsReasoning?: boolean | ((block: ReasoningBlock) => boolean)
  /**
   * True if these calls may stay unanswered at the end because they wait for a person. @default
   * none may
   */
  readonly mayWait?: (entry: MessageEntry, missing: readonly Call[]) => boolean
  /**
   * Tool messages may contain parts other than results, which stay with their exchange. @default
   * false
   */
  readonly hasToolParts?: boolean
  /** Maximum request size in bytes (A17). @default no limit */
  readonly maxBytes?: number
  /** Maximum length of a call id on the wire (O3). */
  readonly maxIdLength: number
  /** Call ids must match (A10). */
  readonly idPattern: RegExp
  /** True if the calls of the message at `index` are sent without ids. @default none are */
  readonly ignoresIds?: (messages: readonly ViewMessage[], index: number) => boolean
  /** True for messages whose calls or results may be such: what they answer depends on all others. @default none are */
  readonly mayIgnoreIds?: (message: Draft) => boolean
  /** Rule ids for the trace, per repair. */
  readonly rules: {
    readonly start: string
    readonly end: string
    readonly size?: string
    readonly unanswered: string
    readonly orphan: string
    readonly duplicate: string
    readonly order: string
    readonly blank: string
    readonly id: string
    /** For an id already used by an earlier call. @default the same as `id` */
    readonly reused?: string
    readonly reasoning: string
  }
}

export interface Repair {
  readonly seq: number
  readonly block: number
  readonly form: Form
  readonly reason: string
}
