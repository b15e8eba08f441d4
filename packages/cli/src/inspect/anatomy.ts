// Token breakdown of one conversation: by part, tool, turn and result, and its growth. Pure.

import {
  type Block,
  type Counter,
  countBlock,
  type Decoded,
  type Draft,
  decode,
  overheadOf,
} from 'oriel'
import type { Conversation } from '../transcript/conversation.ts'
import { findRepeats, type Repeat, type Repeatable } from './duplicates.ts'
import { blocksOf, textOfResult, weighFrame } from './token-cost.ts'

/** Parts of a request, in wire order. */
export const parts = [
  'system',
  'tool definitions',
  'user',
  'assistant text',
  'reasoning',
  'tool calls',
  'tool results',
] as const
export type Part = (typeof parts)[number]

export interface ToolUse {
  readonly tool: string
  readonly calls: number
  readonly results: number
  /** Results with an error flag. OpenAI's formats have none. */
  readonly failed: number
  readonly callTokens: number
  readonly resultTokens: number
  readonly largestResult: number
}

export interface Turn {
  /** 0 is before the first user message. */
  readonly turn: number
  /** Index of its first and last message. */
  readonly from: number
  readonly to: number
  readonly steps: number
  readonly tokens: number
}

export interface Result extends Repeatable {
  readonly turn: number
  /** Contains more than text: results with the same text may have different images. */
  readonly hasMedia: boolean
}

export interface Anatomy {
  readonly messages: number
  readonly turns: number
  readonly steps: number
  readonly tokens: number
  readonly parts: Readonly<Record<Part, number>>
  readonly tools: readonly ToolUse[]
  readonly turnList: readonly Turn[]
  /** Input tokens of each step without any policy. */
  readonly growth: readonly number[]
  /** The sum of `growth`: input tokens of the whole run. */
  readonly sentTokens: number
  /** Largest first. */
  readonly results: readonly Result[]
  /** Most wasted tokens first. */
  readonly repeats: readonly Repeat[]
}

/** Tool name for a result without its call. */
export const unknownTool = '(no call)'

