// The line that document 004 prints when results give way, for people who watch a thread.

import type { EditEntry } from '../../core/log/entry.ts'
import { resultsOf } from '../../core/state/results.ts'
import type { State } from '../../core/state/state.ts'

/** How many results are full and how many are not, after edits of tool results; undefined where there were none. */
export function resultLine(
  state: State,
  edits: readonly EditEntry[],
  repairs: number,
): string | undefined {
  if (!edits.some(({ rule }) => rule === 'toolResults')) return undefined
  const results = resultsOf(state)
  const formOf = ({ item, block }: (typeof results)[number]): string =>
    state.blockEdit(item.entry.seq, block)?.form ?? 'full'
  const replaced = results.filter((result) => formOf(result) === 'omitted').length
  const summarized = results.filter((result) => formOf(result) === 'summarized').length
  const parts = [
    `${results.length - replaced - summarized} kept full`,
    `${replaced} replaced with placeholders`,
    ...(summarized === 0 ? [] : [`${summarized} summarized`]),
  ]
  const repaired = repairs === 0 ? 'no repair needed' : `${repairs} repairs`
  return `[ToolResults] Tool result filtering: ${results.length} tool messages, ${parts.join(', ')} (${repaired})`
}
