// The edit that gives a tool result a smaller form, or none where that would not help or is not allowed.

import { textOf } from './block.ts'
import { countBlock } from './counter.ts'
import type { Edit } from './entry.ts'
import { reduce } from './render.ts'
import type { Result } from './results.ts'
import type { State } from './state.ts'

export type Reduction = Pick<
  Edit,
  'rule' | 'form' | 'reason' | 'since' | 'isFinal' | 'keepsMedia' | 'summary'
> & {
  readonly text: string
}

/**
 * An edit for one result. None when the form was taken back by a person, or when the text is not shorter than the original in
 * characters and in tokens; `mayGrow` is for the literal placeholder of document 004 only.
 */
export function reduceResult(
  state: State,
  { item, block, content }: Result,
  reduction: Reduction,
  { mayGrow = false }: { readonly mayGrow?: boolean } = {},
): readonly Edit[] {
  const { seq } = item.entry
  const { form, text } = reduction
  if (state.isVetoed(seq, block, form)) return []
  const shown = reduce(content, reduction)
  const tokensBefore = item.tokens[block] as number
  const tokensAfter = shown === undefined ? 0 : countBlock(state.counter, shown)
  const isSmaller = text.length < textOf(content.content).length && tokensAfter < tokensBefore
  if (!isSmaller && !mayGrow) return []
  return [{ ...reduction, target: { seq, block }, tokensBefore, tokensAfter }]
}
