// Clients that resend everything: what is new is appended, what was edited becomes a fork.

import type { Block } from '../../core/log/block.ts'
import type { Draft, MessageEntry } from '../../core/log/entry.ts'
import { assert, OrielError } from '../../core/log/errors.ts'
import type { State } from '../../core/state/state.ts'
import { type BrokenOff, signaturesBehind } from './interrupted.ts'
import {
  compactionKeyOf,
  compare,
  detailsOf,
  keyOf,
  type Matchable,
  type Revision,
  saysAll,
} from './match.ts'

/** What became of a resent history. */
export interface SyncCounts {
  /** The id of the branch that has the history now. */
  readonly thread: string
  /** Messages that were already there. */
  readonly matched: number
  readonly appended: number
  readonly isForked: boolean
  /** Messages that the branch has now. */
  readonly messages: number
}

/** How a resent history meets a log. */
export interface KeyMatch {
  /** Messages of the history that are already in the log. */
  readonly matched: number
  /** How many of the log's messages these are: a client may resend the parts of an answer as one. */
  readonly kept: number
  /** Messages of the log that the history contradicts or lacks. */
  readonly behind: number
  /** What each of these messages of the history is in the log. */
  readonly met: readonly Met[]
  /** Results that the client now shows shorter than the log has them. */
  readonly revisions: readonly SeqRevision[]
  /** A message that must be compared is only in the store. */
  readonly isUnsure: boolean
  /** The first message that is not in the log, where it is an answer that broke off. */
  readonly brokenOff?: BrokenOff
}

/** What a message of a resent history is in the log. */
export interface Met {
  /** The entries that it stands for, with those before them that no client ever saw. */
  readonly seqs: readonly number[]
  /** Whether it says all that they say, and nothing else. */
  readonly isSame: boolean
}

export interface SeqRevision extends Revision {
  readonly seq: number
}

/** A message that a client sends again, with its key. */
export interface IncomingMessage {
  readonly key: string
  readonly message: Matchable
  /** What the key leaves out. Made when first read. */
  readonly details: string
}

/** A message of the history that the log has. */
interface Agreed {
  /** How many messages it is there. */
  readonly count: number
  readonly revised?: readonly SeqRevision[]
}

/** A message of the history and the entries that it was compared with. */
interface MetEntries extends Met {
  readonly entries: readonly (MessageEntry | undefined)[]
}

/** What a snapshot keeps of it. */
export interface KeyData {
  readonly keys: readonly string[]
  readonly seqs: readonly number[]
  /** Where a fork behind each message begins: after what plugins and the host put right behind it. */
  readonly ends: readonly number[]
  readonly details: readonly string[]
  /** Whether what plugins and the host add now still stands right behind the newest of them. */
  readonly isOpen: boolean
  /** Whether the log ends with messages of which a client resends nothing. */
  readonly isUnended: boolean
  /** Compactions, by their keys: how many messages stand before the one that has it. */
  readonly compactions: readonly (readonly [key: string, at: number])[]
}

const noKeys: KeyData = {
  keys: [],
  seqs: [],
  ends: [],
  details: [],
  isOpen: false,
  isUnended: false,
  compactions: [],
}

/** The keys of a log's messages, kept up to date as it grows. Excluded messages stay: the client still sends them. */
export class KeyIndex {
  /** One for each message; what was appended without one gets it when it is compared. */
  readonly #keys: (string | undefined)[]
  readonly #seqs: number[]
  readonly #ends: number[]
  readonly #details: (string | undefined)[]
  #isOpen: boolean
  /** What last agreed with each message, and for how many it stands: the same objects need not be compared again. */
  readonly #met: (Agreed & { readonly sent: IncomingMessage; readonly as: MetEntries })[] = []
  /** How many messages stand before the one that has a compaction, by its key. */
  readonly #compactions: Map<string, number>
  /** Whether the newest messages are such as no client resends: what they lead to is not there yet. */
  #isUnended: boolean
  #version: number
  #last:
    | {
        readonly history: readonly IncomingMessage[]
        readonly version: number
        readonly meeting: KeyMatch
      }
    | undefined
  /** What the client sent of messages that are not taken in yet, by seq. */
  readonly #taken = new Map<number, IncomingMessage>()

