// Clients that resend everything: what is new is appended, what was edited becomes a fork.

import type { Block } from '../core/block.ts'
import type { Draft, MessageEntry } from '../core/entry.ts'
import { OrielError } from '../core/errors.ts'
import type { State } from '../core/state.ts'
import { compare, detailsOf, keyOf, type Matchable, type Revision } from './match.ts'

export interface SyncResult {
  /** The branch the history is on now. */
  readonly thread: string
  /** Messages that were already there. */
  readonly matched: number
  readonly appended: number
  readonly isForked: boolean
  /** Messages that the branch has now. */
  readonly messages: number
}

/** How a resent history meets a log. */
export interface Meeting {
  /** Messages of the history that are already in the log. */
  readonly matched: number
  /** Messages of the log that the history contradicts or lacks. */
  readonly behind: number
  /** Results that the client now shows shorter than the log has them. */
  readonly revisions: readonly SeqRevision[]
  /** A message that must be compared is only in the store. */
  readonly isUnsure: boolean
}

export interface SeqRevision extends Revision {
  readonly seq: number
}

/** A message that a client sends again, with its key. */
export interface Sent {
  readonly key: string
  readonly message: Matchable
  /** What the key leaves out. Made when first read. */
  readonly details: string
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
}

const noKeys: KeyData = {
  keys: [],
  seqs: [],
  ends: [],
  details: [],
  isOpen: false,
  isUnended: false,
}

/** The keys of a log's messages, kept up to date as it grows. Excluded messages stay: the client still sends them. */
export class KeyIndex {
  readonly #keys: string[]
  readonly #seqs: number[]
  readonly #ends: number[]
  readonly #details: string[]
  #isOpen: boolean
  /** What last agreed with each message: the same objects need not be compared again. */
  readonly #met: Sent[] = []
  /** Whether the newest messages are such as no client resends: what they lead to is not there yet. */
  #isUnended: boolean
  #version: number

  constructor(data: KeyData = noKeys, version = 0) {
    this.#keys = [...data.keys]
    this.#seqs = [...data.seqs]
    this.#ends = [...data.ends]
    this.#details = [...data.details]
    this.#isOpen = data.isOpen
    this.#isUnended = data.isUnended
    this.#version = version
  }

  data(): KeyData {
    return {
      keys: [...this.#keys],
      seqs: [...this.#seqs],
      ends: [...this.#ends],
      details: [...this.#details],
      isOpen: this.#isOpen,
      isUnended: this.#isUnended,
    }
  }

  /** Takes in entries that were appended since. */
  update(state: State): void {
    for (let seq = this.#version + 1; seq <= state.version; seq++) {
      const entry = state.item(seq)?.entry
      if (entry !== undefined) this.#add(entry)
    }
    this.#version = state.version
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
    const { resentAs = { key: keyOf(entry), details: detailsOf(entry) } } = entry
    this.#isUnended = resentAs === 'nothing'
    if (resentAs === 'nothing') return
    this.#keys.push(resentAs.key)
    this.#seqs.push(seq)
    this.#ends.push(seq)
    this.#details.push(resentAs.details)
    this.#isOpen = true
  }

  /** How far a history agrees with the log. */
  meet(history: readonly Sent[], state: State): Meeting {
    const revisions: SeqRevision[] = []
    let matched = 0
    for (; matched < history.length; matched++) {
      const one = history[matched] as Sent
      if (one === this.#met[matched]) continue
      const { key, message } = one
      const seq = this.#seqs[matched]
      if (seq === undefined || key !== this.#keys[matched]) break
      if (one.details === this.#details[matched]) {
        this.#met[matched] = one
        continue
      }
      const entry = state.item(seq)?.entry
      // A message from before the snapshot is not at hand: the caller must get it first.
      if (entry === undefined) return { matched, behind: 1, revisions, isUnsure: true }
      const found = compare(entry, message)
      if (found === undefined) break
      revisions.push(...found.map((revision) => ({ ...revision, seq })))
    }
    const behind = this.#keys.length - matched
    // An answer that was kept although it broke off says again what the messages before its end said: it stands in their place.
    const next = history[matched]?.message
    const isSaying = next?.role === 'assistant' && next.blocks.length > 0
    const isKept = this.#isUnended && behind === 0 && isSaying
    return { matched, behind: isKept ? 1 : behind, revisions, isUnsure: false }
  }

  /** The seq of the last of the first `count` messages, with what plugins and the host put right behind it; 0 for none. */
  endOf(count: number): number {
    return count === 0 ? 0 : (this.#ends[count - 1] as number)
  }
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
    return { ...draft, resentAs: { key: sent.key, details: detailsOf(sent.message) } }
  })
}

export function sentOf(drafts: readonly Draft[]): readonly Sent[] {
  return drafts.map(({ role, content }) => {
    const blocks: readonly Block[] =
      typeof content === 'string' ? [{ type: 'text', text: content }] : content
    const message = { role, blocks }
    let details: string | undefined
    return {
      key: keyOf(message),
      message,
      get details() {
        details ??= detailsOf(message)
        return details
      },
    }
  })
}
