// View types: messages rendered from the log, each block with its origin.

import type { Block, Origin, Role } from '../log/block.ts'
import type { Form, MessageEntry } from '../log/entry.ts'
import { checkJson } from '../log/json.ts'
import { assertOptions } from '../log/options.ts'
import type { Call } from '../state/exchange.ts'

/** One message of a view, before a format encodes it. */
export interface ViewMessage {
  readonly role: Role
  readonly origin: Origin
  /** Rendered blocks. A block in full form is the entry's own object. */
  readonly blocks: readonly Block[]
  /** Continues the previous message as part of one answer. @default false */
  readonly isLaterPart?: boolean
  /** The source entry; absent for text written by Oriel (a digest, a checkpoint). */
  readonly entry?: MessageEntry
  /** Index of each block in the entry, if some of the entry's blocks are not shown. */
  readonly positions?: readonly number[]
  /** The calls that blocks without an entry answer, in order. */
  readonly answers?: readonly Call[]
  /** Call ids on the wire, if they differ from the logged ones, by index in `blocks`. */
  readonly wireIds?: ReadonlyMap<number, string>
}

/**
 * One line of the trace: a block that is not shown in full, or that a provider's rule moved or
 * renamed.
 */
export interface Change {
  /** The stable id: pass it to `expand`. */
  readonly id: string
  /** Index of the message in the input of `project`, or among the thread's messages. */
  readonly index: number
  readonly form: Form
  /** The responsible rule: a policy part's name, `budget`, `repair`, or `audience`. */
  readonly rule: string
  readonly reason: string
  readonly tokensBefore: number
  readonly tokensAfter: number
  /** The original can be retrieved by id. */
  readonly canExpand: boolean
  /** Characters of the original text. */
  readonly originalLength: number
  /** The log's edit that made the change: pass it to `undo`. Absent where none is kept: a repair, a budget, a dry run, `project`. */
  readonly edit?: string
}

/** The request around the messages: counted in the budget, never matched as history. */
export interface Frame {
  readonly system?: unknown
  readonly tools?: unknown
  readonly params?: unknown
}

/** Rejects a frame with other parts than these three, wherever it stands among the options of `of`. */
export function assertFrame(frame: Frame, of: string, at = 'frame'): void {
  assertOptions(frame, { system: true, tools: true, params: true }, of, at)
  checkJson(frame, at)
}

export interface TokenCount {
  readonly before: number
  readonly after: number
}
