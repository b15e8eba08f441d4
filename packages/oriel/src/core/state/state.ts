// State: the incremental fold of a log, with everything that rules and views need.

import { type BlockId, lengthOf, type Origin, type Role, withKnownBlocks } from '../log/block.ts'
import type {
  Edit,
  EditEntry,
  Entry,
  EntryId,
  MarkEntry,
  MessageEntry,
  UndoEntry,
} from '../log/entry.ts'
import { assert } from '../log/errors.ts'
import { blockId } from '../log/ids.ts'
import { type Counter, countBlock, overheadOf } from '../tokens/counter.ts'
import {
  countsForRetention,
  hasLifetime,
  isLasting,
  isOfResults,
  lastingBlock,
} from '../view/audience.ts'
import {
  adoptedEpoch,
  EditIndex,
  type EditIndexData,
  firstOf,
  isInRanges,
  lastOf,
  seqsOf,
  type WindowReach,
} from './edits.ts'
import { type BlockPosition, ExchangeIndex, type ExchangeIndexData } from './exchange.ts'
import type { ExpandedBlock } from './expansion.ts'
import { PrefixChanges, type PrefixChangesData } from './prefix-changes.ts'
import { rowsOf } from './rows.ts'

export interface StateOptions {
  readonly counter: Counter
  /** Salt for ids, stored in the thread's log. */
  readonly salt: string
  /** Tokens of the same messages that were counted elsewhere. @default each is counted when first needed */
  readonly counts?: TokenCounts | undefined
}

/** The tokens of each block of the message at `seq`; undefined where nobody counted them. */
export type TokenCounts = (seq: number) => readonly number[] | undefined

/**
 * Folds log entries. Applying entries one by one or all at once gives the same state. `apply` costs
 * no more than the entry's size. State reads no clock, and an entry's content affects that entry
 * only.
 */
export class State {
  readonly counter: Counter
  readonly salt: string
  readonly counts: TokenCounts | undefined
  readonly exchanges: ExchangeIndex
  /** Prefix changes caused by undos and marks. */
  readonly moves: PrefixChanges
  readonly #edits: EditIndex
  #isPartial: boolean
  #version = 0
  #messageCount = 0
  #assistantCount = 0
  #totalTokens = 0
  /** Messages not yet included in `totalTokens`. */
  #uncounted: Item[] = []
  #turn = 0
  #newestUser: number | undefined
  #firstSpoken: number | undefined
  #newestAssistant: number | undefined
  #newestOrdinal = 0
  #answeredOrdinal = 0
  /** Shared by the results of the newest step; undefined before the first of them. */
  #resultsOrdinal: number | undefined
  #newestRequest = 0
  #endedRequest = 0
  #visible: Item[] = []
  #visits = 0
  #reshaped = 0
  #adopted = 0
  /** The first seq that each change of older messages concerned; 0 for all. */
  readonly #touches: number[] = []
  readonly #stepSeqs = new Map<number, number>()
  readonly #turnSeqs = new Map<number, number>()
  #hasSigned = false
  #hasLifetimes = false
  #hasOwnSettings = false
  readonly #messages = new Map<number, Item>()
  readonly #externalIds = new Map<string, number>()
  readonly #derived = new Map<string, object>()
  /** Facts of messages that were hidden when the snapshot was taken. Made when first asked for: a view seldom needs them. */
  #hiddenFactsBySeq: Map<number, MessageFacts> | undefined
  #restoredFrom: Pick<StateData, 'hidden'> = { hidden: [] }
  readonly #pinned = new Set<number>()
  readonly #excluded = new Set<number>()
  readonly #compactions: CompactionPlace[] = []
  /** The newest expansion of each block, by `seq:block`. */
  readonly #expansions = new Map<string, ExpandedBlock>()

  constructor(options: StateOptions, data?: StateData, entries: readonly MessageEntry[] = []) {
    this.counter = options.counter
    this.salt = options.salt
    this.counts = options.counts
    this.#isPartial = data !== undefined
    this.exchanges = data === undefined ? new ExchangeIndex() : ExchangeIndex.from(data.exchanges)
    this.#edits = data === undefined ? new EditIndex() : EditIndex.from(data.edits)
    this.moves = new PrefixChanges(data?.moves)
    if (data !== undefined) this.#restore(data, entries)
  }

