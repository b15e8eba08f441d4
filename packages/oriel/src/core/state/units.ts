// Units: the smallest parts that may be cut, that is, whole exchanges and single messages.

import type { MessageEntry } from '../log/entry.ts'
import { isResult } from './exchange.ts'
import { type Item, type State, startsTurn } from './state.ts'

export interface Unit {
  readonly items: readonly Item[]
  readonly turn: number
  /** True for a message written by a user. */
  readonly isUser: boolean
  readonly isAssistant: boolean
  /** True if it contains tool calls. */
  readonly isExchange: boolean
}

/**
 * Groups visible messages, except system messages, into units in order of their first message. An
 * exchange is one unit.
 */
export function unitsOf(state: State, items: readonly Item[]): readonly Unit[] {
  const groups = new Map<number, Item[]>()
  let last: number | undefined
  for (const item of items) {
    if (item.entry.role === 'system') continue
    const own = exchangeOf(state, item) ?? (isToolPart(item) ? last : undefined) ?? item.entry.seq
    const key = state.exchanges.parts.of(own)[0] as number
    last = key
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return [...groups.values()].map((group) => {
    const first = (group[0] as Item).entry
    return {
      items: group,
      turn: first.turn,
      isUser: group.length === 1 && startsTurn(first),
      isAssistant: first.role === 'assistant',
      isExchange: group.some(({ entry }) => state.exchanges.exchangeAt(entry.seq) !== undefined),
    }
  })
}

/** A tool message without results, such as an approval, belongs to the unit before it. */
function isToolPart({ entry }: Item): boolean {
  return entry.role === 'tool' && entry.blocks.every(({ type }) => type === 'opaque')
}

/** Seq of the exchange that a message opens or answers. */
function exchangeOf(state: State, item: Item): number | undefined {
  const own = state.exchanges.exchangeAt(item.entry.seq)
  if (own !== undefined) return own.seq
  for (const [block, content] of item.entry.blocks.entries()) {
    if (content.type !== 'tool-result') continue
    const answered = state.exchanges.answeredBy({ seq: item.entry.seq, block })
    if (answered !== undefined) return answered.exchange.seq
  }
  return undefined
}

/** Hard protection against being dropped: what must stay, or what a person showed again by an undo. */
export function isProtected(state: State, unit: Unit): boolean {
  return (
    isKept(state, unit) || unit.items.some(({ entry }) => state.isVetoed(entry.seq, '*', 'dropped'))
  )
}

/** What must stay as it is: kept by a pin, the newest user message, results that the model has not seen, an answer that it is to continue with. */
export function isKept(state: State, unit: Unit): boolean {
  return unit.items.some(
    ({ entry }) =>
      entry.seq === state.newestUser ||
      entry.seq === state.exchanges.parts.open ||
      isUnseenResult(state, entry) ||
      state.isKeptByPin(entry.seq),
  )
}

/**
 * Turns after which a missing result is given up, so that an interrupted call does not stay
 * forever.
 */
const patientTurns = 3

/** True if a result of its calls may still arrive. Cutting the call would orphan that result. */
export function isWaiting({ exchanges, turn }: State, { items, isExchange }: Unit): boolean {
  if (!isExchange) return false
  return items.some(({ entry }) => {
    const exchange = exchanges.exchangeAt(entry.seq)
    if (exchange === undefined || turn - exchange.turn >= patientTurns) return false
    return exchange.calls.some((call) => exchanges.waitingFor(call.callId)?.call === call)
  })
}

/** True if the message has a result after the newest answer, even one for an older call. */
function isUnseenResult({ newestAssistant = 0 }: State, { seq, blocks }: MessageEntry): boolean {
  return seq > newestAssistant && blocks.some(isResult)
}

export function tokensOf(items: readonly Item[]): number {
  return items.reduce((sum, item) => sum + item.tokens.reduce((a, b) => a + b, 0), 0)
}

/** Inclusive seq ranges that cover exactly `dropped` and no other message, visible or not. */
export function rangesOf(
  items: readonly Item[],
  dropped: ReadonlySet<number>,
): readonly (readonly [number, number])[] {
  const ranges: [number, number][] = []
  let open: { readonly range: [number, number]; next: number } | undefined
  for (const { entry, index } of items) {
    if (!dropped.has(entry.seq)) open = undefined
    else if (open?.next === index) {
      open.range[1] = entry.seq
      open.next += 1
    } else {
      open = { range: [entry.seq, entry.seq], next: index + 1 }
      ranges.push(open.range)
    }
  }
  return ranges
}
