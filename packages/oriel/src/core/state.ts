// The incremental fold of a log: everything the rules and the view need, kept up to date entry by entry.

import type { BlockId, Origin, Role } from './block.ts'
import { type Counter, countBlock, messageTokens } from './counter.ts'
import type { EditEntry, Entry, EntryId, MarkEntry, MessageEntry } from './entry.ts'
import { assert } from './errors.ts'
import { ExchangeIndex, type Place } from './exchange.ts'
import { blockId } from './handle.ts'

/** A message of the log as the state knows it. */
export interface Item {
  readonly entry: MessageEntry
  /** Position among the log's messages, from 0. */
  readonly index: number
  /** Tokens of each block in full form. */
  readonly tokens: readonly number[]
}

export interface StateOptions {
  readonly counter: Counter
  /** Makes ids; the thread keeps it in its log. */
  readonly salt: string
}

/**
 * Applying entries one by one or all at once gives the same state. Cost of `apply`: the entry's own size. Nothing here reads a
 * clock, and nothing in an entry's content can change more than that entry.
 */
export class State {
  readonly counter: Counter
  readonly salt: string
  readonly exchanges = new ExchangeIndex()
  #version = 0
  #messageCount = 0
  #totalTokens = 0
  #assistantCount = 0
  #turn = 0
  #newestUser: number | undefined
  #newestAssistant: number | undefined
  readonly #messages = new Map<number, Item>()
  #visible: Item[] = []
  readonly #externalIds = new Map<string, number>()
  readonly #pinned = new Set<number>()
  readonly #excluded = new Set<number>()
  /** Live edits of single blocks, newest last, by seq and block position. */
  readonly #blockEdits = new Map<string, EditEntry[]>()
  /** Live edits that drop messages, oldest first. */
  #dropEdits: EditEntry[] = []
  readonly #edits = new Map<EntryId, EditEntry>()
  /** Forms that a person took back: `seq:block:form`, block `*` for whole messages. */
  readonly #vetoes = new Set<string>()

  constructor(options: StateOptions) {
    this.counter = options.counter
    this.salt = options.salt
  }

  /** The log's length: the seq of its newest entry. */
  get version(): number {
    return this.#version
  }

  get messageCount(): number {
    return this.#messageCount
  }

  /** Tokens of all messages in full form, dropped ones included. */
  get totalTokens(): number {
    return this.#totalTokens
  }

  /** The current turn: 0 before the first user message. */
  get turn(): number {
    return this.#turn
  }

  /** The current step: 1 + assistant messages so far. */
  get step(): number {
    return this.#assistantCount + 1
  }

  /** The seq of the newest message that a user wrote. */
  get newestUser(): number | undefined {
    return this.#newestUser
  }

  /** The seq of the newest assistant message. */
  get newestAssistant(): number | undefined {
    return this.#newestAssistant
  }

  /** Messages that are neither dropped nor excluded, in order. */
  get visible(): readonly Item[] {
    return this.#visible
  }

  item(seq: number): Item | undefined {
    return this.#messages.get(seq)
  }

  seqOf(externalId: string): number | undefined {
    return this.#externalIds.get(externalId)
  }

  edit(id: EntryId): EditEntry | undefined {
    return this.#edits.get(id)
  }

  /** The newest live edit of one block. */
  blockEdit(seq: number, block: number): EditEntry | undefined {
    return this.#blockEdits.get(`${seq}:${block}`)?.at(-1)
  }

  /** Live edits that drop whole messages, oldest first. */
  get dropEdits(): readonly EditEntry[] {
    return this.#dropEdits
  }

  /** Every edit that is still in force, oldest first. */
  *liveEdits(): Generator<EditEntry> {
    for (const edit of this.#edits.values()) yield edit
  }

  get excluded(): ReadonlySet<number> {
    return this.#excluded
  }

  isPinned(seq: number): boolean {
    return this.#pinned.has(seq)
  }

  isVetoed(seq: number, block: number | '*', form: string): boolean {
    return this.#vetoes.has(`${seq}:${block}:${form}`)
  }

  blockIdAt(place: Place): BlockId {
    return blockId(this.salt, place.seq, place.block)
  }

  /** Takes in the next entry of the log. */
  apply(entry: Entry): void {
    assert(entry.seq === this.#version + 1, 'entries are applied in order, without gaps')
    this.#version = entry.seq
    switch (entry.type) {
      case 'message':
        this.#applyMessage(entry)
        break
      case 'edit':
        this.#applyEdit(entry)
        break
      case 'undo':
        this.#applyUndo(entry.edit)
        break
      case 'mark':
        this.#applyMark(entry)
        break
      default:
      // Settings, usage, requests and entries of later versions do not change what is visible.
    }
  }

  #applyMessage(entry: MessageEntry): void {
    const item: Item = {
      entry,
      index: this.#messageCount,
      tokens: entry.blocks.map((block) => countBlock(this.counter, block)),
    }
    this.#messageCount += 1
    this.#totalTokens += messageTokens + item.tokens.reduce((a, b) => a + b, 0)
    this.#messages.set(entry.seq, item)
    this.#visible.push(item)
    if (entry.externalId !== undefined) this.#externalIds.set(entry.externalId, entry.seq)
    this.exchanges.add(entry)
    if (entry.role === 'assistant') {
      this.#assistantCount += 1
      this.#newestAssistant = entry.seq
    }
    if (startsTurn(entry)) {
      this.#turn += 1
      this.#newestUser = entry.seq
    }
  }

  #applyEdit(entry: EditEntry): void {
    this.#edits.set(entry.id, entry)
    if ('ranges' in entry.target) {
      this.#dropEdits.push(entry)
      this.#hide((seq) => isInRanges(entry, seq), lastOf(entry))
      return
    }
    const key = `${entry.target.seq}:${entry.target.block}`
    const edits = this.#blockEdits.get(key)
    if (edits === undefined) this.#blockEdits.set(key, [entry])
    else edits.push(entry)
  }

