// Tool results that a view shows, in order, with what rules need to know of each.

import { type Block, type ToolResultBlock, textOf } from '../log/block.ts'
import type { Edit, MessageEntry } from '../log/entry.ts'
import { assert } from '../log/errors.ts'
import { lastingBlock } from '../view/audience.ts'
import { reduce } from '../view/render.ts'
import type { Item, State } from './state.ts'

export interface Result {
  readonly item: Item
  /** Position of the block in the message. */
  readonly block: number
  /** The result as a model may read it: rules make every form from this. */
  readonly content: ToolResultBlock
  /** Its text as it came in, whatever became of it: to compare results by, never to make a form from. */
  readonly said: string
  /** The tool that was called. */
  readonly tool: string
  /** The exchange it belongs to: the seq of its assistant message. */
  readonly exchange: number
  /** The seq of the first assistant message after it: from there on the model has seen it. */
  readonly seenAt: number | undefined
  /** Whether no rule may touch it: pinned, or not seen by the model yet. */
  readonly isProtected: boolean
}

/**
 * Results of visible exchanges, oldest first. Orphans are not shown, so no rule sees them. `planned` has what other rules propose in the
 * same pass: what they do not preserve is read in the form that they give it.
 */
export function resultsOf(state: State, planned: readonly Edit[] = []): readonly Result[] {
  const results: Result[] = []
  if (state.exchanges.isEmpty) return results
  const { visible } = state
  const lost = lostIn(planned)
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
        get said() {
          return textOfResult(lastingBlock(entry, content) ?? content)
        },
        content: readableResult(state, entry, {
          content,
          block,
          lost: lost?.get(`${entry.seq}:${block}`),
        }),
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

/** A result as a model may read it: without what is hidden in it; where the original was not preserved, what took its place. */
export function readableResult(
  state: State,
  entry: MessageEntry,
  {
    content,
    block,
    lost,
  }: {
    readonly content: ToolResultBlock
    readonly block: number
    /** An edit that is not in the log yet and does not preserve it. */
    readonly lost?: Edit | undefined
  },
): ToolResultBlock {
  const lasting = lastingBlock(entry, content) ?? content
  const live = state.isFinal(entry.seq, block) ? state.blockEdit(entry.seq, block) : undefined
  const edit = lost ?? live
  const shown = edit === undefined ? lasting : (reduce(lasting, edit) ?? lasting)
  assert(shown.type === 'tool-result', 'a result in any form is a result')
  return shown
}

function textOfResult(block: Block): string {
  return block.type === 'tool-result' ? textOf(block.content) : ''
}

function lostIn(planned: readonly Edit[]): ReadonlyMap<string, Edit> | undefined {
  const lost = planned.filter(({ isFinal }) => isFinal === true)
  if (lost.length === 0) return undefined
  return new Map(
    lost.flatMap((edit) =>
      'seq' in edit.target ? [[`${edit.target.seq}:${edit.target.block}`, edit] as const] : [],
    ),
  )
}
