// Index of exchanges: pairs tool calls with their results, even in malformed conversations, and
// joins parts of one answer.

import type { Block, ToolCallBlock, ToolResultBlock } from '../log/block.ts'
import type { MessageEntry } from '../log/entry.ts'
import { Continuations, type ContinuationsData } from './continuations.ts'
import { rowsOf } from './rows.ts'

/** Address of a block: the message's seq and the block's index in it. */
export interface BlockPosition {
  readonly seq: number
  readonly block: number
}

export interface Call {
  readonly callId: string
  readonly name: string
  readonly place: BlockPosition
  /** An earlier call has the same id, so the wire needs a different one. */
  readonly isReused: boolean
  result: BlockPosition | undefined
}

/** An assistant message with its calls and all their results: the atomic unit of every cut. */
export interface Exchange {
  /** The assistant message's seq. */
  readonly seq: number
  readonly turn: number
  readonly step: number
  readonly calls: readonly Call[]
}

/**
 * Snapshot of `ExchangeIndex`: exchanges that are visible or pending, and every call id used so
 * far.
 */
export interface ExchangeIndexData {
  readonly usedIds: readonly string[]
  readonly exchanges: Iterable<ExchangeRow>
  readonly parts: ContinuationsData
}

export interface ExchangeRow {
  readonly seq: number
  readonly turn: number
  readonly step: number
  /** Id, name, block, id reused, and the position of the result if it exists. */
  readonly calls: readonly (readonly [
    string,
    string,
    number,
    boolean,
    number | null,
    number | null,
  ])[]
}

/** Pairs calls with results as messages are appended. */
export class ExchangeIndex {
  /** Answers that consist of several messages. */
  readonly parts: Continuations
  readonly #exchanges = new Map<number, Exchange>()
  /** Pending calls by id, oldest first. */
  readonly #waiting = new Map<string, readonly WaitingCall[]>()
  readonly #usedIds = new Set<string>()
  /** The call and exchange that each result block answers, by seq and block. */
  readonly #answers = new Map<number, Map<number, { call: Call; exchange: Exchange }>>()

  constructor(parts?: ContinuationsData) {
    this.parts = new Continuations(parts)
  }

