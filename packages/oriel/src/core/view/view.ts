// What the model sees: messages rendered from the log, each block knowing where it came from.

import type { Block, Origin, Role } from '../log/block.ts'
import type { Form, MessageEntry } from '../log/entry.ts'
import type { Call } from '../state/exchange.ts'

/** One message of a view, before a format encodes it. */
export interface ViewMessage {
  readonly role: Role
  readonly origin: Origin
  /** Blocks as rendered. A block in full form is the very object of the entry. */
  readonly blocks: readonly Block[]
  /** Whether it goes on with the message before it, as another part of one answer. @default false */
  readonly isLaterPart?: boolean
  /** The entry it shows; absent for text that Oriel wrote itself (a digest, a checkpoint). */
  readonly entry?: MessageEntry
  /** Each block's position in the entry, where some of the entry's blocks are not shown. */
  readonly positions?: readonly number[]
  /** The calls that blocks without an entry answer, in order. */
  readonly answers?: readonly Call[]
  /** Call ids as they must appear on the wire, where they differ from the logged ones. Keyed by block position in `blocks`. */
  readonly wireIds?: ReadonlyMap<number, string>
}

/** One line of the trace: a block that is not full or not there, or that a provider's rule moved or renamed. */
export interface Change {
  /** The stable id: pass it to `expand`. */
  readonly id: string
  /** Position of the message in the input of `project`, or among the thread's messages. */
  readonly index: number
  readonly form: Form
  /** The rule that changed it: a policy part's name, `budget`, `repair`, or `audience` for what is not for this request. */
  readonly rule: string
  readonly reason: string
  readonly tokensBefore: number
  readonly tokensAfter: number
  /** Whether the original can be had back by id. */
  readonly canExpand: boolean
  /** Characters of the original text. */
  readonly originalLength: number
}

/** The part of a request around the messages: counted in the budget, never matched as history. */
export interface Frame {
  readonly system?: unknown
  readonly tools?: unknown
  readonly params?: unknown
}

export interface TokenCount {
  readonly before: number
  readonly after: number
}
