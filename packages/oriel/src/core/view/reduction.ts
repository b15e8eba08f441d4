// Reduction: the edit that gives a block a smaller form, if that is allowed and saves tokens.

import {
  type FileBlock,
  type ImageBlock,
  type TextBlock,
  type ToolResultBlock,
  textOf,
} from '../log/block.ts'
import type { Edit } from '../log/entry.ts'
import { isInRanges } from '../state/edits.ts'
import type { Item, State } from '../state/state.ts'
import { countBlock } from '../tokens/counter.ts'
import { reduce } from './render.ts'

export type Reduction = Pick<
  Edit,
  'rule' | 'form' | 'reason' | 'since' | 'isFinal' | 'keepsMedia' | 'keeps' | 'summary' | 'refersTo'
> & {
  readonly text: string
}

/** What a result or a block of a message is reduced from. */
export interface ReductionTarget {
  readonly item: Item
  readonly block: number
  readonly content: ToolResultBlock | TextBlock | ImageBlock | FileBlock
}

/** What stands for a result that is too short for a placeholder: document 004's word, or nothing. */
const shortPlaceholders = ['[Omitted]', '']

/** The edit that omits a result: behind its placeholder, or the shortest text that is not longer than what it stands for. */
export function omitResult(
  state: State,
  target: ReductionTarget,
  reduction: Omit<Reduction, 'form'>,
): readonly Edit[] {
  for (const text of [reduction.text, ...shortPlaceholders]) {
    const edits = reduceResult(state, target, { ...reduction, form: 'omitted', text })
    if (edits.length > 0) return edits
  }
  return []
}

/**
 * An edit for one result or one block. Returns none if a person vetoed the form, or if the new
 * text is not shorter than the original in characters and in tokens. `mayGrow` is for the literal
 * placeholder of document 004 only; `isLimit` is for a required cut that may save no tokens.
 */
export function reduceResult(
  state: State,
  target: ReductionTarget,
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
function lengthIn(content: ReductionTarget['content']): number {
  if (content.type === 'text') return content.text.length
  if (content.type !== 'tool-result') return Infinity
  const isText =
    typeof content.content === 'string' || content.content.every(({ type }) => type === 'text')
  return isText ? textOf(content.content).length : Infinity
}
