// A message of the log as the state knows it.

import { isLasting, lastingBlock } from './audience.ts'
import { lengthOf } from './block.ts'
import { type Counter, countBlock } from './counter.ts'
import type { MessageEntry } from './entry.ts'

/** A message of the log as the state knows it. */
export interface Item {
  readonly entry: MessageEntry
  /** Position among the log's messages, from 0. */
  readonly index: number
  /** Tokens of each block in full form; counted when first asked for. */
  readonly tokens: readonly number[]
  /** Its number among the messages that bear retention, from 1; absent for all others. */
  readonly ordinal?: number
}

/** Counting is most of the work of a short call, and many calls never look at it. */
export class LazyItem implements Item {
  readonly entry: MessageEntry
  readonly index: number
  readonly ordinal?: number
  readonly #counter: Counter
  #tokens: readonly number[] | undefined

  constructor(entry: MessageEntry, index: number, counter: Counter, ordinal?: number) {
    this.entry = entry
    this.index = index
    if (ordinal !== undefined) this.ordinal = ordinal
    this.#counter = counter
  }

  get tokens(): readonly number[] {
    // What later requests do not show is counted where it is shown, at the tail.
    this.#tokens ??= this.entry.blocks.map((block) => {
      const shown = lastingBlock(this.entry, block)
      return shown === undefined ? 0 : countBlock(this.#counter, shown)
    })
    return this.#tokens
  }
}

/** What a trace needs to know of a message, also where the message itself is only in the store. */
export interface MessageFacts {
  readonly index: number
  /** Tokens of each block. */
  readonly tokens: readonly number[]
  /** Characters of each block. */
  readonly lengths: readonly number[]
  /** Positions of blocks that no later request may show: they are not expanded for a model. @default none */
  readonly forPeople?: readonly number[]
}

/** Facts about a message that is at hand. */
export function factsOf({ entry, index, tokens }: Item): MessageFacts {
  const lengths = entry.blocks.map(lengthOf)
  if (!isLasting(entry)) return { index, tokens, lengths, forPeople: positionsIn(entry) }
  if (entry.blocks.every(isLasting)) return { index, tokens, lengths }
  const forPeople = positionsIn(entry).filter(
    (position) => !isLasting(entry.blocks[position] ?? entry),
  )
  return { index, tokens, lengths, forPeople }
}

/** One for each block; a message without blocks has one all the same. */
function positionsIn({ blocks }: MessageEntry): readonly number[] {
  return blocks.length === 0 ? [0] : [...blocks.keys()]
}

/** Index of the first item whose seq is at least `seq`. */
export function lowerBound(items: readonly Item[], seq: number): number {
  let low = 0
  let high = items.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((items[middle] as Item).entry.seq < seq) low = middle + 1
    else high = middle
  }
  return low
}
