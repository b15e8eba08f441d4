// Readable content: what a model may read of a message. Every derived text (memory, digest,
// summary, placeholder, expansion, search) must be made from this and from nothing else.

import type { Block } from '../log/block.ts'
import type { Edit, MessageEntry } from '../log/entry.ts'
import { isInRanges } from '../state/edits.ts'
import type { State } from '../state/state.ts'
import { isLasting, lastingBlock } from '../view/audience.ts'
import { finalIn } from '../view/reduction.ts'
import { reduce } from '../view/render.ts'

export interface ReadableBlock {
  readonly block: Block
  /** Index in the entry. */
  readonly position: number
}

/** Returns the blocks of a message that a model may read. */
export type Readable = (entry: MessageEntry) => readonly ReadableBlock[]

/**
 * Returns a reader with these rules, for this and later requests:
 * - An excluded message has no readable content; nor has content for people only or for one request
 *   only, inside tool results too.
 * - An original that was not preserved is readable only in its edited form. `planned` has edits
 *   that are not logged yet.
 */
export function readableIn(state: State, planned: readonly Edit[] = []): Readable {
  const isLost = finalIn(state, planned)
  const editOf = newestEdits(state, planned)
  return (entry) => {
    const { seq, blocks } = entry
    if (!isLasting(entry) || state.excluded.has(seq)) return []
    return blocks.flatMap((block, position): ReadableBlock[] => {
      const lasting = isLasting(block) ? lastingBlock(entry, block) : undefined
      if (lasting === undefined) return []
      if (!isLost(seq, position)) return [{ block: lasting, position }]
      const edit = editOf(seq, position)
      const shown = edit === undefined ? undefined : reduce(lasting, edit)
      return shown === undefined ? [] : [{ block: shown, position }]
    })
  }
}

/**
 * The message reduced to its readable blocks: the same object if nothing is hidden, undefined if
 * nothing is left.
 */
export function readableMessage(readable: Readable, entry: MessageEntry): MessageEntry | undefined {
  const blocks = readable(entry)
  if (blocks.length === 0 && entry.blocks.length > 0) return undefined
  const isWhole =
    blocks.length === entry.blocks.length &&
    blocks.every(({ block }, at) => block === entry.blocks[at])
  return isWhole ? entry : { ...entry, blocks: blocks.map(({ block }) => block) }
}

/**
 * The edit that determines a block's form: a final drop of its message, else the block's newest
 * edit.
 */
function newestEdits(
  state: State,
  planned: readonly Edit[],
): (seq: number, block: number) => Edit | undefined {
  const byBlock = new Map<string, Edit>()
  for (const edit of planned) {
    if ('seq' in edit.target) byBlock.set(`${edit.target.seq}:${edit.target.block}`, edit)
  }
  const removed = [...state.finalEdits, ...planned].filter(
    ({ isFinal, target }) => isFinal === true && 'ranges' in target,
  )
  return (seq, block) =>
    removed.find((edit) => isInRanges(edit, seq)) ??
    byBlock.get(`${seq}:${block}`) ??
    state.blockEdit(seq, block)
}