/** Throws OrielError with the path for an invalid message. */
export function dissect(conversation: Conversation, counter: Counter): Anatomy {
  const { frame, messages, detection } = conversation
  const walk = new Walk(counter)
  walk.addFrame('system', weighFrame(counter, frame.system))
  walk.addFrame('tool definitions', weighFrame(counter, frame.tools))
  for (const decoded of decode(detection.format, messages)) walk.add(decoded)
  return walk.anatomy(messages.length)
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** Collects the figures in one pass over the messages. */
class Walk {
  readonly #counter: Counter
  readonly #parts = Object.fromEntries(parts.map((part) => [part, 0])) as Record<Part, number>
  readonly #tools = new Map<string, Mutable<ToolUse>>()
  readonly #turns = new Map<number, Mutable<Turn>>()
  readonly #calls = new Map<string, { tool: string; turn: number }>()
  readonly #results: Result[] = []
  readonly #growth: number[] = []
  #tokens = 0
  #turn = 0

  constructor(counter: Counter) {
    this.#counter = counter
  }

  addFrame(part: Part, tokens: number): void {
    this.#parts[part] += tokens
    this.#tokens += tokens
  }

  add({ draft, from, to }: Decoded): void {
    const blocks = blocksOf(draft)
    if (startsTurn(draft)) this.#turn += 1
    if (draft.role === 'assistant') this.#growth.push(this.#tokens)
    const turn = this.#turnOf(blocks)
    let tokens = overheadOf(draft.role)
    this.#parts[partOf(draft.role)] += overheadOf(draft.role)
    for (const block of blocks) {
      const weight = countBlock(this.#counter, block)
      tokens += weight
      this.#parts[partOfBlock(block, draft.role)] += weight
      if (block.type === 'tool-call') this.#addCall(block, weight)
      if (block.type === 'tool-result') {
        this.#addResult(block, { index: from, tokens: weight, name: block.name ?? draft.tool })
      }
    }
    this.#tokens += tokens
    this.#addToTurn(turn, { tokens, from, to, isStep: draft.role === 'assistant' })
  }

  anatomy(messages: number): Anatomy {
    return {
      messages,
      turns: this.#turn,
      steps: this.#growth.length,
      tokens: this.#tokens,
      parts: this.#parts,
      tools: [...this.#tools.values()].sort(byTokens),
      turnList: [...this.#turns.values()],
      growth: this.#growth,
      sentTokens: this.#growth.reduce((sum, tokens) => sum + tokens, 0),
      results: this.#results.toSorted((a, b) => b.tokens - a.tokens || a.index - b.index),
      repeats: findRepeats(this.#results.filter(({ hasMedia }) => !hasMedia)),
    }
  }

  #addCall(block: Block & { type: 'tool-call' }, tokens: number): void {
    this.#calls.set(block.callId, { tool: block.name, turn: this.#turn })
    const use = this.#use(block.name)
    use.calls += 1
    use.callTokens += tokens
  }

  #addResult(
    block: Block & { type: 'tool-result' },
    found: { index: number; tokens: number; name: string | undefined },
  ): void {
    const call = this.#calls.get(block.callId)
    const tool = call?.tool ?? found.name ?? unknownTool
    const use = this.#use(tool)
    use.results += 1
    use.resultTokens += found.tokens
    use.largestResult = Math.max(use.largestResult, found.tokens)
    if (block.isError === true) use.failed += 1
    this.#results.push({
      index: found.index,
      turn: call?.turn ?? this.#turn,
      tool,
      tokens: found.tokens,
      text: textOfResult(block.content),
      hasMedia:
        typeof block.content !== 'string' && block.content.some(({ type }) => type !== 'text'),
    })
  }

  /** A tool result belongs to the turn of its call, even if a user message came in between. */
  #turnOf(blocks: readonly Block[]): number {
    for (const block of blocks) {
      const call = block.type === 'tool-result' ? this.#calls.get(block.callId) : undefined
      if (call !== undefined) return call.turn
    }
    return this.#turn
  }

  #addToTurn(
    number: number,
    found: { tokens: number; from: number; to: number; isStep: boolean },
  ): void {
    const turn = this.#turns.get(number) ?? {
      turn: number,
      from: found.from,
      to: found.from,
      steps: 0,
      tokens: 0,
    }
    this.#turns.set(number, turn)
    turn.to = Math.max(turn.to, found.to - 1)
    turn.tokens += found.tokens
    if (found.isStep) turn.steps += 1
  }

  #use(tool: string): Mutable<ToolUse> {
    const known = this.#tools.get(tool)
    if (known !== undefined) return known
    const use = {
      tool,
      calls: 0,
      results: 0,
      failed: 0,
      callTokens: 0,
      resultTokens: 0,
      largestResult: 0,
    }
    this.#tools.set(tool, use)
    return use
  }
}

/** Most tokens first; ties by name, so that the output is deterministic. */
export function byTokens(a: ToolUse, b: ToolUse): number {
  const difference = b.callTokens + b.resultTokens - a.callTokens - a.resultTokens
  return difference === 0 ? (a.tool < b.tool ? -1 : 1) : difference
}

function startsTurn({ role, origin = role }: Draft): boolean {
  return role === 'user' && origin === 'user'
}

function partOf(role: Draft['role']): Part {
  if (role === 'assistant') return 'assistant text'
  return role === 'tool' ? 'tool results' : role
}

function partOfBlock(block: Block, role: Draft['role']): Part {
  if (block.type === 'reasoning') return 'reasoning'
  if (block.type === 'tool-call') return 'tool calls'
  return block.type === 'tool-result' ? 'tool results' : partOf(role)
}
