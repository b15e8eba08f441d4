// What a message format is: how foreign messages become drafts, how a view becomes foreign messages, what its provider refuses.

import type { Draft } from '../core/log/entry.ts'
import type { Json } from '../core/log/json.ts'
import type { Profile } from '../core/view/profile.ts'
import type { ViewMessage } from '../core/view/view.ts'

export type { Profile }

export const formatNames = [
  'openai-chat',
  'openai-responses',
  'anthropic',
  'ai-sdk',
  'langchain',
  'gemini',
] as const
export type FormatName = (typeof formatNames)[number]
/** Formats that travel over HTTP. */
export const wireFormats = ['openai-chat', 'openai-responses', 'anthropic'] as const
export type WireFormat = (typeof wireFormats)[number]

/** A decoded message and the foreign messages (or items) it was made from. */
export interface Decoded {
  readonly draft: Draft
  /** Index of the first foreign message it came from. */
  readonly from: number
  /** Index after the last one. */
  readonly to: number
  /** The foreign message as the caller holds it, where that is not plain data. */
  readonly held?: WrappedOriginal
}

/** A foreign message that is, or holds, an instance of a class, and the plain data that was read from it. */
export interface WrappedOriginal {
  readonly json: Json
  readonly original: unknown
}

export interface Encoded {
  /** Foreign messages, or items for openai-responses. */
  readonly messages: readonly Json[]
  /** Top-level system text, for formats that keep it outside the messages. */
  readonly system?: Json
  /** Blocks that the format could not carry as they are: left out, or replaced by a stand-in. Each becomes a line of the trace. */
  readonly losses?: readonly Loss[]
}

/** What `encode` did to one block of the view. */
export interface Loss {
  /** Index of the view message. */
  readonly message: number
  /** Index of the block in it. */
  readonly block: number
  /** `dropped`: left out; `omitted`: a stand-in text; `full`: moved or rewritten, nothing lost. */
  readonly form: 'dropped' | 'omitted' | 'full'
  /** Begins with the provider's rule id, or with the format's name where it simply has no such block. */
  readonly reason: string
}

/** One rule of PROVIDER-RULES.md that a request body breaks. */
export interface Violation {
  /** The rule's id, for example `A7`. */
  readonly rule: string
  /** Where, for example `messages[3].content[0]`. */
  readonly path: string
  readonly message: string
}

/**
 * A format. Contracts:
 * - `decode` must not throw on structurally broken conversations (orphans, reused ids, empty text): only on values that are not
 *   messages at all, with OrielError 'invalid-input' and the path.
 * - `encode(decode(x))` deep-equals x for every x that `validate` accepts.
 * - `decode` keeps every field: unknown ones in `extra`, unknown blocks as `opaque`, shapes that blocks cannot give back in `native`.
 * - `encode` gets a view that was repaired to `profile`; what it returns has no violation.
 * - Neither mutates its input. Both are deterministic.
 */
export interface Format {
  readonly name: FormatName
  readonly profile: Profile
  /** Whether each message is decoded for itself, so that it stays as it was read whatever comes behind it. @default false */
  readonly readsAlone?: boolean
  decode(messages: readonly unknown[], path: string): readonly Decoded[]
  encode(view: readonly ViewMessage[]): Encoded
  validate(body: unknown): readonly Violation[]
  /**
   * Encoded messages as the caller holds them: instances of the format's own classes where the input had some.
   * @default they are plain data
   */
  restore?(messages: readonly Json[], held: readonly WrappedOriginal[]): readonly unknown[]
}
