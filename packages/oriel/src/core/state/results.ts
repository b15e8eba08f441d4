// Tool results that a view shows, in order, with the facts that rules need.

import { type Block, type ToolResultBlock, textOf } from '../log/block.ts'
import type { Edit, MessageEntry } from '../log/entry.ts'
import { assert } from '../log/errors.ts'
import { lastingBlock } from '../view/audience.ts'
import { reduce } from '../view/render.ts'
import type { Item, State } from './state.ts'

export interface Result {
  readonly item: Item
  /** Index of the block in the message. */
  readonly block: number
  /** The result as a model may read it. Rules derive every form from this. */
  readonly content: ToolResultBlock
  /** The original text, regardless of edits. Use it to compare results, never to derive a form. */
  readonly said: string
  /** Name of the called tool. */
  readonly tool: string
  /** Seq of the exchange's assistant message. */
  readonly exchange: number
  /** Seq of the first assistant message after it, by which the model has seen the result. */
  readonly seenAt: number | undefined
  /** No rule may change it: it is pinned, or the model has not seen it yet. */
  readonly isProtected: boolean
}

/**
 * Results of visible exchanges, oldest first. Orphans are skipped. `planned` has edits that other
 * rules propose in the same pass; results that they make final are read in their planned form.
 * Messages up to the seq `after` are not looked at.
 */
export function resultsOf(
  state: State,
  planned: readonly Edit[] = [],
  after = 0,
): readonly Result[] {
  const results: Result[] = []
  if (state.exchanges.isEmpty) return results
  const visible = state.visibleFrom(after === 0 ? 0 : state.positionOf(after + 1))
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

/**
 * A result as a model may read it: without hidden blocks, and in the edited form if the original
 * was not preserved.
 */
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
    /** A planned edit that does not preserve the original. */
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
