// Tokens of a view, counted once per block: full blocks are looked up, only rewritten ones are counted anew.

import type { Block } from '../log/block.ts'
import type { State } from '../state/state.ts'
import type { Frame, ViewMessage } from '../view/view.ts'
import { type Counter, countBlock, overheadOf } from './counter.ts'

/** The tokens of each block of a message, in order. */
export function blockTokens(state: State, message: ViewMessage): number[] {
  const item = message.entry === undefined ? undefined : state.item(message.entry.seq)
  return message.blocks.map((block, index) => {
    const position = message.positions?.[index] ?? index
    const isFull = item !== undefined && item.entry.blocks[position] === block
    return isFull ? (item.tokens[position] as number) : countShown(state.counter, block)
  })
}

/** A checkpoint is long, and is shown unchanged by many views. */
function countShown(counter: Counter, block: Block): number {
  const isLong = block.type === 'text' && block.text.length > longText
  return isLong ? countAgain(counter, block.text) : countBlock(counter, block)
}

/** The tokens of a whole view, without its frame. */
export function viewTokens(state: State, messages: readonly ViewMessage[]): number {
  let sum = 0
  for (const message of messages) {
    sum += overheadOf(message.role)
    for (const tokens of blockTokens(state, message)) sum += tokens
  }
  return sum
}

/** The tokens of what stands around the messages: system text and tools. */
export function frameTokens(counter: Counter, frame: Frame | undefined): number {
  if (frame === undefined) return 0
  return countAny(counter, frame.system) + countAny(counter, frame.tools)
}

function countAny(counter: Counter, value: unknown): number {
  if (value === undefined || value === null) return 0
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return overheadOf('system') + countAgain(counter, text)
}

/** What stands around the messages, and what checkpoints say, is the same in most requests: it is counted once. */
let counted = new WeakMap<Counter, Map<string, number>>()
const maxCounted = 256
const longText = 4000

/** Forgets the texts: one of them may be of a thread that was erased. */
export function forgetCountedTexts(): void {
  counted = new WeakMap()
}

function countAgain(counter: Counter, text: string): number {
  const known = counted.get(counter) ?? new Map<string, number>()
  counted.set(counter, known)
  const tokens = known.get(text) ?? counter.count(text)
  known.delete(text)
  known.set(text, tokens)
  if (known.size > maxCounted) known.delete(known.keys().next().value as string)
  return tokens
}
