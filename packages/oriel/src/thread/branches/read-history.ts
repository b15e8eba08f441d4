// A history as a client resends it, read once: for the thread that it belongs to, and for finding that thread.

import { hash } from 'node:crypto'
import type { Role } from '../../core/log/block.ts'
import type { Draft } from '../../core/log/entry.ts'
import { OrielError } from '../../core/log/errors.ts'
import { assertOptions } from '../../core/log/options.ts'
import { detectFormat } from '../../providers/detect.ts'
import type { Decoded, FormatName } from '../../providers/format.ts'
import { formatNamed } from '../../providers/registry.ts'
import { compactionKeyOf } from './match.ts'
import { type IncomingMessage, sentOf, splitLeading } from './sync.ts'

export interface HistoryKey {
  readonly role: Role
  /** Covers this message and all before it; leading system messages are not part of it. */
  readonly key: string
  /** Whether this message or one before it names a tool call, whose id is hardly ever the same in two conversations. */
  readonly hasCall: boolean
}

/** What `readHistory` gives: `sync`, `request` and `match` take it in the place of the messages. */
export interface ReadHistory {
  readonly format: FormatName
  /** The messages as they came. */
  readonly messages: readonly unknown[]
  /** One key for each message after the leading system messages. */
  readonly keys: readonly HistoryKey[]
  /** @internal */
  readonly parts: HistoryParts
}

export interface HistoryParts {
  readonly decoded: readonly Decoded[]
  readonly leading: readonly Draft[]
  readonly conversation: readonly Draft[]
  /** The conversation, by what `sync` compares. */
  readonly sent: readonly IncomingMessage[]
}

export interface ReadHistoryOptions {
  /** @default the one that the messages show; 'openai-chat' where they show none */
  readonly format?: FormatName
  /**
   * What was read before of the same conversation. Messages that are the very same objects are not read again, so they must not have
   * been changed since. @default nothing
   */
  readonly previous?: ReadHistory | undefined
}

/** Reads a history. Throws 'invalid-input' with the path where something in it is no message. */
export function readHistory(
  messages: readonly unknown[],
  options: ReadHistoryOptions = {},
): ReadHistory {
  assertOptions(options, { format: true, previous: true }, 'readHistory')
  const { format: given, previous } = options
  const format =
    given ?? (Array.isArray(messages) ? detectFormat(messages, 'history') : 'openai-chat')
  const base = previous?.format === format ? previous : undefined
  const decoded = decode(messages, format, base)
  const { leading, history: conversation } = splitLeading(decoded.map(({ draft }) => draft))
  const same = commonLength(conversation, base?.parts.conversation ?? [])
  const sent = [...(base?.parts.sent.slice(0, same) ?? []), ...sentOf(conversation.slice(same))]
  const known = base?.keys.slice(0, same) ?? []
  const keys = [...known, ...keysOf(sent.slice(same), known.at(-1))]
  return { format, messages, keys, parts: { decoded, leading, conversation, sent } }
}

/** The same for what is read already. */
export function asRead(
  history: readonly unknown[] | ReadHistory,
  format: FormatName | undefined,
): ReadHistory {
  if (history === null || typeof history !== 'object') {
    const message = `history must be a list of messages, got ${history === null ? 'null' : typeof history}.`
    throw new OrielError('invalid-input', message, { path: 'history' })
  }
  return 'parts' in history ? history : readHistory(history, format === undefined ? {} : { format })
}

/** The key of the newest compaction in a history, by which its thread is found although the client sends nothing of what came before. */
export function compactionIn({ parts }: ReadHistory): string | undefined {
  return compactionOf(parts.sent)
}

/** The same for messages of an answer. */
export function compactionAmong(
  messages: readonly unknown[],
  format: FormatName,
): string | undefined {
  const drafts = formatNamed(format).decode(messages, 'messages')
  return compactionOf(sentOf(drafts.map(({ draft }) => draft)))
}

function compactionOf(sent: readonly IncomingMessage[]): string | undefined {
  return sent.reduce<string | undefined>(
    (found, { message }) => compactionKeyOf(message) ?? found,
    undefined,
  )
}

/** Keys that continue from another. */
function keysOf(
  sent: readonly IncomingMessage[],
  after: HistoryKey | undefined,
): readonly HistoryKey[] {
  let { key, hasCall } = after ?? { key: '', hasCall: false }
  return sent.map(({ key: own, message }) => {
    key = hash('sha256', `${key}:${own}`, 'base64url').slice(0, 22)
    hasCall ||= message.blocks.some(({ type }) => type === 'tool-call')
    // A draft's role is one of ours.
    return { role: message.role as Role, key, hasCall }
  })
}

/** What comes next can still belong to the newest message that was read: that one is read again, unless the format reads each alone. */
function decode(
  messages: readonly unknown[],
  format: FormatName,
  base: ReadHistory | undefined,
): readonly Decoded[] {
  const { decode: decodeAll, readsAlone = false } = formatNamed(format)
  const known = base?.parts.decoded ?? []
  const same = base === undefined ? 0 : commonLength(messages, base.messages)
  const last = known.findLastIndex(({ to }) => to <= same)
  const from = (readsAlone ? known[last]?.to : known[last]?.from) ?? 0
  if (from === 0) return decodeAll(messages, 'history')
  const kept = known.slice(0, readsAlone ? last + 1 : known.findIndex((one) => one.from >= from))
  try {
    const added = decodeAll(messages.slice(from), 'history')
    return [...kept, ...added.map((one) => ({ ...one, from: one.from + from, to: one.to + from }))]
  } catch (error) {
    // Read from the start, the error names the right place.
    if (OrielError.is(error, 'invalid-input')) return decodeAll(messages, 'history')
    throw error
  }
}

function commonLength(a: readonly unknown[], b: readonly unknown[]): number {
  const most = Math.min(a.length, b.length)
  for (let length = 0; length < most; length++) if (a[length] !== b[length]) return length
  return most
}

/**
 * One key for each message of a history, by what `sync` compares: the same however a client rewrites what it resends. `after` continues
 * from the last key of a history whose next messages these are.
 */
export function historyKeys(
  history: readonly unknown[],
  { format, after }: { readonly format: FormatName; readonly after?: HistoryKey | undefined },
): readonly HistoryKey[] {
  const drafts = formatNamed(format)
    .decode(history, 'history')
    .map(({ draft }) => draft)
  return keysOf(sentOf(after === undefined ? splitLeading(drafts).history : drafts), after)
}
