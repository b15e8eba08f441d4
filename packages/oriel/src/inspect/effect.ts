// What an action on a block would do to the next request: blocks, tokens, and how much of the provider's cache it costs.

import type { Rehearsal } from '../thread/actions.ts'
import type { ShownPart } from '../thread/view/contents.ts'
import { contentsIn } from '../thread/view/view.ts'
import { plainText } from './view-blocks.ts'

export interface ActionEffect {
  /** Blocks of the log that the next request shows otherwise. */
  readonly blocks: number
  /** Tokens of the next request as it is, and as it would be. */
  readonly tokens: { readonly before: number; readonly after: number }
  /** Tokens behind the first difference: the provider reads them anew. */
  readonly rewritten: number
}

/** The effect of a rehearsed action. */
export function effectOf({
  before,
  after,
}: Pick<Extract<Rehearsal, { ok: true }>, 'before' | 'after'>): ActionEffect {
  const [old, own] = [[...contentsIn(before)], [...contentsIn(after)]]
  const first = own.findIndex((part, at) => !isSame(part, old[at]))
  const isShorter = first === -1 && own.length < old.length
  const from = first === -1 ? own.length : first
  return {
    blocks: first === -1 && !isShorter ? 0 : differentBlocks(old, own),
    tokens: { before: before.tokens.after, after: after.tokens.after },
    rewritten: own.slice(from).reduce((sum, { tokens }) => sum + tokens, 0),
  }
}

/** Blocks that only one of two requests shows, or that they show otherwise. */
function differentBlocks(a: readonly ShownPart[], b: readonly ShownPart[]): number {
  const left = new Map(a.flatMap((part) => (part.part === 'block' ? [[keyOf(part), part]] : [])))
  let count = 0
  for (const part of b) {
    if (part.part !== 'block') continue
    const before = left.get(keyOf(part))
    left.delete(keyOf(part))
    if (!isSame(part, before)) count += 1
  }
  return count + left.size
}

function keyOf({ seq, index }: Extract<ShownPart, { part: 'block' }>): string {
  return `${seq}/${index}`
}

function isSame(a: ShownPart, b: ShownPart | undefined): boolean {
  if (b === undefined || a.part !== b.part) return false
  if (a.part === 'block' && b.part === 'block') {
    const isBlock = a.seq === b.seq && a.index === b.index
    return isBlock && (a.block === b.block || plainText(a.block) === plainText(b.block))
  }
  if (a.part === 'written' && b.part === 'written') return a.text === b.text
  return a.tokens === b.tokens
}
