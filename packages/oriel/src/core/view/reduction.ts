// Reduction: the edit that gives a block a smaller form, if that is allowed and saves tokens.

import { type TextBlock, type ToolResultBlock, textOf } from '../log/block.ts'
import type { Edit } from '../log/entry.ts'
import { isInRanges } from '../state/edits.ts'
import type { Item, State } from '../state/state.ts'
import { countBlock } from '../tokens/counter.ts'
import { reduce } from './render.ts'

export type Reduction = Pick<
  Edit,
  'rule' | 'form' | 'reason' | 'since' | 'isFinal' | 'keepsMedia' | 'summary'
> & {
  readonly text: string
}

/**
 * An edit for one result or one text block. Returns none if a person vetoed the form, or if the new
 * text is not shorter than the original in characters and in tokens. `mayGrow` is for the literal
 * placeholder of document 004 only; `isLimit` is for a required cut that may save no tokens.
 */
export function reduceResult(
  state: State,
  target: {
    readonly item: Item
    readonly block: number
    readonly content: ToolResultBlock | TextBlock
  },
  reduction: Reduction,
  {
    mayGrow = false,
    isLimit = false,
  }: { readonly mayGrow?: boolean; readonly isLimit?: boolean } = {},
): readonly Edit[] {
  const { item, block, content } = target
  const { seq } = item.entry
  const { form, text } = reduction
  if (state.isVetoed(seq, block, form)) return []
  const shown = reduce(content, reduction)
  const tokensBefore = item.tokens[block] as number
  const tokensAfter = shown === undefined ? 0 : countBlock(state.counter, shown)
  const isCheaper = isLimit ? tokensAfter <= tokensBefore : tokensAfter < tokensBefore
  const isShorter = text.length < lengthIn(content) && isCheaper
  if (!isShorter && !mayGrow) return []
  return [{ ...reduction, target: { seq, block }, tokensBefore, tokensAfter }]
}

/**
 * Tests whether the original of a block must not be shown again because a planned or live edit did
 * not preserve it.
 */
export function finalIn(
  state: State,
  planned: readonly Edit[] = [],
): (seq: number, block: number) => boolean {
  const final = planned.filter(({ isFinal }) => isFinal === true)
  if (final.length === 0) return (seq, block) => state.isFinal(seq, block)
  const blocks = new Set<string>()
  for (const { target } of final) if ('seq' in target) blocks.add(`${target.seq}:${target.block}`)
  return (seq, block) =>
    blocks.has(`${seq}:${block}`) ||
    final.some((edit) => isInRanges(edit, seq)) ||
    state.isFinal(seq, block)
}

/** Characters of the text. Infinite with images, which are always larger than a placeholder. */
function lengthIn(content: ToolResultBlock | TextBlock): number {
  if (content.type === 'text') return content.text.length
  const isText =
    typeof content.content === 'string' || content.content.every(({ type }) => type === 'text')
  return isText ? textOf(content.content).length : Infinity
}
