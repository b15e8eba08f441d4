// Log entry types: immutable, ordered facts.

import type { Audience, Block, Origin, Role } from './block.ts'
import type { Json, JsonObject } from './json.ts'

declare const brand: unique symbol
export type EntryId = string & { readonly [brand]: 'EntryId' }

/** The original provider message, kept only when the blocks alone cannot round-trip it exactly. */
export interface Native {
  readonly format: string
  /** The provider's messages or items, whole, in order. */
  readonly value: readonly Json[]
}

/** Format and model that produced a message. Reasoning is sent back only to these. */
export interface Source {
  readonly format: string
  readonly model?: string
}

/** When a tool result expires; see the policy part `expiry`. */
export interface Expiry {
  /** Maximum age. The result expires above it; null means never. */
  readonly after: number | null
  /** Unit of the age: model calls or user turns. @default 'steps' */
  readonly unit?: 'steps' | 'turns' | undefined
  /** `remove` leaves a placeholder, `compact` a shorter form. */
  readonly mode: 'none' | 'remove' | 'compact'
  /**
   * How `compact` shortens: the first characters, or a summary by a model. @default 'first-chars'
   */
  readonly compact?: 'first-chars' | 'summary' | undefined
  /** Characters to keep, or target length of the summary. @default 500 */
  readonly length?: number | undefined
  /** Id of the summary prompt. @default the tool's, else 'compactMessagePrompt' */
  readonly prompt?: string | undefined
}

/**
 * How a client that resends its history represents this message. 'nothing': the client never saw
 * it. A key: the client sends one message with that key and those details, which stands for this
 * message and the hidden ones before it.
 */
export type ResentAs =
  | 'nothing'
  | {
      readonly key: string
      readonly details: string
      /** The key of the newest compaction in it. @default it has none */
      readonly compaction?: string
    }

/** An input message, before it is logged: from a caller or from a format's `decode`. */
export interface Draft<M = Json> {
  /** The caller's id. Appending a message with a known id is a no-op. */
  readonly id?: string
  readonly role: Role
  /** A string is shorthand for one text block. */
  readonly content: string | readonly Block[]
  /**
   * Author. @default derived from the role: user, assistant, tool or system; tool for a tool result
   * in the user role
   */
  readonly origin?: Origin
  readonly kind?: string
  /** The tool's name, for tool results. */
  readonly tool?: string
  readonly expiry?: Expiry
  /** Omitted when it is the default. @default everybody, now and later */
  readonly audience?: Audience
  /** The caller's own data: stored, never read. */
  readonly meta?: M
  readonly source?: Source
  /**
   * Fields of the provider's message that Oriel does not interpret, sent back to the same format.
   */
  readonly extra?: JsonObject
  readonly native?: Native
  /** How a client resends it. @default unchanged */
  readonly resentAs?: ResentAs
}

/** A message with the host's own data, `meta`. */
export type Message<Meta = Json> = Draft<Meta>

interface EntryFields {
  readonly id: EntryId
  /** Position in the log: 1, 2, 3 ... without gaps. */
  readonly seq: number
  /** Milliseconds since the epoch by the host's clock. Never used for ordering. */
  readonly at: number
  /** Random nonce per append. It distinguishes identical entries from concurrent writers. */
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
  /** The caller's id, if given. */
  readonly externalId?: string
  readonly kind?: string
  readonly tool?: string
  readonly expiry?: Expiry
  /** Omitted when it is the default. @default everybody, now and later */
  readonly audience?: Audience
  readonly meta?: M
  readonly source?: Source
  readonly extra?: JsonObject
  readonly native?: Native
  /** How a client resends it. @default unchanged */
  readonly resentAs?: ResentAs
}

/** How a block appears, ordered from most to least content. */
export const forms = ['full', 'clipped', 'summarized', 'omitted', 'dropped'] as const
export type Form = (typeof forms)[number]

/** What an edit applies to: one block of a message, or whole messages as inclusive seq ranges. */
export type Target =
  | { readonly seq: number; readonly block: number }
  | { readonly ranges: readonly (readonly [from: number, to: number])[] }

/** A change of form, with its reason. */
export interface Edit {
  readonly rule: string
  readonly form: Form
  readonly target: Target
  /**
   * The rendered text, for every form except `full` and `dropped`. For a checkpoint, the text that
   * replaces all covered messages.
   */
  readonly text?: string
  /**
   * Checkpoints only: structured source data of the text, so that the next checkpoint can build on
   * it.
   */
  readonly digest?: JsonObject
  readonly reason: string
  readonly tokensBefore: number
  readonly tokensAfter: number
  /**
   * Log length when the edit took effect, if earlier than the edit's own entry. Reasoning produced
   * after that has already seen the edit.
   * @default the edit's own position in the log
   */
  readonly since?: number
  /** The original must not be shown again. @default false */
  readonly isFinal?: boolean
  /** Images and other non-text blocks of a result stay beside the text. @default false */
  readonly keepsMedia?: boolean
  /** Blocks inside a result that stay beside the text, by their index; goes before `keepsMedia`. @default none */
  readonly keeps?: readonly number[]
  /**
   * Checkpoints forced by the token limit only: the request was still at the limit afterwards.
   * @default false
   */
  readonly isTight?: boolean
  /** If the text contains a model's summary: the key of its source, and its offsets in the text. */
  readonly summary?: { readonly of: string; readonly at: readonly [from: number, to: number] }
  /** Drops by the rule `history` only: the limit that they obey. It never waits for a schedule, and a wider one takes them back. */
  readonly window?: DropWindow
  /**
   * References only: the blocks whose text it refers to. It is in force while the view shows all of them, whole or by references of their
   * own. @default the text refers to no other block
   */
  readonly refersTo?: readonly (readonly [seq: number, block: number])[]
  /** Compactions by a provider only: the block that stands for what is dropped. */
  readonly compactedBy?: readonly [seq: number, block: number]
}

