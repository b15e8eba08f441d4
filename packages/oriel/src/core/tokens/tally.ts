// Token count of a view. Full blocks use cached counts; only rewritten blocks are counted again.

import type { Block } from '../log/block.ts'
import type { State } from '../state/state.ts'
import type { Frame, ViewMessage } from '../view/view.ts'
import { type Counter, countBlock, overheadOf } from './counter.ts'
import { mostTokens } from './margin.ts'

/** Tokens per block of a message, in order. */
export function blockTokens(state: State, message: ViewMessage): number[] {
  const item = message.entry === undefined ? undefined : state.item(message.entry.seq)
  return message.blocks.map((block, index) => {
    const position = message.positions?.[index] ?? index
    const isFull = item !== undefined && item.entry.blocks[position] === block
    return isFull ? (item.tokens[position] as number) : countShown(state.counter, block)
  })
}

/** Caches long texts: a checkpoint is shown unchanged by many views. */
function countShown(counter: Counter, block: Block): number {
  const isLong = block.type === 'text' && block.text.length > longText
  return isLong ? countAgain(counter, block.text) : countBlock(counter, block)
}

/** Tokens of a whole view, without its frame. */
export function viewTokens(state: State, messages: readonly ViewMessage[]): number {
  let sum = 0
  for (const message of messages) {
    sum += overheadOf(message.role)
    for (const tokens of blockTokens(state, message)) sum += tokens
  }
  return sum
}

/** The most tokens that a whole view may have, without its frame. */
export function mostViewTokens(state: State, messages: readonly ViewMessage[]): number {
  let sum = 0
  for (const message of messages) {
    sum += overheadOf(message.role)
    blockTokens(state, message).forEach((tokens, at) => {
      sum += mostTokens(state.counter, message.blocks[at] as Block, tokens)
    })
  }
  return sum
}

/** Tokens of the frame: system text and tools. */
export function frameTokens(counter: Counter, frame: Frame | undefined): number {
  return framePartTokens(counter, frame).reduce((sum, { tokens }) => sum + tokens, 0)
}

/** Tokens of each part of the frame. */
export function framePartTokens(
  counter: Counter,
  frame: Frame | undefined,
): readonly { readonly name: string; readonly tokens: number }[] {
  return [
    { name: 'system text', tokens: countAny(counter, frame?.system) },
    { name: 'tools', tokens: countAny(counter, frame?.tools) },
  ]
}

function countAny(counter: Counter, value: unknown): number {
  if (value === undefined || value === null) return 0
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return overheadOf('system') + countAgain(counter, text)
}

/** LRU cache of token counts: frames and checkpoints are the same in most requests. */
let counted = new WeakMap<Counter, Map<string, number>>()
const maxCounted = 256
const longText = 4000

/** Clears the cache: it may hold text of an erased thread. */
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
