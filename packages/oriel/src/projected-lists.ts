// What `project` remembers of the lists that it was given: a list that grew by a few messages is read from there on.

import type { Draft, Edit } from './core/log/entry.ts'
import { Imprint } from './core/log/imprint.ts'
import { equalJson } from './core/log/json.ts'
import type { Feed } from './feed.ts'
import type { Decoded, MessageCodec } from './providers/format.ts'
import { decodeWithOwnFields } from './providers/own-fields.ts'

/** Lists that begin with the same message and are remembered at once: one for each way of asking. */
const mostPerMessage = 4

/** Everything beside the messages that an answer depends on. */
export interface Asked {
  /** Compared by identity. */
  readonly same: readonly unknown[]
  /** Plain data, compared by its content. */
  readonly alike: readonly unknown[]
}

/** A list that was read to its end. */
export interface ReadList {
  /** Grows with the list; `count` are of this call. */
  readonly decoded: readonly Decoded[]
  readonly count: number
  readonly feed: Feed
  /** What the view would change, on top of the edits that the state holds. */
  readonly planned: readonly Edit[]
  /**
   * The caller's messages, where they are plain data; the same list as in the last call if it continues with the same objects, not only with
   * equal ones.
   */
  readonly inputs: readonly unknown[] | undefined
}

export interface ReadOptions {
  readonly format: MessageCodec
  readonly messages: readonly unknown[]
  readonly asked: Asked
  /** Whether the next call may continue from a list with these messages. */
  readonly mayRemember: (drafts: readonly Draft[]) => boolean
  /** Makes an empty state for a list that is read from its start. */
  readonly newFeed: () => Feed
}

/** A list as it was read last. */
interface Remembered {
  readonly same: readonly unknown[]
  readonly alike: Imprint
  readonly imprint: Imprint
  readonly decoded: Decoded[]
  readonly feed: Feed
  inputs: unknown[]
  /** How many of the imprint's values had been replaced when `inputs` was made. */
  replaced: number
}

/**
 * By the first message, and by the second: the system message is often written anew for each call. Nothing is held longer than the
 * caller holds that message.
 */
const lists = new WeakMap<object, readonly Remembered[]>()

/**
 * Reads a list, from where an earlier call ended if this list continues that one. What is remembered is compared with what it was,
 * message by message, so that a message that was changed in place, replaced or cut is noticed: such a list is read from its start.
 */
export function readList(options: ReadOptions): ReadList {
  const { format, messages, asked, mayRemember, newFeed } = options
  const known = orUndefined(() => continued(options))
  if (known !== undefined) {
    const { list, added } = known
    try {
      const planned = list.feed.add(added.map(({ draft }) => draft))
      return { ...list, count: list.decoded.length, planned }
    } catch (error) {
      forget(messages, list)
      throw error
    }
  }
  const feed = newFeed()
  const decoded = [...decodeWithOwnFields(format, messages, 'messages')]
  const drafts = decoded.map(({ draft }) => draft)
  const planned = feed.add(drafts)
  const imprint = new Imprint()
  const isPlain = (): boolean => messages.every((message) => imprint.add(message))
  const inputs = orUndefined(() => (isPlain() ? [...messages] : undefined))
  if (inputs !== undefined && mayRemember(drafts)) {
    remember(messages, { decoded, feed, inputs, imprint }, asked)
  }
  return { decoded, count: decoded.length, feed, planned, inputs }
}

/** Undefined where a proxy or a getter throws: reading the list says which. */
function orUndefined<T>(read: () => T | undefined): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

/** The list that `messages` continues, with what is new. */
function continued({
  format,
  messages,
  asked,
  mayRemember,
}: ReadOptions): { readonly list: Remembered; readonly added: readonly Decoded[] } | undefined {
  const list = keysOf(messages)
    .flatMap((key) => lists.get(key) ?? [])
    .find((one) => isAskedAlike(one, asked) && one.imprint.isBeginningOf(messages))
  const added = list && decodeFrom(format, messages, list.decoded)
  if (list === undefined || added === undefined) return undefined
  const drafts = added.map(({ draft }) => draft)
  if (!mayRemember(drafts) || !list.feed.mayAdd(drafts)) return undefined
  const more = messages.slice(list.imprint.length)
  if (!more.every((message) => list.imprint.add(message))) {
    forget(messages, list)
    return undefined
  }
  if (list.replaced === list.imprint.replaced) list.inputs.push(...more)
  else list.inputs = [...messages]
  list.replaced = list.imprint.replaced
  list.decoded.push(...added)
  return { list, added }
}

function remember(
  messages: readonly unknown[],
  read: Pick<Remembered, 'decoded' | 'feed' | 'inputs' | 'imprint'>,
  { same, alike }: Asked,
): void {
  const around = new Imprint()
  if (!alike.every((value) => around.add(value))) return
  const list: Remembered = { same, alike: around, ...read, replaced: read.imprint.replaced }
  for (const key of keysOf(messages)) {
    const others = (lists.get(key) ?? []).filter((other) => !isAskedAlike(other, { same, alike }))
    lists.set(key, [...others.slice(1 - mostPerMessage), list])
  }
}

function forget(messages: readonly unknown[], list: Remembered): void {
  for (const key of keysOf(messages)) {
    lists.set(
      key,
      (lists.get(key) ?? []).filter((other) => other !== list),
    )
  }
}

function keysOf(messages: readonly unknown[]): readonly object[] {
  return messages
    .slice(0, 2)
    .filter((message): message is object => typeof message === 'object' && message !== null)
}

function isAskedAlike(list: Pick<Remembered, 'same' | 'alike'>, { same, alike }: Asked): boolean {
  return list.same.every((value, index) => value === same[index]) && list.alike.isBeginningOf(alike)
}

/** What came behind the messages that are decoded; undefined where it changes how the last of them is read, or cannot be read. */
function decodeFrom(
  format: MessageCodec,
  messages: readonly unknown[],
  known: readonly Decoded[],
): readonly Decoded[] | undefined {
  const last = known.at(-1)
  if (last === undefined) return undefined
  const from = format.readsAlone === true ? last.to : last.from
  let decoded: readonly Decoded[]
  try {
    decoded = decodeWithOwnFields(format, messages.slice(from), 'messages')
  } catch {
    // Read from the start, the error names the right place.
    return undefined
  }
  const placed = decoded.map((one) => ({ ...one, from: one.from + from, to: one.to + from }))
  if (format.readsAlone === true) return placed
  const [again, ...added] = placed
  const isSame = again?.to === last.to && equalJson(again.draft as never, last.draft as never)
  return isSame ? added : undefined
}
