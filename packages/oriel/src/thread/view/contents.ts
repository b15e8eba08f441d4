// What a request consists of: system text, tools, and every block that it shows, with its tokens. They add up to the tokens of the view.

import { type Block, type Role, textOf } from '../../core/log/block.ts'
import type { Json } from '../../core/log/json.ts'
import { directivesTextWithout } from '../../core/text/directive-list.ts'
import { type Counter, overheadOf } from '../../core/tokens/counter.ts'
import { blockTokens, framePartTokens } from '../../core/tokens/tally.ts'
import { perSegmentOf } from '../../core/view/segments.ts'
import type { ViewMessage } from '../../core/view/view.ts'
import type { BuiltView, ViewRequest } from './view.ts'

export type ShownPart =
  /** System text, or the tools. */
  | { readonly part: 'system' | 'tools'; readonly tokens: number; readonly value: Json }
  /** A block of a logged message, as it is shown. The first one of a message carries the overhead of the message. */
  | {
      readonly part: 'block'
      readonly seq: number
      readonly index: number
      readonly role: Role
      readonly block: Block
      readonly tokens: number
    }
  /** Text that Oriel wrote: a checkpoint, a result in the place of a missing one, or what holds for this request only. */
  | {
      readonly part: 'written'
      readonly isResult?: boolean
      readonly role: Role
      readonly text: string
      readonly tokens: number
    }

/** What fills a request, in its order. `summary` is what Oriel wrote in the place of messages, `directives` the standing instructions in it. */
export const requestCategories = [
  'system',
  'tools',
  'summary',
  'directives',
  'user',
  'assistant',
  'results',
] as const
export type RequestCategory = (typeof requestCategories)[number]

/** Tokens of a view by category: they add up to its tokens. Categories without any are left out. */
export function categoryTokens(
  { state, framing }: Pick<ViewRequest, 'state' | 'framing'>,
  { assembled }: Pick<BuiltView, 'assembled'>,
): Partial<Record<RequestCategory, number>> {
  const [system, tools] = framePartTokens(state.counter, framing.frame)
  const sums = { system: system?.tokens ?? 0, tools: tools?.tokens ?? 0, summary: 0, directives: 0 }
  const all: Record<RequestCategory, number> = { ...sums, user: 0, assistant: 0, results: 0 }
  for (const segment of assembled.segments) {
    for (const [name, tokens] of segmentCategories(state, segment)) all[name] += tokens
  }
  all.directives = Math.min(all.summary, all.summary === 0 ? 0 : directiveTokens(state))
  all.summary -= all.directives
  const found = requestCategories.filter((name) => all[name] !== 0)
  return Object.fromEntries(found.map((name) => [name, all[name]]))
}

const segmentCategories = perSegmentOf('categories', (state, { messages }) => {
  const sums = new Map<RequestCategory, number>()
  const add = (name: RequestCategory, tokens: number): void => {
    sums.set(name, (sums.get(name) ?? 0) + tokens)
  }
  for (const message of messages) {
    const { role, entry, blocks } = message
    const isWritten = (entry === undefined || entry.seq === 0) && !isResult(blocks)
    add(isWritten ? 'summary' : categoryOf(role, blocks[0]), overheadOf(role))
    blockTokens(state, message).forEach((tokens, at) => {
      add(isWritten ? 'summary' : categoryOf(role, blocks[at]), tokens)
    })
  }
  return sums
})

/** Tokens of the standing instructions in the live checkpoint; the same checkpoint is shown by many views. */
function directiveTokens({ checkpoint, counter }: ViewRequest['state']): number {
  const { digest } = checkpoint ?? {}
  if (digest === undefined) return 0
  const known = counted.get(digest)
  if (known?.counter === counter) return known.tokens
  const tokens = counter.count(directivesTextWithout(digest.directives, () => false))
  counted.set(digest, { counter, tokens })
  return tokens
}

const counted = new WeakMap<object, { readonly counter: Counter; readonly tokens: number }>()

/** Whether a message that nobody logged stands for a result: providers want one for every call. */
function isResult([first]: readonly Block[]): boolean {
  return first?.type === 'tool-result'
}

function resultText([first]: readonly Block[]): string {
  return first?.type === 'tool-result' ? textOf(first.content) : ''
}

/** The category of a logged block. */
function categoryOf(role: Role, block?: Block): RequestCategory {
  if (block?.type === 'tool-result' || role === 'tool') return 'results'
  if (role === 'system') return 'system'
  return role === 'user' ? 'user' : 'assistant'
}

/** The parts of a view, in the order of the request; those of a long one need not be asked for in one go. */
export function* contentsOf(
  { state, framing }: Pick<ViewRequest, 'state' | 'framing'>,
  { assembled }: Pick<BuiltView, 'assembled'>,
): Generator<ShownPart> {
  const { frame } = framing
  const [system, tools] = framePartTokens(state.counter, frame)
  if (system !== undefined && system.tokens > 0) {
    yield { part: 'system', tokens: system.tokens, value: (frame?.system ?? '') as Json }
  }
  if (tools !== undefined && tools.tokens > 0) {
    yield { part: 'tools', tokens: tools.tokens, value: (frame?.tools ?? []) as Json }
  }
  for (const message of assembled.messages) yield* partsOf(state, message)
}

function partsOf(state: ViewRequest['state'], message: ViewMessage): readonly ShownPart[] {
  const { role, entry, blocks, positions } = message
  const tokens = blockTokens(state, message)
  const overhead = overheadOf(role)
  if (entry === undefined || entry.seq === 0) {
    const sum = tokens.reduce((total, one) => total + one, overhead)
    return isResult(blocks)
      ? [{ part: 'written', isResult: true, role, text: resultText(blocks), tokens: sum }]
      : [{ part: 'written', role, text: textOf(blocks), tokens: sum }]
  }
  return blocks.map((block, at) => ({
    part: 'block',
    seq: entry.seq,
    index: positions?.[at] ?? at,
    role,
    block,
    tokens: (tokens[at] ?? 0) + (at === 0 ? overhead : 0),
  }))
}
