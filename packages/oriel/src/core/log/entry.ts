// What the log is made of: immutable facts in one order.

import type { Audience, Block, Origin, Role } from './block.ts'
import type { Json, JsonObject } from './json.ts'

declare const brand: unique symbol
export type EntryId = string & { readonly [brand]: 'EntryId' }

/** What a foreign message looked like, kept only where the blocks alone would not give it back exactly. */
export interface Native {
  readonly format: string
  /** The foreign messages or items, whole, in order. */
  readonly value: readonly Json[]
}

/** Where a message came from: reasoning is replayed only to the format (and model) that made it. */
export interface Source {
  readonly format: string
  readonly model?: string
}

/** When a result expires; see the policy part `expiry`. */
export interface Expiry {
  /** Age above which the result expires; null means never. */
  readonly after: number | null
  /** What the age counts: model calls, or user turns. @default 'steps' */
  readonly unit?: 'steps' | 'turns' | undefined
  /** `remove` leaves a placeholder, `compact` a shorter form. */
  readonly mode: 'none' | 'remove' | 'compact'
  /** The shorter form: the first characters, or a summary by a model. @default 'first-chars' */
  readonly compact?: 'first-chars' | 'summary' | undefined
  /** Characters that stay, or that a summary is asked for. @default 500 */
  readonly length?: number | undefined
  /** The id of the prompt for a summary. @default the tool's, else 'compactMessagePrompt' */
  readonly prompt?: string | undefined
}

/**
 * What a client that resends its history sends for this message. 'nothing': it never saw it. A key: it sends one message with that key
 * and those details, for this message and the hidden ones before it.
 */
export type ResentAs = 'nothing' | { readonly key: string; readonly details: string }

/** A message as input: what a caller or a format's `decode` hands to the log. */
export interface Draft<M = Json> {
  /** The caller's own id. Appending a message whose id is already there is a no-op. */
  readonly id?: string
  readonly role: Role
  /** A string is one text block. */
  readonly content: string | readonly Block[]
  /** Who said it. @default the role's own: user, assistant, tool or system; the tool for its result in the user's role */
  readonly origin?: Origin
  readonly kind?: string
  /** The tool's name, for results. */
  readonly tool?: string
  readonly expiry?: Expiry
  /** Who sees it. The usual audience is not written down. @default everybody, now and later */
  readonly audience?: Audience
  /** The caller's own data: carried, never read. */
  readonly meta?: M
  readonly source?: Source
  /** Fields of the foreign message that Oriel does not read, replayed to the same format. */
  readonly extra?: JsonObject
  readonly native?: Native
  /** What a client resends for it. @default the message as it is */
  readonly resentAs?: ResentAs
}

interface EntryFields {
  readonly id: EntryId
  /** Position in the log: 1, 2, 3 ... without gaps. */
  readonly seq: number
  /** Milliseconds since 1970 by the host's clock; never used for order. */
  readonly at: number
  /** Random, one for each append: two writers that say the same at the same time are still two. */
  readonly by?: string
}

export interface MessageEntry<M = Json> extends EntryFields {
  readonly type: 'message'
  /** 0 before the first user message, then 1, 2, 3 ... A tool result has the turn of its call. */
  readonly turn: number
  /** The model call this belongs to, from 1. A tool result has the step of its call. */
  readonly step: number
  readonly role: Role
  readonly origin: Origin
  readonly blocks: readonly Block[]
  /** The caller's own id, if one was given. */
  readonly externalId?: string
  readonly kind?: string
  readonly tool?: string
  readonly expiry?: Expiry
  /** Who sees it. The usual audience is not written down. @default everybody, now and later */
  readonly audience?: Audience
  readonly meta?: M
  readonly source?: Source
  readonly extra?: JsonObject
  readonly native?: Native
  /** What a client resends for it. @default the message as it is */
  readonly resentAs?: ResentAs
}

/** How a block appears, from most to least. */
export const forms = ['full', 'clipped', 'summarized', 'omitted', 'dropped'] as const
export type Form = (typeof forms)[number]

/** What an edit acts on: one block of a message, or whole messages given as inclusive ranges of seq. */
export type Target =
  | { readonly seq: number; readonly block: number }
  | { readonly ranges: readonly (readonly [from: number, to: number])[] }

/** One change of form, with its reason. */
export interface Edit {
  readonly rule: string
  readonly form: Form
  readonly target: Target
  /** The text as rendered, for every form except `full` and `dropped`; for a checkpoint, what stands for all it covers. */
  readonly text?: string
  /** For a checkpoint: what its text was made from, so that the next one can go on from it. */
  readonly digest?: JsonObject
  readonly reason: string
  readonly tokensBefore: number
  readonly tokensAfter: number
  /**
   * The log's length when the edit took effect, where that is not now. Reasoning that was made later has already seen it.
   * @default the edit's own place in the log
   */
  readonly since?: number
  /** The original must not be shown again. @default false */
  readonly isFinal?: boolean
  /** Pictures and other blocks of a result stay beside the text. @default false */
  readonly keepsMedia?: boolean
  /** For a checkpoint that the limit asked for: the request was at the limit after it all the same. @default false */
  readonly isTight?: boolean
  /** For a text that holds a model's summary: the key of what it was made from, and where in the text it stands. */
  readonly summary?: { readonly of: string; readonly at: readonly [from: number, to: number] }
}

export interface EditEntry extends EntryFields, Edit {
  readonly type: 'edit'
  /** Edits of one epoch were applied together. */
  readonly epoch: string
}

/** Takes an edit back, and forbids that form for that block from then on. */
export interface UndoEntry extends EntryFields {
  readonly type: 'undo'
  readonly edit: EntryId
}

/** Pins a message (verbatim from now on), excludes one from every view, or takes either back; or shows a block again for a while. */
export interface MarkEntry extends EntryFields {
  readonly type: 'mark'
  /** `continue`: the next answer goes on with this message, and is a part of it. */
  readonly mark: 'pin' | 'unpin' | 'exclude' | 'include' | 'expand' | 'continue'
  readonly target: number
  /** For `expand`: which block of the message. */
  readonly block?: number
  /** For `expand`: the last step whose request shows it. */
  readonly until?: number
  /** For `expand`: the part of the original that is shown, where it is not the whole. */
  readonly text?: string
}

/** A change of policy or of another setting. */
export interface SettingEntry extends EntryFields {
  readonly type: 'setting'
  readonly name: string
  readonly value: Json
}

/** The provider's own numbers for one view. */
export interface UsageEntry extends EntryFields {
  readonly type: 'usage'
  readonly view: string
  readonly sample: JsonObject
  /** The cache did not hold what it should have: why, tokens lost, what that cost, the first block that an edit changed. */
  readonly broken?: JsonObject
}

/** What was sent at a step: enough to rebuild it and to compare it with the one before. */
export interface RequestEntry extends EntryFields {
  readonly type: 'request'
  readonly step: number
  readonly format: string
  readonly model?: string
  readonly view: string
  readonly frameHash: string
  readonly policyHash: string
  readonly bodyHash: string
  readonly encoderVersion: number
  readonly epoch?: string
  readonly details?: JsonObject
}

/** An entry of a type that this version does not know: kept and passed along, never dropped. */
export interface UnknownEntry extends EntryFields {
  readonly type: `x-${string}`
  readonly value: Json
}

export type Entry =
  | MessageEntry
  | EditEntry
  | UndoEntry
  | MarkEntry
  | SettingEntry
  | UsageEntry
  | RequestEntry
  | UnknownEntry
