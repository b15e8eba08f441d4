// Blocks in the form that the live edits give them.

import type { Block, ToolResultBlock } from '../log/block.ts'
import { type Edit, type EditEntry, type Form, forms, type MessageEntry } from '../log/entry.ts'
import { isInRanges } from '../state/edits.ts'
import { asEdit, expansionsOf } from '../state/expansion.ts'
import { type Item, type State, startsTurn } from '../state/state.ts'
import { countBlock } from '../tokens/counter.ts'
import { blockInPlace, isHidden } from './audience.ts'

/** A visible message with its blocks as they appear. */
export interface Rendered {
  readonly item: Item
  readonly blocks: readonly RenderedBlock[]
}

export interface RenderedBlock {
  /** The entry's own block when full, a new one otherwise. */
  readonly block: Block
  /** Position in the entry. */
  readonly position: number
  readonly form: Form
}

/** The messages that `state` and edits not yet logged would show. */
export function render(state: State, planned: readonly Edit[]): readonly Rendered[] {
  const drops = planned.filter((edit) => 'ranges' in edit.target)
  const editOf = editsShown(state, planned)
  const rendered: Rendered[] = []
  for (const item of state.visible) {
    const { entry } = item
    if (drops.some((edit) => isInRanges(edit, entry.seq))) continue
    if (isHidden(state, entry)) continue
    const blocks: RenderedBlock[] = []
    entry.blocks.forEach((block, position) => {
      const seen = blockInPlace(state, item, block)
      if (seen === undefined) return
      const edit = editOf(entry, position)
      const shown = edit === undefined ? seen : reduce(seen, edit)
      if (shown !== undefined) blocks.push({ block: shown, position, form: edit?.form ?? 'full' })
    })
    // A message whose every block is gone leaves the view; one that came without blocks stays as it is.
    if (blocks.length > 0 || entry.blocks.length === 0) rendered.push({ item, blocks })
  }
  return rendered
}

/**
 * The edit that gives a block its form: none in a pinned message, unless the original was not kept; of what was asked for again, the part that is shown; else the one that
 * is planned, else the one in force.
 */
export function editsShown(
  state: State,
  planned: readonly Edit[],
): (entry: MessageEntry, position: number) => Edit | undefined {
  const byBlock = planned.length === 0 ? undefined : new Map<string, Edit>()
  for (const edit of planned) {
    if ('seq' in edit.target) byBlock?.set(`${edit.target.seq}:${edit.target.block}`, edit)
  }
  const expansionOf = expansionsOf(state)
  return ({ seq, blocks }, position) => {
    if (state.isPinned(seq)) {
      const live = state.blockEdit(seq, position)
      return live !== undefined && state.isFinal(seq, position) ? live : undefined
    }
    const again = expansionOf(seq, position)
    if (again === undefined) {
      return byBlock?.get(`${seq}:${position}`) ?? state.blockEdit(seq, position)
    }
    const edit = asEdit(again, { seq, block: position })
    const block = edit === undefined ? undefined : blocks[position]
    if (edit === undefined || block === undefined) return edit
    // Counted only where somebody asks.
    return {
      ...edit,
      get tokensAfter() {
        return countBlock(state.counter, reduce(block, edit) ?? block)
      },
    }
  }
}

/** Messages that were dropped and that a pin brings back, with their exchanges and what opens their turns. */
export function shownByPins(state: State): ReadonlySet<number> {
  const { visible } = state
  const pinned = visible.filter(({ entry }) => state.isPinned(entry.seq))
  if (pinned.length === 0) return new Set()
  const said = pinned.filter(({ entry }) => entry.role !== 'system')
  const turns = new Set(said.map(({ entry }) => entry.turn))
  const openers = visible.filter(({ entry }) => startsTurn(entry) && turns.has(entry.turn))
  return new Set([
    ...pinned.flatMap(({ entry }) => state.exchanges.membersOf(entry.seq)),
    ...openers.map(({ entry }) => entry.seq),
  ])
}

/** A block in an edit's form; undefined when it is dropped. Kinds that cannot be rewritten become text. */
export function reduce(
  block: Block,
  edit: Pick<EditEntry, 'form' | 'text' | 'keepsMedia'>,
): Block | undefined {
  if (edit.form === 'full') return block
  if (edit.form === 'dropped') return undefined
  const text = edit.text ?? ''
  if (block.type === 'text') return { ...block, text }
  if (block.type === 'tool-result') return { ...block, content: reduceContent(block, edit) }
  if (block.type === 'tool-call' || block.type === 'reasoning') return block
  return { type: 'text', text, ...(block.id === undefined ? {} : { id: block.id }) }
}

function reduceContent(
  { content }: ToolResultBlock,
  { text = '', keepsMedia }: Pick<EditEntry, 'text' | 'keepsMedia'>,
): string | readonly Block[] {
  const media = typeof content === 'string' ? [] : content.filter(({ type }) => type !== 'text')
  if (keepsMedia !== true || media.length === 0) return text
  return [{ type: 'text', text }, ...media]
}

/** The stronger of two forms. */
export function strongest(a: Form, b: Form): Form {
  return forms.indexOf(a) >= forms.indexOf(b) ? a : b
}
