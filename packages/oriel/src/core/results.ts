// Tool results that a view shows, in order, with what rules need to know of each.

import type { ToolResultBlock } from './block.ts'
import type { Item } from './item.ts'
import type { State } from './state.ts'

export interface Result {
  readonly item: Item
  /** Position of the block in the message. */
  readonly block: number
  readonly content: ToolResultBlock
  /** The tool that was called. */
  readonly tool: string
  /** The exchange it belongs to: the seq of its assistant message. */
  readonly exchange: number
  /** The seq of the first assistant message after it: from there on the model has seen it. */
  readonly seenAt: number | undefined
  /** Whether no rule may touch it: pinned, or not seen by the model yet. */
  readonly isProtected: boolean
}

/** Results of visible exchanges, oldest first. Orphans are not shown, so no rule sees them. */
export function resultsOf(state: State): readonly Result[] {
  const results: Result[] = []
  if (state.exchanges.isEmpty) return results
  const { visible } = state
  let seenAt: number | undefined
  for (let index = visible.length - 1; index >= 0; index--) {
    const item = visible[index] as Item
    const { entry } = item
    for (let block = entry.blocks.length - 1; block >= 0; block--) {
      const content = entry.blocks[block]
      if (content?.type !== 'tool-result') continue
      const answered = state.exchanges.answeredBy({ seq: entry.seq, block })
      if (answered === undefined) continue
      const { call, exchange } = answered
      const isSeen = seenAt !== undefined
      results.push({
        item,
        block,
        content,
        tool: call.name,
        exchange: exchange.seq,
        seenAt,
        isProtected: !isSeen || state.isPinned(entry.seq),
      })
    }
    if (entry.role === 'assistant') seenAt = entry.seq
  }
  return results.reverse()
}
