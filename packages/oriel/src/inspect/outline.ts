// The log beside one request: a row for system text, tools, the summary and every block, with its tokens on both sides. Runs of messages that
// the request leaves out for one reason are one row. The tokens of all rows add up to those of log and view.

import type { Block } from '../core/log/block.ts'
import type { EditEntry, Entry, Form, MessageEntry } from '../core/log/entry.ts'
import { isObject, type Json } from '../core/log/json.ts'
import { assertOptions, type OptionNames } from '../core/log/options.ts'
import { headerOf } from '../core/log/settings.ts'
import { UnvisitedSeqs } from '../core/state/edits.ts'
import { type Item, State } from '../core/state/state.ts'
import { type Counter, overheadOf } from '../core/tokens/counter.ts'
import { isLasting } from '../core/view/audience.ts'
import type { Change } from '../core/view/view.ts'
import { resolveCounter } from '../counters.ts'
import type { ShownPart } from '../thread/view/contents.ts'
import type { ContextCategory } from './composition.ts'
import { plainText } from './view-blocks.ts'

interface RowTokens {
  /** In full. */
  readonly tokens: number
  /** In the request. */
  readonly shown: number
}

/** Against the request before: new, or shown otherwise. */
export type Since = 'new' | 'changed'

export interface BlockRow extends RowTokens {
  readonly type: 'block'
  readonly id: string
  readonly message: string
  readonly seq: number
  readonly index: number
  readonly turn: number
  readonly step: number
  readonly role: string
  readonly kind?: string
  readonly block: Block['type']
  readonly category: ContextCategory
  /** The tool of a call or a result. */
  readonly tool?: string
  readonly isError?: boolean
  readonly form: Form
  readonly rule?: string
  readonly reason?: string
  readonly edit?: string
  readonly isPinned?: boolean
  readonly isExcluded?: boolean
  readonly canExpand?: boolean
  readonly since?: Since
  /** What is shown in its place, cut; absent for a block in full. */
  readonly text?: string
  /** Lines at the beginning that it shares with its original, and that `text` leaves out. */
  readonly same?: number
}

export type OutlineRow =
  | (RowTokens & {
      readonly type: 'system' | 'tools'
      readonly text: string
      /** Names of the tools. */
      readonly names?: readonly string[]
    })
  | (RowTokens & {
      readonly type: 'summary'
      /** Absent for a summary: a result in the place of a missing one, or what this request adds. */
      readonly kind?: 'result' | 'added'
      readonly text: string
      /** Messages that it stands for. */
      readonly covered: number
      readonly rule?: string
      readonly reason?: string
      readonly edit?: string
      readonly since?: Since
    })
  | (RowTokens & {
      readonly type: 'folded'
      readonly from: number
      readonly to: number
      readonly turn: number
      readonly lastTurn: number
      readonly messages: number
      readonly blocks: number
      /** Names of the tools in it. */
      readonly tools: readonly string[]
      readonly errors: number
      readonly rule?: string
      readonly reason?: string
      readonly edit?: string
      readonly since?: Since
      readonly rows: readonly BlockRow[]
    })
  | BlockRow

export interface OutlineOptions {
  readonly contents: readonly ShownPart[]
  readonly trace: readonly Change[]
  /** The parts of the request before. @default nothing is marked as new or changed */
  readonly before?: readonly ShownPart[] | undefined
  /** The fold of these entries, where somebody has it. @default they are folded */
  readonly state?: State | undefined
}

const outlineOptions: OptionNames<OutlineOptions> = {
  contents: true,
  trace: true,
  before: true,
  state: true,
}

/** Characters of what is shown in the place of a block. */
const maxShown = 600
/** Characters of system text, tools and summaries. */
const maxWritten = 40_000

/** The rows of a log up to a request. */
export function outlineOf(
  entries: readonly Entry[],
  options: OutlineOptions,
): readonly OutlineRow[] {
  const slices = slicesOf(entries, options)
  let slice = slices.next()
  while (slice.done !== true) slice = slices.next()
  return slice.value
}

/** The same, awaiting `pause` now and then. */
export async function outlineInSlices(
  entries: readonly Entry[],
  options: OutlineOptions,
  pause: (() => Promise<void>) | undefined,
): Promise<readonly OutlineRow[]> {
  const slices = slicesOf(entries, options)
  let slice = slices.next()
  while (slice.done !== true) {
    await pause?.()
    slice = slices.next()
  }
  return slice.value
}

/** Entries between two pauses. */
const sliceEntries = 128