  #applyUndo(id: EntryId): void {
    const edit = this.#edits.get(id)
    if (edit === undefined) return
    this.#edits.delete(id)
    if ('ranges' in edit.target) {
      this.#dropEdits = this.#dropEdits.filter((other) => other.id !== id)
      for (const [from, to] of edit.target.ranges) {
        for (let seq = from; seq <= to; seq++) {
          if (this.#messages.has(seq)) this.#vetoes.add(`${seq}:*:dropped`)
        }
      }
      this.#restore(edit)
      return
    }
    const { seq, block } = edit.target
    this.#vetoes.add(`${seq}:${block}:${edit.form}`)
    const rest = (this.#blockEdits.get(`${seq}:${block}`) ?? []).filter((other) => other.id !== id)
    if (rest.length === 0) this.#blockEdits.delete(`${seq}:${block}`)
    else this.#blockEdits.set(`${seq}:${block}`, rest)
  }

  #applyMark(entry: MarkEntry): void {
    const { mark, target } = entry
    if (mark === 'pin') this.#pinned.add(target)
    else if (mark === 'unpin') this.#pinned.delete(target)
    else if (mark === 'exclude') {
      this.#excluded.add(target)
      this.#hide((seq) => seq === target, target)
    } else if (this.#excluded.delete(target)) {
      const item = this.#messages.get(target)
      if (item !== undefined && !this.#isHidden(target)) this.#show([item])
    }
  }

  /** Removes messages from `visible`; only the part up to `last` is looked at. */
  #hide(matches: (seq: number) => boolean, last: number): void {
    const end = lowerBound(this.#visible, last + 1)
    const kept = this.#visible.slice(0, end).filter((item) => !matches(item.entry.seq))
    if (kept.length === end) return
    this.#visible = [...kept, ...this.#visible.slice(end)]
  }

  #restore(edit: EditEntry): void {
    if (!('ranges' in edit.target)) return
    const items: Item[] = []
    for (const [from, to] of edit.target.ranges) {
      for (let seq = from; seq <= to; seq++) {
        const item = this.#messages.get(seq)
        if (item !== undefined && !this.#isHidden(seq)) items.push(item)
      }
    }
    this.#show(items)
  }

  #isHidden(seq: number): boolean {
    if (this.#excluded.has(seq)) return true
    return this.#dropEdits.some((edit) => isInRanges(edit, seq))
  }

  #show(items: readonly Item[]): void {
    const visible = new Map(this.#visible.map((item) => [item.entry.seq, item]))
    for (const item of items) visible.set(item.entry.seq, item)
    this.#visible = [...visible.values()].sort((a, b) => a.entry.seq - b.entry.seq)
  }
}

/** A user's own message begins a turn; synthetic messages and tool results never do. */
export function startsTurn(message: { readonly role: Role; readonly origin: Origin }): boolean {
  return message.role === 'user' && message.origin === 'user'
}

/** Whether an edit that drops messages covers this one. */
export function isInRanges(edit: Pick<EditEntry, 'target'>, seq: number): boolean {
  return (
    'ranges' in edit.target && edit.target.ranges.some(([from, to]) => seq >= from && seq <= to)
  )
}

function lastOf(edit: EditEntry): number {
  if (!('ranges' in edit.target)) return edit.target.seq
  return edit.target.ranges.reduce((last, [, to]) => Math.max(last, to), 0)
}

/** Index of the first item whose seq is at least `seq`. */
function lowerBound(items: readonly Item[], seq: number): number {
  let low = 0
  let high = items.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((items[middle] as Item).entry.seq < seq) low = middle + 1
    else high = middle
  }
  return low
}
