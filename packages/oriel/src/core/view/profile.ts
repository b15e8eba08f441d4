// What a provider demands of a view, and what was done to a view to meet it.

import type { ReasoningBlock } from '../log/block.ts'
import type { Form, MessageEntry } from '../log/entry.ts'
import type { Call } from '../state/exchange.ts'
import type { ViewMessage } from './view.ts'

/** What the provider demands of a list of messages, so that one repair pass serves every format. */
export interface Profile {
  /** The first message must be a user's (A2). */
  readonly startsWithUser: boolean
  /** The last message must not be an assistant's (A6). */
  readonly endsWithUser: boolean
  /** Text blocks must not be empty or blank (A4). */
  readonly refusesBlankText: boolean
  /** Reasoning (or that for which it answers true) is bound to everything before it: behind a later change it must not be sent. @default false */
  readonly bindsReasoning?: boolean | ((block: ReasoningBlock) => boolean)
  /** Whether these calls of this message may stay unanswered at the end: they wait for a person. @default none may */
  readonly mayWait?: (entry: MessageEntry, missing: readonly Call[]) => boolean
  /** Tool messages may hold other parts beside results, which stay with their exchange. @default false */
  readonly hasToolParts?: boolean
  /** Largest request in bytes (A17). @default no limit */
  readonly maxBytes?: number
  /** Longest call id allowed on the wire (O3). */
  readonly maxIdLength: number
  /** Call ids must match (A10). */
  readonly idPattern: RegExp
  /** Whether the calls of the message at `index` go out without ids, so that none can be wrong. @default none do */
  readonly ignoresIds?: (messages: readonly ViewMessage[], index: number) => boolean
  /** Rule ids named in the trace by each repair. */
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
    /** For an id that an earlier call has. @default the same as `id` */
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