  /** Snapshot of the state, without its messages. The rows of messages are made when they are read, and stay those of now. */
  data(): StateData {
    const visible = [...this.#visible]
    const seqs = new Set(visible.map(({ entry }) => entry.seq))
    return {
      version: this.#version,
      messageCount: this.#messageCount,
      assistantCount: this.#assistantCount,
      totalTokens: this.totalTokens,
      turn: this.#turn,
      newestUser: this.#newestUser ?? null,
      firstSpoken: this.#firstSpoken ?? null,
      newestAssistant: this.#newestAssistant ?? null,
      ordinals: [this.#newestOrdinal, this.#answeredOrdinal, this.#resultsOrdinal ?? null],
      requests: [this.#newestRequest, this.#endedRequest],
      visible: rowsOf(visible, visibleRow),
      hidden: this.#hiddenFacts(seqs),
      compactions: [...this.#compactions],
      pinned: [...this.#pinned],
      excluded: [...this.#excluded],
      expansions: [...this.#expansions],
      exchanges: this.exchanges.data(seqs, this.#version),
      edits: this.#edits.data(),
      moves: this.moves.data(),
    }
  }

  /** The same state, to be folded further by itself. It shares the messages. */
  copy(): State {
    const entries = this.#visible.map(({ entry }) => entry)
    // A snapshot leaves out exchanges that nobody sees; here they may come back.
    const exchanges = this.exchanges.data(new Set(this.#messages.keys()), this.#version)
    const copy = new State(this, { ...this.data(), exchanges }, entries)
    for (const item of this.#messages.values()) copy.#know(item)
    copy.#visible = [...this.#visible]
    copy.#isPartial = this.#isPartial
    return copy
  }

  /** True if restored from a snapshot: messages dropped before it exist only in the store. */
  get isPartial(): boolean {
    return this.#isPartial
  }

  /** Length of the log: the seq of its newest entry. */
  get version(): number {
    return this.#version
  }

  get messageCount(): number {
    return this.#messageCount
  }

  /** Tokens of all messages in full form, including dropped ones. */
  get totalTokens(): number {
    for (const { entry, tokens } of this.#uncounted) {
      const overhead = isLasting(entry) ? overheadOf(entry.role) : 0
      this.#totalTokens += tokens.reduce((a, b) => a + b, overhead)
    }
    this.#uncounted = []
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

  /** Seq of the newest message written by a user. */
  get newestUser(): number | undefined {
    return this.#newestUser
  }

  /** Seq of the first message that is not a system message. */
  get firstSpoken(): number | undefined {
    return this.#firstSpoken
  }

  /** Seq of the newest assistant message. */
  get newestAssistant(): number | undefined {
    return this.#newestAssistant
  }

  /**
   * Count of messages that age others and that the model has answered. Retention ages are measured
   * with it.
   */
  get answeredOrdinal(): number {
    return this.#answeredOrdinal
  }

  /**
   * Seq of the newest request before the newest user message; 0 if there is none. Content for one
   * request only that stands before it had its request, answered or not.
   */
  get endedRequest(): number {
    return this.#endedRequest
  }

  /** Messages that are neither dropped nor excluded, in order. */
  get visible(): readonly Item[] {
    this.#visits += this.#visible.length
    return this.#visible
  }

  /** Messages read so far: a measure of work per step, for tests. */
  get visits(): number {
    return this.#visits
  }

  item(seq: number): Item | undefined {
    this.#visits += 1
    return this.#messages.get(seq)
  }

  /** Facts about a message, even if only the store has the message itself. */
  facts(seq: number): MessageFacts | undefined {
    const item = this.item(seq)
    return item === undefined ? this.#facts().get(seq) : factsOf(item)
  }

  seqOf(externalId: string): number | undefined {
    return this.#externalIds.get(externalId)
  }

  edit(id: EntryId): EditEntry | undefined {
    return this.#edits.get(id)
  }

  /**
   * The edit in force of one block: the newest live one, without references whose source is gone. `isGone` adds what planned edits
   * remove.
   */
  blockEdit(
    seq: number,
    block: number,
    isGone?: (seq: number, block: number) => boolean,
  ): EditEntry | undefined {
    const newest = this.#edits.ofBlock(seq, block)
    if (newest?.refersTo === undefined) return newest
    return this.#edits
      .allOfBlock(seq, block)
      .findLast(
        ({ refersTo = [] }) =>
          !refersTo.some(([at, own]) => isGone?.(at, own) === true || !this.isSource(at, own)),
      )
  }

  /**
   * True if the view shows a block, whole or by references: others may refer to it. A half exchange is repaired, so it may not be shown.
   */
  isSource(seq: number, block: number): boolean {
    return (
      this.exchanges.membersOf(seq).every((member) => this.isVisible(member)) &&
      this.#edits.allOfBlock(seq, block).every(({ refersTo }) => refersTo !== undefined)
    )
  }

  /** Counts what changed the view of older messages, references aside: what was derived from them before may be out of date. */
  get reshaped(): number {
    return this.#reshaped
  }

  /** How many changes of older messages there were: a mark for `touchedSince`. */
  get touchCount(): number {
    return this.#touches.length
  }

  /**
   * The first seq whose view may have changed since there were `count` changes, new messages aside; Infinity if there is none. What was
   * derived from messages before it holds.
   */
  touchedSince(count: number): number {
    let first = Infinity
    for (let index = count; index < this.#touches.length; index++) {
      first = Math.min(first, this.#touches[index] as number)
    }
    return first
  }

  /** True if any message ever carried signed reasoning. */
  get hasSigned(): boolean {
    return this.#hasSigned
  }

  /** True if any message ever carried a block with a lifetime. */
  get hasLifetimes(): boolean {
    return this.#hasLifetimes
  }

  /** True if a host ever gave a message a tool, a kind or an expiry of its own. */
  get hasOwnSettings(): boolean {
    return this.#hasOwnSettings
  }

  /** True for a message that is neither dropped nor excluded. */
  isVisible(seq: number): boolean {
    return this.#visible[lowerBound(this.#visible, seq)]?.entry.seq === seq
  }

  /** Position among the visible messages of the first one at or behind `seq`. */
  positionOf(seq: number): number {
    return lowerBound(this.#visible, seq)
  }

  /** The visible messages from a position on. Counts only those as visited. */
  visibleFrom(position: number): readonly Item[] {
    const items = position === 0 ? this.#visible : this.#visible.slice(position)
    this.#visits += items.length
    return items
  }

  get visibleCount(): number {
    return this.#visible.length
  }

  /** The visible message at a position; negative ones count from the end. */
  visibleAt(position: number): Item | undefined {
    this.#visits += 1
    return this.#visible.at(position)
  }

  /** Seqs of the steps and turns that are visible. */
  get clock(): Clock {
    const seen = (seqs: ReadonlyMap<number, number>) => ({
      get: (count: number): number | undefined => {
        const seq = seqs.get(count)
        if (seq === undefined) return undefined
        return this.isVisible(seq) ? seq : undefined
      },
    })
    return { steps: seen(this.#stepSeqs), turns: seen(this.#turnSeqs) }
  }

  /** All live edits of one block, newest last. */
  blockEdits(seq: number, block: number): readonly EditEntry[] {
    return this.#edits.allOfBlock(seq, block)
  }

  /** How far the windows of the live drops since the newest checkpoint went. */
  get windowReach(): WindowReach {
    return this.#edits.reach
  }

  /** Live edits that drop whole messages, oldest first. */
  get dropEdits(): readonly EditEntry[] {
    return this.#edits.drops
  }

  /** The live checkpoint. */
  get checkpoint(): EditEntry | undefined {
    return this.#edits.checkpoint
  }

  /** The live edit that mirrors a provider's own compaction. */
  get compaction(): EditEntry | undefined {
    return this.#edits.compaction
  }

  /** Compactions by providers that models may see, oldest first. */
  get compactions(): readonly CompactionPlace[] {
    return this.#compactions
  }

  /** Cached summary of the same source, if a live edit contains it. */
  summaryOf(key: string): string | undefined {
    return this.#edits.summaryOf(key)
  }

  /** All live edits, oldest first. */
  liveEdits(): Iterable<EditEntry> {
    return this.#edits.values()
  }

  /** Live edits that did not preserve the original, oldest first. */
  get finalEdits(): readonly EditEntry[] {
    return this.#edits.final
  }

  /** True if a live edit of the block did not preserve the original. */
  isFinal(seq: number, block: number): boolean {
    return this.#edits.isFinal(seq, block)
  }

  get excluded(): ReadonlySet<number> {
    return this.#excluded
  }

  get hasExpansions(): boolean {
    return this.#expansions.size > 0
  }

  /** The newest expansion of a block, active or not; see `expansionsOf`. */
  expansion(seq: number, block: number): ExpandedBlock | undefined {
    return this.#expansions.get(`${seq}:${block}`)
  }

  get pinned(): ReadonlySet<number> {
    return this.#pinned
  }

  isPinned(seq: number): boolean {
    return this.#pinned.has(seq)
  }

  /**
   * True if a pin keeps the message visible although an edit drops it. A pin keeps its own message,
   * the rest of its exchange, and the user message that opens its turn. A pin of an excluded
   * message keeps nothing. The block of a provider's compaction in force keeps its exchange alike.
   */
  isKeptByPin(seq: number): boolean {
    const [compacted] = this.#edits.compaction?.compactedBy ?? []
    if (this.#pinned.size === 0 && compacted === undefined) return false
    const isPin = (pinned: number): boolean =>
      this.#pinned.has(pinned) && !this.#excluded.has(pinned)
    const members = this.exchanges.membersOf(seq)
    if (members.some((member) => member === compacted || isPin(member))) return true
    return opensTurnOf(this.#messages, seq, [...this.#pinned].filter(isPin))
  }

  isVetoed(seq: number, block: number | '*', form: string): boolean {
    return this.#edits.isVetoed(seq, block, form)
  }

  /**
   * Memoizes a value derived from the log alone. It is not part of the state and may be evicted at
   * any time.
   */
  derive<T extends object>(key: string, make: () => T): T {
    const known = this.#derived.get(key)
    // Each key has one value type, known to its caller.
    if (known !== undefined) return known as T
    const made = make()
    this.#derived.set(key, made)
    return made
  }

  blockIdAt(place: BlockPosition): BlockId {
    return blockId(this.salt, place.seq, place.block)
  }

  /** Folds the next entry of the log. */
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
        this.#applyUndo(entry)
        this.#reshaped += 1
        this.#touches.push(0)
        break
      case 'mark':
        this.#applyMark(entry)
        this.#reshaped += 1
        this.#touches.push(0)
        break
      case 'request':
        this.moves.asked(entry)
        this.#newestRequest = entry.seq
        break
      default:
      // Settings, usage and unknown entries do not change visibility.
    }
  }

  /**
   * Puts an edit in force that no log holds: a stateless caller makes it of the messages again whenever it reads them again. The version
   * and the ids of later messages stay what they would be without it.
   */
  adopt(edit: Edit): void {
    this.#adopted += 1
    const entry = {
      type: 'edit',
      id: `${adoptedEpoch}${this.#adopted}` as EntryId,
      seq: this.#version,
      at: 0,
      epoch: adoptedEpoch,
    } as const
    // Some fields are getters, which count tokens: copied, they would count now.
    this.#applyEdit(Object.defineProperties(entry, Object.getOwnPropertyDescriptors(edit)) as never)
  }

  #applyEdit(entry: EditEntry): void {
    this.#edits.add(entry)
    this.#touches.push(firstOf(entry))
    if (entry.refersTo === undefined) this.#reshaped += 1
    if ('ranges' in entry.target) {
      this.#hide((seq) => isInRanges(entry, seq) && !this.isKeptByPin(seq), lastOf(entry))
    }
  }

  #applyMessage(logged: MessageEntry): void {
    const entry = withKnownBlocks(logged)
    const ordinal = this.#ordinalOf(entry)
    const item = new LazyItem(entry, this.#messageCount, this, ordinal)
    this.#messageCount += 1
    this.#uncounted.push(item)
    this.#visible.push(item)
    this.#know(item)
    this.exchanges.add(entry)
    if (entry.role !== 'system') this.#firstSpoken ??= entry.seq
    this.#compactions.push(...compactionsIn(entry))
    if (entry.role === 'assistant') {
      this.#assistantCount += 1
      this.#newestAssistant = entry.seq
      this.moves.answered(entry)
      this.#answeredOrdinal = this.#newestOrdinal
      this.#resultsOrdinal = undefined
    }
    if (startsTurn(entry)) {
      this.#turn += 1
      this.#newestUser = entry.seq
      this.#endedRequest = this.#newestRequest
    }
  }

  /** The results of a step age others once, together with what plugins add to them. */
  #ordinalOf(entry: MessageEntry): number | undefined {
    if (!countsForRetention(entry)) return undefined
    const isOfStep = isOfResults(entry)
    if (!isOfStep && entry.origin !== 'plugin') return ++this.#newestOrdinal
    const ordinal = this.#resultsOrdinal ?? ++this.#newestOrdinal
    if (isOfStep) this.#resultsOrdinal = ordinal
    return ordinal
  }

  #know(item: Item): void {
    const { entry } = item
    this.#messages.set(entry.seq, item)
    if (entry.role === 'assistant') this.#stepSeqs.set(entry.step, entry.seq)
    else if (startsTurn(entry)) this.#turnSeqs.set(entry.turn, entry.seq)
    this.#hasOwnSettings ||=
      entry.tool !== undefined || entry.kind !== undefined || entry.expiry !== undefined
    for (const block of entry.blocks) {
      this.#hasLifetimes ||= hasLifetime(block)
      this.#hasSigned ||= block.type === 'reasoning' && block.signature !== undefined
    }
    if (item.entry.externalId !== undefined) {
      this.#externalIds.set(item.entry.externalId, item.entry.seq)
    }
  }

  #applyUndo({ edit: id, rule }: UndoEntry): void {
    const edit = rule === undefined ? this.#edits.undo(id) : this.#edits.revert(id)
    if (edit !== undefined) {
      // A superseded edit was not visible, so undoing it changes nothing for later answers.
      const until = this.#edits.coveredSince(edit) ?? this.#version
      // Only answers after the edit have seen it, even if its `since` is earlier.
      this.moves.undone(firstOf(edit), edit.seq, until)
    }
    if (edit === undefined || !('ranges' in edit.target)) return
    const items: Item[] = []
    for (const seq of seqsOf(edit)) {
      const item = this.#messages.get(seq)
      if (item !== undefined && !this.#isHidden(seq)) items.push(item)
    }
    this.#show(items)
  }

  #applyMark({ mark, target, block, until, text, seq: since }: MarkEntry): void {
    if (mark === 'expand') {
      const shown = { until: until ?? 0, since, ...(text === undefined ? {} : { text }) }
      this.#expansions.set(`${target}:${block ?? 0}`, shown)
      return
    }
    const wasExcluded = this.#excluded.has(target)
    if (mark === 'continue') this.exchanges.parts.markContinued(target)
    else if (mark === 'pin') this.#pinned.add(target)
    else if (mark === 'unpin') this.#pinned.delete(target)
    else if (mark === 'exclude') this.#excluded.add(target)
    else this.#excluded.delete(target)
    const members = [...this.exchanges.membersOf(target), ...openerOf(this.#messages, target)]
    const before = this.#visible.length
    const hidden = new Set(members.filter((seq) => this.#isHidden(seq)))
    this.#hide((seq) => hidden.has(seq), Math.max(...members))
    this.#show(members.flatMap((seq) => (hidden.has(seq) ? [] : (this.#messages.get(seq) ?? []))))
    // Excluding a message changes the text of a checkpoint made from it.
    const isQuoted =
      wasExcluded !== this.#excluded.has(target) &&
      this.#edits.drops.some((edit) => edit.text !== undefined && isInRanges(edit, target))
    if (this.#visible.length !== before || isQuoted) this.moves.toggle(target, this.#version)
  }

  /** Removes messages from `visible`; scans only up to `last`. */
  #hide(matches: (seq: number) => boolean, last: number): void {
    const end = lowerBound(this.#visible, last + 1)
    const kept = this.#visible.slice(0, end).filter((item) => !matches(item.entry.seq))
    if (kept.length === end) return
    this.#visible = [...kept, ...this.#visible.slice(end)]
  }

  #isHidden(seq: number): boolean {
    if (this.#excluded.has(seq) || this.#edits.isFinallyDropped(seq)) return true
    return this.#edits.isDropped(seq) && !this.isKeptByPin(seq)
  }

  #show(items: readonly Item[]): void {
    if (items.length === 0) return
    const visible = new Map(this.#visible.map((item) => [item.entry.seq, item]))
    for (const item of items) visible.set(item.entry.seq, item)
    this.#visible = [...visible.values()].sort((a, b) => a.entry.seq - b.entry.seq)
  }

  #facts(): Map<number, MessageFacts> {
    if (this.#hiddenFactsBySeq !== undefined) return this.#hiddenFactsBySeq
    const facts = new Map<number, MessageFacts>()
    for (const [seq, index, tokens, lengths, forPeople] of this.#restoredFrom.hidden) {
      const own = { index, tokens, lengths }
      facts.set(seq, forPeople === undefined ? own : { ...own, forPeople })
    }
    this.#hiddenFactsBySeq = facts
    return facts
  }

  #hiddenFacts(visible: ReadonlySet<number>): StateData['hidden'] {
    const rows: HiddenRow[] = []
    for (const row of this.#restoredFrom.hidden) {
      if (!visible.has(row[0]) && !this.#messages.has(row[0])) rows.push(row)
    }
    const items: Item[] = []
    for (const [seq, item] of this.#messages) if (!visible.has(seq)) items.push(item)
    return rowsOf<HiddenRow | Item, HiddenRow>([...rows, ...items], (one) =>
      'entry' in one ? hiddenRow(one) : one,
    )
  }

  #restore(data: StateData, entries: readonly MessageEntry[]): void {
    this.#version = data.version
    this.#messageCount = data.messageCount
    this.#assistantCount = data.assistantCount
    this.#totalTokens = data.totalTokens
    this.#turn = data.turn
    this.#newestUser = data.newestUser ?? undefined
    this.#firstSpoken = data.firstSpoken ?? undefined
    this.#newestAssistant = data.newestAssistant ?? undefined
    const [newestOrdinal, answeredOrdinal, resultsOrdinal] = data.ordinals
    this.#newestOrdinal = newestOrdinal
    this.#answeredOrdinal = answeredOrdinal
    this.#resultsOrdinal = resultsOrdinal ?? undefined
    ;[this.#newestRequest, this.#endedRequest] = data.requests
    this.#compactions.push(...data.compactions)
    for (const seq of data.pinned) this.#pinned.add(seq)
    for (const seq of data.excluded) this.#excluded.add(seq)
    for (const [key, shown] of data.expansions) this.#expansions.set(key, shown)
    this.#restoredFrom = data
    const bySeq = new Map(entries.map((entry) => [entry.seq, entry]))
    for (const [seq, index, tokens, ordinal] of data.visible) {
      const entry = bySeq.get(seq)
      assert(entry !== undefined, 'a snapshot is restored with every visible message')
      const item: Item = { entry, index, tokens, ...(ordinal == null ? {} : { ordinal }) }
      this.#visible.push(item)
      this.#know(item)
    }
  }
}

/** Snapshot of a `State`: everything except the messages, which stay in the log. */
export interface StateData {
  readonly version: number
  readonly messageCount: number
  readonly assistantCount: number
  readonly totalTokens: number
  readonly turn: number
  readonly newestUser: number | null
  readonly firstSpoken: number | null
  readonly newestAssistant: number | null
  /** Counts of messages that age others: all, and those the model has answered. */
  readonly ordinals: readonly [newest: number, answered: number, results: number | null]
  /** Seqs of the newest request, and of the newest one before the newest user message. */
  readonly requests: readonly [newest: number, ended: number]
  readonly visible: Iterable<VisibleRow>
  readonly hidden: Iterable<HiddenRow>
  readonly compactions: readonly CompactionPlace[]
  readonly pinned: readonly number[]
  readonly excluded: readonly number[]
  readonly expansions: readonly (readonly [string, ExpandedBlock])[]
  readonly exchanges: ExchangeIndexData
  readonly edits: EditIndexData
  readonly moves: PrefixChangesData
}

/** A visible message: seq, index, tokens per block, ordinal among those that age others. */
export type VisibleRow = readonly [number, number, readonly number[], (number | null)?]

/** Another message: seq, index, tokens and characters per block, indexes of blocks that later requests must not show. */
export type HiddenRow = readonly [
  number,
  number,
  readonly number[],
  readonly number[],
  (readonly number[])?,
]

function visibleRow({ entry, index, tokens, ordinal }: Item): VisibleRow {
  return ordinal === undefined ? [entry.seq, index, tokens] : [entry.seq, index, tokens, ordinal]
}

function hiddenRow(item: Item): HiddenRow {
  const { index, tokens, lengths, forPeople } = factsOf(item)
  const own = [item.entry.seq, index, tokens, lengths] as const
  return forPeople === undefined ? own : [...own, forPeople]
}

/** Where a provider's compaction block stands. */
export interface CompactionPlace {
  readonly seq: number
  readonly block: number
  readonly format: string
}

/** Those of a message that a model may see. */
function compactionsIn(entry: MessageEntry): readonly CompactionPlace[] {
  if (entry.role !== 'assistant' || !isLasting(entry)) return []
  return entry.blocks.flatMap((block, index) =>
    block.type === 'opaque' && block.compaction !== undefined && isLasting(block)
      ? [{ seq: entry.seq, block: index, format: block.format }]
      : [],
  )
}

/** A user's own message starts a turn. Synthetic messages and tool results do not. */
export function startsTurn(message: { readonly role: Role; readonly origin: Origin }): boolean {
  return message.role === 'user' && message.origin === 'user'
}

/** Seq of the user message that opens the turn of a message. System messages have none. */
function openerOf(messages: ReadonlyMap<number, Item>, seq: number): readonly number[] {
  const { turn, role } = messages.get(seq)?.entry ?? { role: 'system' }
  if (role === 'system') return []
  for (const [at, { entry }] of messages) {
    if (at !== seq && entry.turn === turn && startsTurn(entry)) return [at]
  }
  return []
}

/** True if the message opens the turn of one of the others. */
function opensTurnOf(
  messages: ReadonlyMap<number, Item>,
  seq: number,
  others: Iterable<number>,
): boolean {
  const entry = messages.get(seq)?.entry
  if (entry === undefined || !startsTurn(entry)) return false
  for (const other of others) {
    const found = messages.get(other)?.entry
    if (found !== undefined && found.turn === entry.turn && found.role !== 'system') return true
  }
  return false
}

export interface Clock {
  /** Seq of each visible step's assistant message. */
  readonly steps: { get(step: number): number | undefined }
  /** Seq of each visible turn's user message. */
  readonly turns: { get(turn: number): number | undefined }
}

/** A logged message with derived facts. */
export interface Item {
  readonly entry: MessageEntry
  /** Index among the log's messages, from 0. */
  readonly index: number
  /** Tokens per block in full form, counted lazily. */
  readonly tokens: readonly number[]
  /** Number among the messages that age others, from 1; absent for the rest. */
  readonly ordinal?: number
}

/**
 * Counts tokens lazily: counting dominates the cost of a short call, and many calls never need it.
 */
class LazyItem implements Item {
  readonly entry: MessageEntry
  readonly index: number
  readonly ordinal?: number
  readonly #options: Pick<StateOptions, 'counter' | 'counts'>
  #tokens: readonly number[] | undefined

  constructor(
    entry: MessageEntry,
    index: number,
    options: Pick<StateOptions, 'counter' | 'counts'>,
    ordinal?: number,
  ) {
    this.entry = entry
    this.index = index
    if (ordinal !== undefined) this.ordinal = ordinal
    this.#options = options
  }

  get tokens(): readonly number[] {
    this.#tokens ??= this.#options.counts?.(this.entry.seq) ?? this.#count()
    return this.#tokens
  }

  /** Content hidden from later requests is counted at the tail, where it is shown. */
  #count(): readonly number[] {
    return this.entry.blocks.map((block) => {
      const shown = lastingBlock(this.entry, block)
      return shown === undefined ? 0 : countBlock(this.#options.counter, shown)
    })
  }
}

/** What a trace needs about a message, even if only the store has the message itself. */
interface MessageFacts {
  readonly index: number
  /** Tokens of each block. */
  readonly tokens: readonly number[]
  /** Characters of each block. */
  readonly lengths: readonly number[]
  /**
   * Indexes of blocks that later requests must not show, so models cannot expand them. @default
   * none
   */
  readonly forPeople?: readonly number[]
}

function factsOf({ entry, index, tokens }: Item): MessageFacts {
  const lengths = entry.blocks.map(lengthOf)
  if (!isLasting(entry)) return { index, tokens, lengths, forPeople: positionsIn(entry) }
  if (entry.blocks.every(isLasting)) return { index, tokens, lengths }
  const forPeople = positionsIn(entry).filter(
    (position) => !isLasting(entry.blocks[position] ?? entry),
  )
  return { index, tokens, lengths, forPeople }
}

/** A message without blocks still has one position. */
function positionsIn({ blocks }: MessageEntry): readonly number[] {
  return blocks.length === 0 ? [0] : [...blocks.keys()]
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