  static from(data: ExchangeIndexData): ExchangeIndex {
    const index = new ExchangeIndex(data.parts)
    for (const id of data.usedIds) index.#usedIds.add(id)
    for (const { seq, turn, step, calls } of data.exchanges) {
      index.#open({
        seq,
        turn,
        step,
        calls: calls.map(([callId, name, block, isReused, resultSeq, resultBlock]) => ({
          callId,
          name,
          place: { seq, block },
          isReused,
          result:
            resultSeq === null || resultBlock === null
              ? undefined
              : { seq: resultSeq, block: resultBlock },
        })),
      })
    }
    return index
  }

  /** Rows are made when they are read, and say what was known at this version: a result comes once, and stays. */
  data(visible: ReadonlySet<number>, version: number): ExchangeIndexData {
    const known = ({ result }: Call): BlockPosition | undefined =>
      result !== undefined && result.seq <= version ? result : undefined
    return {
      usedIds: [...this.#usedIds],
      parts: this.parts.data(),
      exchanges: rowsOf([...this.#exchanges.values()], ({ seq, turn, step, calls }) => {
        const results = calls.map(known)
        const isOpen = results.some((result) => result === undefined || visible.has(result.seq))
        if (!isOpen && !visible.has(seq)) return undefined
        const rows = calls.map(
          ({ callId, name, place, isReused }, index) =>
            [
              ...([callId, name, place.block, isReused] as const),
              results[index]?.seq ?? null,
              results[index]?.block ?? null,
            ] as const,
        )
        return { seq, turn, step, calls: rows }
      }),
    }
  }

  /** True if no call is known, so that no result can match. */
  get isEmpty(): boolean {
    return this.#exchanges.size === 0
  }

  /** The exchange that the assistant message at `seq` opens, if it has calls. */
  exchangeAt(seq: number): Exchange | undefined {
    return this.#exchanges.get(seq)
  }

  /**
   * The call that the result block at `place` answers. Undefined for an orphan or a duplicate
   * result.
   */
  answeredBy(
    place: BlockPosition,
  ): { readonly call: Call; readonly exchange: Exchange } | undefined {
    return this.#answers.get(place.seq)?.get(place.block)
  }

  /**
   * The call that a result with this id would answer now. Where the result or the call came without an id, the call's name decides;
   * `answered` are calls that do not wait any more.
   */
  waitingFor(
    callId: string,
    { name, answered }: { readonly name?: string; readonly answered?: ReadonlySet<Call> } = {},
  ): { readonly call: Call; readonly exchange: Exchange } | undefined {
    const waiting = this.#waiting.get(callId)
    if (waiting !== undefined) return firstOfNewest(waiting)
    if (name === undefined) return undefined
    const isNameless = isIdByName(callId)
    const named = [...this.#waiting.values()]
      .flat()
      .filter(
        ({ call }) =>
          call.name === name &&
          (isNameless || isIdByName(call.callId)) &&
          answered?.has(call) !== true,
      )
    return firstOfNewest(named)
  }

  /**
   * Seqs of all messages of the exchange and of the multi-part answer that contain this message;
   * else the message alone.
   */
  membersOf(seq: number): readonly number[] {
    const answered = this.#answers.get(seq)?.values().next().value
    return this.parts.of(answered?.exchange.seq ?? seq).flatMap((part) => {
      const calls = this.#exchanges.get(part)?.calls ?? []
      return [part, ...calls.flatMap(({ result }) => result?.seq ?? [])]
    })
  }

  hasSeen(callId: string): boolean {
    return this.#usedIds.has(callId)
  }

  /** Indexes a newly appended message. */
  add(entry: MessageEntry): void {
    this.parts.add(entry)
    if (entry.role === 'assistant') this.#addCalls(entry)
    entry.blocks.forEach((block, index) => {
      if (block.type === 'tool-result') this.#addResult(block, { seq: entry.seq, block: index })
    })
  }

  #addCalls(entry: MessageEntry): void {
    const calls: Call[] = []
    entry.blocks.forEach((block, index) => {
      if (!isCall(block)) return
      calls.push({
        callId: block.callId,
        name: block.name,
        place: { seq: entry.seq, block: index },
        isReused: this.#usedIds.has(block.callId),
        result: undefined,
      })
      this.#usedIds.add(block.callId)
    })
    if (calls.length === 0) return
    this.#open({ seq: entry.seq, turn: entry.turn, step: entry.step, calls })
  }

  #open(exchange: Exchange): void {
    this.#exchanges.set(exchange.seq, exchange)
    for (const call of exchange.calls) {
      if (call.result !== undefined) this.#answer(call.result, { call, exchange })
      else {
        const waiting = this.#waiting.get(call.callId) ?? []
        this.#waiting.set(call.callId, [...waiting, { call, exchange }])
      }
    }
  }

  #addResult(block: ToolResultBlock, place: BlockPosition): void {
    const match = this.waitingFor(block.callId, block)
    if (match === undefined) return
    const { call } = match
    call.result = place
    const waiting = this.#waiting.get(call.callId) ?? []
    const rest = waiting.filter((candidate) => candidate.call !== call)
    if (rest.length === 0) this.#waiting.delete(call.callId)
    else this.#waiting.set(call.callId, rest)
    this.#answer(place, match)
  }

  #answer(place: BlockPosition, match: { call: Call; exchange: Exchange }): void {
    const answers = this.#answers.get(place.seq)
    if (answers === undefined) this.#answers.set(place.seq, new Map([[place.block, match]]))
    else answers.set(place.block, match)
  }
}

interface WaitingCall {
  readonly call: Call
  readonly exchange: Exchange
}

/** The first call of the newest exchange among them. */
function firstOfNewest(waiting: readonly WaitingCall[]): WaitingCall | undefined {
  const newest = Math.max(...waiting.map(({ exchange }) => exchange.seq))
  return waiting
    .filter(({ exchange }) => exchange.seq === newest)
    .sort((one, other) => one.call.place.block - other.call.place.block)[0]
}

const byName = 'by-name:'

/**
 * The id of a call, or of a result, that came without one: its name, and the how many-th of that name it is in its message, from 1.
 * Such a result answers the first call of its name that waits.
 */
export function idByName(name: string, count: number): string {
  return `${byName}${count}:${name}`
}

export function isIdByName(callId: string): boolean {
  return callId.startsWith(byName)
}

export function isCall(block: Block): block is ToolCallBlock {
  return block.type === 'tool-call'
}

export function isResult(block: Block): block is ToolResultBlock {
  return block.type === 'tool-result'
}