function* slicesOf(
  entries: readonly Entry[],
  options: OutlineOptions,
): Generator<undefined, readonly OutlineRow[]> {
  assertOptions<OutlineOptions>(options, outlineOptions, 'outlineOf')
  const { contents, trace, before, state = stateOf(entries) } = options
  const shown = new Map<string, Extract<ShownPart, { part: 'block' }>>()
  for (const part of contents) if (part.part === 'block') shown.set(keyOf(part), part)
  yield
  const reader = new RowReader(state, { shown, trace, before })
  const rows: OutlineRow[] = frameRows(contents)
  const written = writtenAfter(contents)
  const place = (seq: number): void => {
    for (const part of written.get(seq) ?? []) rows.push(reader.summary(part))
    written.delete(seq)
  }
  place(0)
  for (const [at, entry] of entries.entries()) {
    if (at % sliceEntries === 0) yield
    if (entry.type !== 'message' || entry.kind === 'interrupted') continue
    for (let index = 0; index < entry.blocks.length; index++) add(rows, reader, { entry, index })
    place(entry.seq)
  }
  for (const parts of written.values()) for (const part of parts) rows.push(reader.summary(part))
  return rows
}

/** A block of the log. */
interface Place {
  readonly entry: MessageEntry
  readonly index: number
}

/** Puts a block behind the others; one that is left out for the same reason as the block before joins it. */
function add(rows: OutlineRow[], reader: RowReader, place: Place): void {
  const out = reader.leftOut(place)
  if (out === undefined) {
    rows.push(reader.block(place))
    return
  }
  const last = rows.at(-1)
  const run = last?.type === 'folded' ? (last as Run) : runOf(last, reader)
  if (run === undefined || run.rule !== out.rule || run.reason !== out.reason) {
    rows.push(reader.block(place))
    return
  }
  rows[rows.length - 1] = run
  join(run, reader, place)
}

type FoldedRow = Extract<OutlineRow, { type: 'folded' }>
type Run = { -readonly [Key in keyof FoldedRow]: FoldedRow[Key] } & { tools: string[] }

/** The blocks of each run. */
const placesOf = new WeakMap<OutlineRow, Place[]>()

/** A run of one block that is left out; undefined for any other row. */
function runOf(row: OutlineRow | undefined, reader: RowReader): Run | undefined {
  if (row?.type !== 'block' || row.form !== 'dropped' || row.isExcluded === true) return undefined
  const { rule, reason, edit, since, seq, turn, tokens, tool } = row
  const run = {
    type: 'folded',
    ...{ from: seq, to: seq, turn, lastTurn: turn, tokens, shown: 0 },
    messages: 1,
    blocks: 1,
    tools: tool === undefined ? [] : [tool],
    errors: row.isError === true ? 1 : 0,
    ...(rule === undefined ? {} : { rule }),
    ...(reason === undefined ? {} : { reason }),
    ...(edit === undefined ? {} : { edit }),
    ...(since === undefined ? {} : { since }),
  } as Run
  const places = [reader.placeOf(row)]
  placesOf.set(run, places)
  // Most runs are never opened: their rows are made when they are.
  let made: readonly BlockRow[] | undefined
  Object.defineProperty(run, 'rows', {
    get: () => {
      made ??= places.map((place) => reader.block(place))
      return made
    },
  })
  return run
}

/** Adds a block to a run. */
function join(run: Run, reader: RowReader, place: Place): void {
  const places = placesOf.get(run) ?? []
  const { entry, index } = place
  if (places.at(-1)?.entry !== entry) run.messages += 1
  places.push(place)
  run.to = entry.seq
  run.lastTurn = entry.turn
  run.tokens += reader.tokensOf(place)
  run.blocks += 1
  const block = entry.blocks[index] as Block
  if (isFailed(block)) run.errors += 1
  const tool = reader.toolOf(block)
  if (tool !== undefined && !run.tools.includes(tool)) run.tools.push(tool)
  const since = run.since ?? reader.sinceOf(place)
  if (since !== undefined) run.since = since
}

function isFailed(block: Block): boolean {
  return block.type === 'tool-result' && block.isError === true
}

interface Reading {
  readonly shown: ReadonlyMap<string, Extract<ShownPart, { part: 'block' }>>
  readonly trace: readonly Change[]
  readonly before: readonly ShownPart[] | undefined
}

class RowReader {
  readonly #state: State
  readonly #shown: Reading['shown']
  readonly #changes: ReadonlyMap<string, Change>
  readonly #before: ReadonlyMap<string, Extract<ShownPart, { part: 'block' }>> | undefined
  readonly #summaries: ReadonlySet<string>
  /** The newest live edit that drops a message. */
  readonly #drops: ReadonlyMap<number, EditEntry>
  /** Names of tools by call. */
  readonly #tools = new Map<string, string>()

