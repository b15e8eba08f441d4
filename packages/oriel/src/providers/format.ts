// What a message format is: how foreign messages become drafts, how a view becomes foreign messages, what its provider refuses.

import type { Draft } from '../core/log/entry.ts'
import type { Json } from '../core/log/json.ts'
import type { Profile } from '../core/view/profile.ts'
import type { Frame, ViewMessage } from '../core/view/view.ts'
import type { FormatName } from './codecs.ts'
import type { WireFormat } from './registry.ts'

export type { FormatName, Profile, WireFormat }

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
  /** Where each of the messages comes from. */
  readonly origins: readonly Origin[]
  /** Top-level system text, for formats that keep it outside the messages. */
  readonly system?: Json
  /** Blocks that the format could not carry as they are: left out, or replaced by a stand-in. Each becomes a line of the trace. */
  readonly losses?: readonly Loss[]
}

/** Where one encoded message comes from. */
export interface Origin {
  /** The entries that it shows, by seq, in order. None for text that Oriel wrote itself. */
  readonly entries: readonly number[]
  /** Positions of the view messages that it shows: several where the format joins neighbours. */
  readonly shown: readonly number[]
  /** Which of its entry's foreign messages it is. @default 0 */
  readonly part?: number
  /** Whether everything of its entries is there as it came. Where they are all of one foreign message, it is that message. */
  readonly isWhole: boolean
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
 * - `encode` gets a view that was repaired to `profile`; what it returns has no violation, and every message has its origin.
 * - Neither mutates its input. Both are deterministic.
 */
export interface Format extends MessageCodec {
  /** The fields of a request body that hold the messages and the system text. */
  readonly fields: BodyFields
  /** Marks in messages that tell the provider what to cache. @default it has none */
  readonly cacheMarks?: CacheMarks
  validate(body: unknown): readonly Violation[]
}

/** How messages are read and written: the part of a format that `project` needs, also in browsers. */
export interface MessageCodec {
  readonly name: FormatName
  readonly profile: Profile
  /** Whether messages have ids of their own, by which they are known again. @default false */
  readonly hasMessageIds?: boolean
  /** Whether each message is decoded for itself, so that it stays as it was read whatever comes behind it. @default false */
  readonly readsAlone?: boolean
  /** Whether messages are encoded alike whatever stands before the answer that they begin with, system text aside. @default false */
  readonly writesAlone?: boolean
  decode(messages: readonly unknown[], path: string): readonly Decoded[]
  encode(view: readonly ViewMessage[]): Encoded
  /**
   * Encoded messages as the caller holds them: instances of the format's own classes where the input had some.
   * @default they are plain data
   */
  restore?(messages: readonly Json[], held: readonly WrappedOriginal[]): readonly unknown[]
}

/** The names of two fields. */
export interface BodyFields {
  readonly messages: string
  readonly system: string
}

/** A request body with messages and system text in the format's own fields. */
export function bodyOf(
  { fields }: Format,
  { messages, system }: { readonly messages: readonly unknown[]; readonly system?: unknown },
): Readonly<Record<string, unknown>> {
  return {
    ...(system === undefined ? {} : { [fields.system]: system }),
    [fields.messages]: messages,
  }
}

/** Marks in messages that say where a cached prefix ends. */
export interface CacheMarks {
  /** Marks the ends of this request and the one before it, where the caller set no mark. @default the provider finds them by itself */
  add?(messages: readonly Json[], frame: Frame | undefined): readonly Json[]
  /** The name of the mark: a body that does not hold it has no marks. */
  readonly key: string
  isMarked(message: Json): boolean
  withoutMarks(message: Json): Json
  /** The message with the last mark of `original`. */
  withMarkOf(message: Json, original: Json): Json
}
