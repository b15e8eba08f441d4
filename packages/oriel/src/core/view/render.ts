// Rendering: blocks in the form given by live and planned edits.

import type { Block, ToolResultBlock } from '../log/block.ts'
import { type Edit, type EditEntry, type Form, forms, type MessageEntry } from '../log/entry.ts'
import { isInRanges } from '../state/edits.ts'
import { asEdit, expansionsOf } from '../state/expansion.ts'
import type { Item, State } from '../state/state.ts'
import { countBlock } from '../tokens/counter.ts'
import { blockInPlace, isHidden, whyUnshown } from './audience.ts'
import type { Repair } from './profile.ts'

/** A visible message with its rendered blocks. */
export interface Rendered {
  readonly item: Item
  readonly blocks: readonly RenderedBlock[]
}

export interface RenderedBlock {
  /** The entry's own object in full form, a new one otherwise. */
  readonly block: Block
  /** Index in the entry. */
  readonly position: number
  readonly form: Form
}

/** What is shown otherwise than in full, beside what is planned. */
export interface InForce {
  /** Live edits that no planned one replaces, or takes the source of. */
  readonly edits: readonly Edit[]
  /** Blocks that the request does not show because of their audience. */
  readonly unshown: readonly Repair[]
}

/** Renders visible messages, with `planned` edits applied as if they were logged. */
export function render(
  state: State,
  items: readonly Item[],
  planned: readonly Edit[],
): { readonly rendered: readonly Rendered[]; readonly inForce: InForce } {
  const drops = planned.filter((edit) => 'ranges' in edit.target)
  const isPlanned = new Set(planned)
  const editOf = editsShown(state, planned)
  const rendered: Rendered[] = []
  const edits: Edit[] = []
  const unshown: Repair[] = []
  for (const item of items) {
    const { entry } = item
    const isGone = drops.some((edit) => isInRanges(edit, entry.seq)) || isHidden(state, entry)
    const blocks: RenderedBlock[] = []
    entry.blocks.forEach((block, position) => {
      const edit = editOf(entry, position)
      if (edit !== undefined && !isPlanned.has(edit)) edits.push(edit)
      const seen = blockInPlace(state, item, block)
      const why = isGone || seen !== block ? whyUnshown(state, item, block) : undefined
      if (why !== undefined) unshown.push({ seq: entry.seq, block: position, ...why })
      if (isGone || seen === undefined) return
      const shown = edit === undefined ? seen : reduce(seen, edit)
      if (shown !== undefined) blocks.push({ block: shown, position, form: edit?.form ?? 'full' })
    })
    // Drop a message that lost all its blocks, but keep one that never had any.
    if (!isGone && (blocks.length > 0 || entry.blocks.length === 0)) rendered.push({ item, blocks })
  }
  return { rendered, inForce: { edits, unshown } }
}

/**
 * Returns the edit that determines a block's form. In a pinned message: none, unless the original
 * was not kept. In an expanded block: its excerpt. Else the planned edit, else the live one.
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
  const isGone = goneIn(planned)
  return ({ seq, blocks }, position) => {
    if (state.isPinned(seq)) {
      const live = state.blockEdit(seq, position)
      return live !== undefined && state.isFinal(seq, position) ? live : undefined
    }
    const again = expansionOf(seq, position)
    if (again === undefined) {
      return byBlock?.get(`${seq}:${position}`) ?? state.blockEdit(seq, position, isGone)
    }
    const edit = asEdit(again, { seq, block: position })
    const block = edit === undefined ? undefined : blocks[position]
    if (edit === undefined || block === undefined) return edit
    // Counted lazily.
    return {
      ...edit,
      get tokensAfter() {
        return countBlock(state.counter, reduce(block, edit) ?? block)
      },
    }
  }
}

/** Tests whether planned edits remove a block that references may refer to; undefined if nothing is planned. */
export function goneIn(
  planned: readonly Edit[],
): ((seq: number, block: number) => boolean) | undefined {
  const others = planned.filter(({ refersTo }) => refersTo === undefined)
  if (others.length === 0) return undefined
  const drops = others.filter((edit) => 'ranges' in edit.target)
  const blocks = new Set(
    others.flatMap(({ target }) => ('seq' in target ? [`${target.seq}:${target.block}`] : [])),
  )
  return (seq, block) =>
    blocks.has(`${seq}:${block}`) || drops.some((edit) => isInRanges(edit, seq))
}

/** Dropped messages that a pin brings back, with their exchanges and the openers of their turns. */
export function shownByPins(state: State): ReadonlySet<number> {
  const shown = new Set<number>()
  for (const seq of state.pinned) {
    const entry = state.isVisible(seq) ? state.item(seq)?.entry : undefined
    if (entry === undefined) continue
    for (const member of state.exchanges.membersOf(seq)) shown.add(member)
    const opener = entry.role === 'system' ? undefined : state.clock.turns.get(entry.turn)
    if (opener !== undefined) shown.add(opener)
  }
  return shown
}

/**
 * Applies an edit to a block; undefined if it is dropped. Block types that cannot be shortened
 * become text.
 */
export function reduce(
  block: Block,
  edit: Pick<EditEntry, 'form' | 'text' | 'keepsMedia' | 'keeps'>,
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
  { text = '', keepsMedia, keeps }: Pick<EditEntry, 'text' | 'keepsMedia' | 'keeps'>,
): string | readonly Block[] {
  if (keeps !== undefined && typeof content !== 'string') {
    const kept = content.filter((_, index) => keeps.includes(index))
    return text === '' ? kept : [...kept, { type: 'text', text }]
  }
  const media = typeof content === 'string' ? [] : content.filter(({ type }) => type !== 'text')
  if (keepsMedia !== true || media.length === 0) return text
  return [{ type: 'text', text }, ...media]
}

/** The more reduced of two forms. */
export function strongest(a: Form, b: Form): Form {
  return forms.indexOf(a) >= forms.indexOf(b) ? a : b
}