  constructor(state: State, { shown, trace, before }: Reading) {
    this.#state = state
    this.#drops = newestDrops(state)
    this.#shown = shown
    this.#changes = new Map(trace.map((change) => [change.id, change]))
    this.#before =
      before &&
      new Map(
        before.flatMap((part) => (part.part === 'block' ? [[keyOf(part), part] as const] : [])),
      )
    this.#summaries = new Set(
      before?.flatMap((part) => (part.part === 'written' ? [part.text] : [])),
    )
  }

  /** The rule and the reason by which the request leaves a block out; undefined for one that it shows, or that a person excluded. */
  leftOut({ entry, index }: Place): Partial<Pick<Change, 'rule' | 'reason'>> | undefined {
    const change = this.#changes.get(String(entry.blocks[index]?.id ?? entry.id))
    const isShown =
      change === undefined ? this.#shown.has(`${entry.seq}/${index}`) : change.form !== 'dropped'
    if (isShown || this.#state.excluded.has(entry.seq)) return undefined
    return change ?? {}
  }

  placeOf({ seq, index }: BlockRow): Place {
    return { entry: (this.#state.item(seq) as Item).entry, index }
  }

  /** In full; the first block of a message carries its overhead. */
  tokensOf({ entry, index }: Place): number {
    const overhead = index === 0 && isLasting(entry) ? overheadOf(entry.role) : 0
    return overhead + (this.#state.item(entry.seq)?.tokens[index] ?? 0)
  }

  summary(part: Extract<ShownPart, { part: 'written' }>): OutlineRow {
    const { text, tokens } = part
    const edit = this.#state.checkpoint
    // One that a budget has squeezed still begins like it.
    const isOurs = text.startsWith(firstLineOf(edit?.text))
    const covered = isOurs ? this.#state.dropEdits.filter((one) => one.text !== undefined) : []
    const since: { since?: Since } =
      this.#before === undefined || this.#summaries.has(text) ? {} : { since: 'changed' }
    const kind = part.isResult === true ? 'result' : isOurs ? undefined : 'added'
    return {
      type: 'summary',
      ...(kind === undefined ? {} : { kind }),
      tokens: 0,
      shown: tokens,
      text: text.slice(0, maxWritten),
      covered: countMessages(this.#state, covered),
      ...(isOurs && edit !== undefined
        ? { rule: edit.rule, reason: edit.reason, edit: edit.id }
        : {}),
      ...since,
    }
  }

  block({ entry, index }: Place): BlockRow {
    const block = entry.blocks[index] as Block
    const { id: message, seq, turn, step, role, kind } = entry
    const id = String(block.id ?? message)
    const key = `${seq}/${index}`
    const part = this.#shown.get(key)
    const change = this.#changes.get(id)
    const form = change?.form ?? (part === undefined ? 'dropped' : 'full')
    const isReduced = form !== 'full' && form !== 'dropped'
    const edit =
      form === 'full' ? undefined : (this.#state.blockEdit(seq, index) ?? this.#drops.get(seq))
    const tool = this.toolOf(block)
    const isPinned = this.#state.isPinned(seq)
    const isExcluded = this.#state.excluded.has(seq)
    const since = this.sinceOf({ entry, index })
    return {
      type: 'block',
      ...{ id, message, seq, index, turn, step, role },
      ...(kind === undefined ? {} : { kind }),
      block: block.type,
      category: categoryOfRow(role, block),
      ...(tool === undefined ? {} : { tool }),
      ...(isFailed(block) ? { isError: true } : {}),
      form,
      tokens: this.tokensOf({ entry, index }),
      shown: part?.tokens ?? 0,
      ...(change === undefined ? {} : { rule: change.rule, reason: change.reason }),
      ...(change === undefined && isExcluded ? { rule: 'exclude', reason: 'excluded' } : {}),
      ...(edit === undefined ? {} : { edit: edit.id }),
      ...(isPinned ? { isPinned } : {}),
      ...(isExcluded ? { isExcluded } : {}),
      ...(change?.canExpand === true ? { canExpand: true } : {}),
      ...(since === undefined ? {} : { since }),
      ...(isReduced && part !== undefined ? shownText(block, part.block) : {}),
    }
  }

  sinceOf({ entry, index }: Place): Since | undefined {
    if (this.#before === undefined) return undefined
    const key = `${entry.seq}/${index}`
    const part = this.#shown.get(key)
    const before = this.#before.get(key)
    if (before === undefined) return part === undefined ? undefined : 'new'
    if (part === undefined) return 'changed'
    const isSame = before.block === part.block || plainText(before.block) === plainText(part.block)
    return isSame ? undefined : 'changed'
  }

  /** The tool of a call or a result; calls come before their results. */
  toolOf(block: Block): string | undefined {
    if (block.type === 'tool-call') {
      this.#tools.set(block.callId, block.name)
      return block.name
    }
    return block.type === 'tool-result' ? (this.#tools.get(block.callId) ?? block.name) : undefined
  }
}

/** The text in the place of a block, from the line on where it differs from its original. */
function shownText(original: Block, shown: Block): Pick<BlockRow, 'text' | 'same'> {
  const text = plainText(shown)
  const { lines: same, length } = sharedLines(plainText(original), text)
  const rest = text.slice(length, length + maxShown)
  return same === 0 ? { text: rest } : { same, text: rest }
}

/** Whole lines at the beginning that two texts share. */
function sharedLines(a: string, b: string): { readonly lines: number; readonly length: number } {
  const shorter = Math.min(a.length, b.length)
  let [at, lines, length] = [0, 0, 0]
  while (at < shorter && a.charCodeAt(at) === b.charCodeAt(at)) {
    at += 1
    if (a.charCodeAt(at - 1) !== newline) continue
    lines += 1
    length = at
  }
  return { lines, length }
}

const newline = 10

/** Never empty: what has no text begins like nothing else. */
function firstLineOf(text = ''): string {
  return text.split('\n', 1)[0] || '\0'
}

function categoryOfRow(role: string, { type }: Block): ContextCategory {
  if (type === 'tool-result' || role === 'tool') return 'results'
  if (role === 'system') return 'system'
  return role === 'user' ? 'user' : 'assistant'
}

function frameRows(contents: readonly ShownPart[]): OutlineRow[] {
  return contents.flatMap((part): readonly OutlineRow[] => {
    if (part.part !== 'system' && part.part !== 'tools') return []
    const { part: type, tokens, value } = part
    const names = type === 'tools' ? toolNames(value) : []
    const text = typeof value === 'string' ? value : type === 'system' ? systemText(value) : ''
    const written = text === '' ? JSON.stringify(value, undefined, 2) : text
    return [
      {
        type,
        tokens,
        shown: tokens,
        text: written.slice(0, maxWritten),
        ...(type === 'tools' ? { names } : {}),
      },
    ]
  })
}

/** The texts in a system prompt, whatever a provider wraps around them. */
function systemText(value: Json): string {
  if (typeof value === 'string') return value
  if (Array.isArray(value)) {
    return value
      .map(systemText)
      .filter((text) => text !== '')
      .join('\n\n')
  }
  if (!isObject(value)) return ''
  const { text, content } = value
  return typeof text === 'string' ? text : systemText((content ?? '') as Json)
}

function toolNames(value: Json): readonly string[] {
  if (!Array.isArray(value)) return []
  return value.flatMap((tool): readonly string[] => {
    if (!isObject(tool)) return []
    const { name, function: called, functionDeclarations } = tool as Record<string, Json>
    if (Array.isArray(functionDeclarations)) return toolNames(functionDeclarations)
    const own = isObject(called) ? called.name : name
    return typeof own === 'string' ? [own] : []
  })
}

/** What Oriel wrote, by the seq of the message before it. */
function writtenAfter(
  contents: readonly ShownPart[],
): Map<number, Extract<ShownPart, { part: 'written' }>[]> {
  const found = new Map<number, Extract<ShownPart, { part: 'written' }>[]>()
  let seq = 0
  for (const part of contents) {
    if (part.part === 'block') seq = part.seq
    if (part.part === 'written') found.set(seq, [...(found.get(seq) ?? []), part])
  }
  return found
}

/** Messages that any of the edits covers. */
function countMessages(state: State, edits: readonly EditEntry[]): number {
  const unvisited = new UnvisitedSeqs()
  let count = 0
  for (const edit of edits) {
    for (const seq of unvisited.take(edit)) if (state.item(seq) !== undefined) count += 1
  }
  return count
}

function newestDrops({ dropEdits }: State): ReadonlyMap<number, EditEntry> {
  const unvisited = new UnvisitedSeqs()
  const drops = new Map<number, EditEntry>()
  for (const edit of dropEdits.toReversed()) {
    for (const seq of unvisited.take(edit)) drops.set(seq, edit)
  }
  return drops
}

function keyOf({ seq, index }: { readonly seq: number; readonly index: number }): string {
  return `${seq}/${index}`
}

/** The fold of the log: pins, exclusions, live edits and tokens as the view saw them. */
function stateOf(entries: readonly Entry[]): State {
  const [first] = entries
  const { tokens, salt } = first === undefined ? { tokens: 'estimate', salt: '' } : headerOf(first)
  const counter: Counter = resolveCounter(tokens === 'o200k' ? 'o200k' : 'estimate')
  const state = new State({ counter, salt })
  for (const entry of entries) state.apply(entry)
  return state
}