/** The newest turn that was dropped; or the cap on messages; or that system messages are not shown. */
export type DropWindow =
  | { readonly turn: number }
  | { readonly messages: number; readonly recent: number }
  | { readonly system: false }

export interface EditEntry extends EntryFields, Edit {
  readonly type: 'edit'
  /** Groups edits that were applied together. */
  readonly epoch: string
}

/** Reverts an edit. By a person, it also vetoes that form for that block from then on. */
export interface UndoEntry extends EntryFields {
  readonly type: 'undo'
  readonly edit: EntryId
  /** The rule that takes its own edit back; it may make it again. @default a person */
  readonly rule?: string
  readonly reason?: string
  /** Groups what was taken back together. */
  readonly epoch?: string
}

/**
 * Pins a message (shown verbatim), excludes it from every view, or reverts either; or expands a
 * block for a few steps.
 */
export interface MarkEntry extends EntryFields {
  readonly type: 'mark'
  /** `continue`: the next answer continues this message and is part of it. */
  readonly mark: 'pin' | 'unpin' | 'exclude' | 'include' | 'expand' | 'continue'
  readonly target: number
  /** For `expand`: which block of the message. */
  readonly block?: number
  /** For `expand`: the last step whose request shows the original. */
  readonly until?: number
  /** For `expand`: the excerpt that is shown, if not the whole original. */
  readonly text?: string
}

/** A change of the policy or of another setting. */
export interface SettingEntry extends EntryFields {
  readonly type: 'setting'
  readonly name: string
  readonly value: Json
}

/** Token usage reported by the provider for one view. */
export interface UsageEntry extends EntryFields {
  readonly type: 'usage'
  readonly view: string
  readonly sample: Usage
  /** Set when the provider's cache missed what it should have held. */
  readonly broken?: RecordedBreak
}

/** Tokens of one model call, whatever the provider calls them. The three input numbers are disjoint. */
export interface Usage {
  /** Input tokens that were neither read from nor written to the cache. */
  readonly uncached: number
  readonly cacheRead: number
  readonly cacheWrite: number
  readonly output: number
  /** Why the provider's cache missed, where the provider itself says so. */
  readonly miss?: ReportedMiss
}

/** A cache miss as the provider explains it. */
export interface ReportedMiss {
  /** What changed. */
  readonly cause: 'edit' | 'tools' | 'system' | 'model'
  /** The provider's own word for it. */
  readonly word: string
  /** Tokens that were missed, where it says so. */
  readonly tokens?: number
}

/** A cache break as the log keeps it. */
export interface RecordedBreak {
  readonly cause: string
  /** Tokens that should have been read from the cache and were not. */
  readonly lost: number
  /** Their cost, in base input tokens. */
  readonly cost: number
  /** The first block that an edit changed, where an edit was the cause. */
  readonly first?: string
  /** The provider's own word for the cause, where it gave one. */
  readonly told?: string
}

/**
 * Record of the request sent at a step: enough to rebuild it and to diff it with the previous one.
 */
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
  readonly details?: RequestDetails
}

/** What the record of a request says beside what was sent. */
export interface RequestDetails {
  /** The agent that it was made for, where the host named it. */
  readonly agent?: string
  /** Tokens of the request, by the thread's counter. */
  readonly tokens?: number
  /** The same by category: system, tools, summary, user, assistant, results. Categories without tokens are left out. */
  readonly parts?: Readonly<Record<string, number>>
  readonly budget?: number
  readonly mayTurnReasoningOff?: boolean
  /** It was made smaller after the provider refused its length. */
  readonly isRecovery?: boolean
  /** The first seq that it shows in a form which the log does not keep: reduced for a budget, or by a policy for one call. */
  readonly unkeptFrom?: number
  /** It shows an open tool loop as a transcript. */
  readonly isRecord?: boolean
  /** Why the schedule applied edits or not, with the numbers that it decided by. */
  readonly schedule?: JsonObject
  /** The policy, where it held for this call only. */
  readonly policy?: JsonObject
  /** Of a policy for one call: whether a model could be asked for summaries. @default false */
  readonly hasModel?: boolean
}

/** An entry of a type unknown to this version: kept and passed along, never dropped. */
export interface UnknownEntry extends EntryFields {
  readonly type: `x-${string}`
  readonly value: Json
}

export type Entry<Meta = Json> =
  | MessageEntry<Meta>
  | EditEntry
  | UndoEntry
  | MarkEntry
  | SettingEntry
  | UsageEntry
  | RequestEntry
  | UnknownEntry