  constructor(data: KeyData = noKeys, version = 0) {
    this.#keys = [...data.keys]
    this.#seqs = [...data.seqs]
    this.#ends = [...data.ends]
    this.#details = [...data.details]
    this.#isOpen = data.isOpen
    this.#isUnended = data.isUnended
    this.#compactions = new Map(data.compactions)
    this.#version = version
  }

  data(state: State): KeyData {
    const named = this.#seqs.map((_, at) => this.#nameAt(at, state))
    return {
      keys: named.map(({ key }) => key),
      seqs: [...this.#seqs],
      ends: [...this.#ends],
      details: named.map(({ details }) => details),
      isOpen: this.#isOpen,
      isUnended: this.#isUnended,
      compactions: [...this.#compactions],
    }
  }

  /** Notes what the client sent of messages that were just appended: their keys need not be made again. */
  noteAppended(entries: readonly MessageEntry[], sent: readonly IncomingMessage[]): void {
    entries.forEach((entry, index) => {
      const own = sent[index]
      if (own !== undefined && entry.seq > this.#version) this.#taken.set(entry.seq, own)
    })
  }

  /** Takes in entries that were appended since. */
  update(state: State): void {
    for (let seq = this.#version + 1; seq <= state.version; seq++) {
      const entry = state.item(seq)?.entry
      if (entry !== undefined) this.#add(entry)
    }
    this.#version = state.version
    this.#taken.clear()
  }

  #add(entry: MessageEntry): void {
    const { role, origin, seq } = entry
    const isOurs = origin === 'plugin' || origin === 'host'
    if (isOurs && role !== 'assistant') {
      if (this.#isOpen) this.#ends[this.#ends.length - 1] = seq
      return
    }
    this.#isOpen = false
    if (isOurs) return
    // Leading system messages are part of the frame, in the log as in a resent history.
    if (this.#keys.length === 0 && role === 'system') return
    const { resentAs = this.#taken.get(seq) } = entry
    const seenAs = entry.resentAs === 'nothing' ? undefined : entry.resentAs?.compaction
    const compaction = seenAs ?? compactionKeyOf(entry)
    if (compaction !== undefined) this.#compactions.set(compaction, this.#keys.length)
    this.#isUnended = resentAs === 'nothing'
    if (resentAs === 'nothing') return
    this.#keys.push(resentAs?.key)
    this.#seqs.push(seq)
    this.#ends.push(seq)
    this.#details.push(resentAs?.details)
    this.#isOpen = true
  }

  /** The key and the details of the log's message at a position, the same as those of a message that says the same. */
  #nameAt(
    at: number,
    state: State,
    sent?: IncomingMessage,
  ): Pick<IncomingMessage, 'key' | 'details'> {
    const [known, more] = [this.#keys[at], this.#details[at]]
    if (known !== undefined && more !== undefined) return { key: known, details: more }
    const entry = state.item(this.#seqs[at] as number)?.entry
    assert(entry !== undefined, 'a message without a key is at hand')
    const { key, details } = sent && saysTheSame(entry, sent.message) ? sent : new LazySent(entry)
    this.#keys[at] = key
    this.#details[at] = details
    return { key, details }
  }

  /** How far a history agrees with the log. */
  match(history: readonly IncomingMessage[], state: State): KeyMatch {
    const last = this.#last
    if (last?.history === history && last.version === this.#version) return last.meeting
    const meeting = this.#meet(history, state)
    // It is looked at before a branch is chosen, and again when it is written to.
    if (!meeting.isUnsure) this.#last = { history, version: this.#version, meeting }
    return meeting
  }

  /** A client may leave out what its newest compaction stands for, or send another form of it. */
  #meet(history: readonly IncomingMessage[], state: State): KeyMatch {
    const whole = this.#meetFrom(history, state, { matched: 0, kept: 0 })
    if (this.#compactions.size === 0 || whole.isUnsure) return whole
    const at = history.findLastIndex(({ message }) => compactionKeyOf(message) !== undefined)
    if (whole.matched > at) return whole
    const key = compactionKeyOf((history[at] as IncomingMessage).message) ?? ''
    const kept = this.#compactions.get(key)
    return kept === undefined ? whole : this.#meetFrom(history, state, { matched: at, kept })
  }

  #meetFrom(
    history: readonly IncomingMessage[],
    state: State,
    start: Pick<KeyMatch, 'matched' | 'kept'>,
  ): KeyMatch {
    const revisions: SeqRevision[] = []
    const met: Met[] = history.slice(0, start.matched).map(() => unmet)
    let { matched, kept } = start
    for (; matched < history.length; matched++) {
      const sent = history[matched] as IncomingMessage
      const known = this.#met[kept]?.sent === sent ? this.#met[kept] : undefined
      const found = known ?? this.#agree(sent, kept, state)
      // A message from before the snapshot is not at hand: the caller must get it first.
      if (found === 'unsure') return { matched, kept, met, behind: 1, revisions, isUnsure: true }
      if (found === undefined) break
      const { count, revised = [] } = found
      const as = this.#entriesAt(sent, { at: kept, count, known: known?.as, state })
      met.push(as)
      if (revised.length === 0) this.#met[kept] = { sent, count, as }
      revisions.push(...revised)
      kept += count
    }
    const behind = this.#keys.length - kept
    // An answer that was kept although it broke off says again what the messages before its end said: it stands in their place.
    const next = history[matched]?.message
    const isSaying = next?.role === 'assistant' && next.blocks.length > 0
    const isKept = this.#isUnended && behind === 0 && isSaying
    if (!isKept) return { matched, kept, met, behind, revisions, isUnsure: false }
    const signatures = signaturesBehind(state, this.endOf(kept))
    const brokenOff = { at: matched, signatures }
    return { matched, kept, met, behind: 1, revisions, isUnsure: false, brokenOff }
  }

  /** The entries for which a message stands, and whether it says the same. Compared again only where they are other objects. */
  #entriesAt({ message }: IncomingMessage, { at, count, known, state }: MetPlace): MetEntries {
    const seqs = this.#seqs.slice(at, at + count)
    const entries = seqs.map((seq) => state.item(seq)?.entry)
    if (known !== undefined && entries.every((entry, index) => entry === known.entries[index])) {
      return known
    }
    const isSeenAs = entries.some((entry) => entry?.resentAs !== undefined)
    const hidden = isSeenAs ? hiddenBetween(state, this.endOf(at), seqs[0] as number) : []
    const blocks = entries.flatMap((entry) => entry?.blocks ?? [])
    const logged = entries.length === 1 ? entries[0] : entries[0] && { ...entries[0], blocks }
    const isAtHand = logged !== undefined && !entries.includes(undefined)
    const isSame = isAtHand && hidden.length === 0 && saysAll(logged, message)
    return { seqs: [...hidden, ...seqs], isSame, entries }
  }

  /** For how many of the log's messages, from a position on, a message stands; undefined where it is another one. */
  #agree(sent: IncomingMessage, at: number, state: State): Agreed | 'unsure' | undefined {
    const seq = this.#seqs[at]
    if (seq === undefined) return undefined
    const parts = state.exchanges.parts.of(seq).filter((part) => part >= seq)
    if (parts.length > 1 && sent.message.role === 'assistant') {
      const joined = this.#agreeJoined(sent, parts, { at, state })
      if (joined !== undefined) return joined
    }
    const named = this.#nameAt(at, state, sent)
    if (sent.key !== named.key) return undefined
    if (sent.details === named.details) return { count: 1 }
    const entry = state.item(seq)?.entry
    if (entry === undefined) return 'unsure'
    const found = compare(entry, sent.message)
    return found && { count: 1, revised: found.map((revision) => ({ ...revision, seq })) }
  }

  /** The same for a message that holds several parts of one answer. What shows no text is distinguished by its other blocks. */
  #agreeJoined(
    { key, message }: IncomingMessage,
    parts: readonly number[],
    { at, state }: { readonly at: number; readonly state: State },
  ): Agreed | 'unsure' | undefined {
    const blocks: Block[] = []
    for (const [index, seq] of parts.entries()) {
      const entry = state.item(seq)?.entry
      if (entry === undefined) return 'unsure'
      if (this.#seqs[at + index] !== seq) return undefined
      blocks.push(...entry.blocks)
      const joined = { role: entry.role, blocks }
      const isSame = index > 0 && keyOf(joined) === key && opaqueIn(joined) === opaqueIn(message)
      if (isSame) return compare(joined, message) && { count: index + 1 }
    }
    return undefined
  }

  /** The seq of the last of the first `count` messages, with what plugins and the host put right behind it; 0 for none. */
  endOf(count: number): number {
    return count === 0 ? 0 : (this.#ends[count - 1] as number)
  }
}

/** What a compaction stands for is not looked at. */
const unmet: Met = { seqs: [], isSame: false }

interface MetPlace {
  readonly at: number
  readonly count: number
  readonly known: MetEntries | undefined
  readonly state: State
}

/** The messages behind one seq and before another of which a client resends nothing. */
function hiddenBetween(state: State, after: number, before: number): readonly number[] {
  const seqs: number[] = []
  for (let seq = after + 1; seq < before; seq++) {
    if (state.item(seq)?.entry.resentAs === 'nothing') seqs.push(seq)
  }
  return seqs
}

/** Whether both are the same words and nothing else: then their keys are the same too. */
function saysTheSame(a: Matchable, b: Matchable): boolean {
  const [one, other] = [a.blocks[0], b.blocks[0]]
  const isAlone = a.blocks.length === 1 && b.blocks.length === 1 && a.role === b.role
  if (!isAlone || one?.type !== 'text' || other?.type !== 'text') return false
  return one.text === other.text && one.plugin === other.plugin
}

function opaqueIn({ blocks }: Matchable): number {
  return blocks.filter(({ type }) => type === 'opaque').length
}

/** Whether entries are the messages of a client and nothing else, what plugins and the host put beside them aside. */
export function saysOnly(
  entries: readonly MessageEntry[],
  sent: readonly IncomingMessage[],
): boolean {
  const said = entries.filter(({ origin }) => origin !== 'plugin' && origin !== 'host')
  return (
    said.length === sent.length &&
    said.every((entry, at) => {
      const own = sent[at] as IncomingMessage
      return keyOf(entry) === own.key && detailsOf(entry) === own.details
    })
  )
}

/** A history split into what precedes the conversation (part of the frame) and the conversation itself. */
export function splitLeading(drafts: readonly Draft[]): {
  readonly leading: readonly Draft[]
  readonly history: readonly Draft[]
} {
  const first = drafts.findIndex((draft) => draft.role !== 'system')
  const end = first === -1 ? drafts.length : first
  return { leading: drafts.slice(0, end), history: drafts.slice(end) }
}

/**
 * Drafts that a client never sees as they are: it resends `visible` in their place, or nothing. The last one carries what it resends,
 * so that a fork behind that message keeps all of them.
 */
export function hiddenDrafts(
  drafts: readonly Draft[],
  visible: readonly Draft[],
): readonly Draft[] {
  const [sent, ...others] = sentOf(visible)
  if (others.length > 0) {
    const message = `resentAs must be one message or none, got ${visible.length}.`
    throw new OrielError('invalid-option', message, { path: 'resentAs' })
  }
  return drafts.map((draft, index) => {
    const isLast = index === drafts.length - 1
    if (sent === undefined || !isLast) return { ...draft, resentAs: 'nothing' }
    const compaction = compactionKeyOf(sent.message)
    const own = compaction === undefined ? {} : { compaction }
    return { ...draft, resentAs: { key: sent.key, details: detailsOf(sent.message), ...own } }
  })
}

export function sentOf(drafts: readonly Draft[]): readonly IncomingMessage[] {
  return drafts.map(({ role, content }) => {
    const blocks: readonly Block[] =
      typeof content === 'string' ? [{ type: 'text', text: content }] : content
    return new LazySent({ role, blocks })
  })
}

class LazySent implements IncomingMessage {
  readonly key: string
  readonly message: Matchable
  #details: string | undefined

  constructor(message: Matchable) {
    this.key = keyOf(message)
    this.message = message
  }

  get details(): string {
    this.#details ??= detailsOf(this.message)
    return this.#details
  }
}
