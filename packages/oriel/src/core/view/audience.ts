// Audience: which requests show a block (the first one after its append, later ones, or none).

import type { Audience, Block, ToolResultBlock } from '../log/block.ts'
import type { Edit } from '../log/entry.ts'
import { isInRanges } from '../state/edits.ts'
import type { Item, State } from '../state/state.ts'
import type { ViewMessage } from './view.ts'

interface Seen {
  readonly audience?: Audience
}

/** True if the first request after the append shows it. */
function isForNow({ audience }: Seen): boolean {
  return audience?.now !== false
}

/**
 * True if later requests show it. Other content does not count towards the conversation's lasting
 * size.
 */
export function isLasting({ audience }: Seen): boolean {
  return audience?.later !== false
}

/** Replaces a tool result that a request must not show, because its call needs an answer. */
const withheld = '[Omitted: not for the model]'

/**
 * The block as later requests show it, without hidden blocks inside it; undefined if it is hidden.
 */
export function lastingBlock(entry: Item['entry'], block: Block): Block | undefined {
  return seenBlock(entry, block, isLasting)
}

/** True if the message is a step's results: in the tool role, or in the user role as document 001 has them. */
export function isOfResults({ role, origin }: Item['entry']): boolean {
  return role === 'tool' || (role === 'user' && origin === 'tool')
}

/**
 * True if the message ages older content with a lifetime in `newer` messages: a user's own message, a
 * step's results, or one with content that a plugin stored or that has a lifetime.
 */
export function countsForRetention(entry: Item['entry']): boolean {
  const { role, origin, blocks } = entry
  if ((role === 'user' && origin === 'user') || isOfResults(entry)) return true
  return (
    role !== 'assistant' &&
    blocks.some((block) => hasLifetime(block) || (block.plugin !== undefined && isLasting(block)))
  )
}

/** True if the block, or one inside a result, has a lifetime. */
export function hasLifetime(block: Block): boolean {
  if (block.lifetime !== undefined) return true
  if (block.type !== 'tool-result' || typeof block.content === 'string') return false
  return block.content.some(({ lifetime }) => lifetime !== undefined)
}

/** True if the message has not been answered yet: no assistant message follows it. */
export function isCurrent(state: State, seq: number): boolean {
  return seq > (state.newestAssistant ?? 0)
}

/**
 * The block as shown at its own position; undefined if it is not shown there. Content for this
 * request only goes to the tail, so that its removal does not change the prefix. Calls and results
 * always stay, because they need each other; their content is replaced.
 */
export function blockInPlace(state: State, { entry }: Item, block: Block): Block | undefined {
  if (!isCurrent(state, entry.seq)) return lastingBlock(entry, block)
  const isSeen = (seen: Seen): boolean => isForNow(seen) && (!isAtTail(entry) || isLasting(seen))
  return seenBlock(entry, block, isSeen)
}

/**
 * True if this request does not show the message at all. Messages with results stay, because their
 * calls need them.
 */
export function isHidden(state: State, entry: Item['entry']): boolean {
  const isSeen = isCurrent(state, entry.seq) ? isForNow(entry) : isLasting(entry)
  return !isSeen && !entry.blocks.some(({ type }) => type === 'tool-result')
}

/**
 * Why the audience makes this request show a block differently or not at all; undefined if it does
 * not.
 */
export function whyUnshown(
  state: State,
  item: Item,
  block: Block,
): { readonly form: 'clipped' | 'omitted' | 'dropped'; readonly reason: string } | undefined {
  const { entry } = item
  const shown = isHidden(state, entry) ? undefined : blockInPlace(state, item, block)
  if (shown === block) return undefined
  const isWhole = entry.audience !== undefined || block.audience !== undefined
  const form = shown === undefined ? 'dropped' : isWhole ? 'omitted' : 'clipped'
  if (!isCurrent(state, entry.seq)) {
    return { form, reason: 'it was for the request after it came in, or for people' }
  }
  const isOver = entry.seq < state.endedRequest && isOnlyNow(entry, block)
  if (isOver) return { form, reason: 'it was for the request after it came in, or for people' }
  const isAtEnd = isAtTail(entry) && isForNow(entry) && isOnlyNow(entry, block)
  if (isAtEnd && shown === undefined) return undefined
  return { form, reason: 'it is for later requests, or for people' }
}

/**
 * All content for this request only, as one user-side message at the end; undefined if there is
 * none.
 */
export function tailOf(state: State, planned: readonly Edit[]): ViewMessage | undefined {
  const drops = planned.filter((edit) => 'ranges' in edit.target)
  const blocks: Block[] = []
  for (let index = state.visibleCount - 1; index >= 0; index--) {
    const { entry } = state.visibleAt(index) as Item
    // It had its request, though that was never answered.
    if (!isCurrent(state, entry.seq) || entry.seq < state.endedRequest) break
    if (drops.some((edit) => isInRanges(edit, entry.seq))) continue
    if (isAtTail(entry) && isForNow(entry)) {
      blocks.unshift(...entry.blocks.flatMap((block) => onlyNowOf(entry, block)))
    }
  }
  return blocks.length === 0 ? undefined : { role: 'user', origin: 'plugin', blocks }
}

function isAtTail({ role }: Item['entry']): boolean {
  return role === 'user' || role === 'tool'
}

function isOnlyNow(entry: Seen, block: Seen): boolean {
  return isForNow(block) && !(isLasting(entry) && isLasting(block))
}

/**
 * The parts of a block for this request only: all of it, or the blocks of a result that do not
 * stay. Calls stay in place.
 */
function onlyNowOf(entry: Item['entry'], block: Block): readonly Block[] {
  if (block.type === 'tool-call') return []
  if (block.type !== 'tool-result') return isOnlyNow(entry, block) ? [block] : []
  if (!isForNow(block)) return []
  const { content } = block
  const isStaying = !isOnlyNow(entry, block)
  if (typeof content === 'string') return isStaying ? [] : [{ type: 'text', text: content }]
  return content.filter((inner) => isForNow(inner) && !(isStaying && isLasting(inner)))
}

/**
 * Memoized results without hidden blocks. Summaries are keyed by object identity, so each must be
 * created once.
 */
const narrowed = new WeakMap<ToolResultBlock, ToolResultBlock>()

function seenBlock(
  entry: Item['entry'],
  block: Block,
  isSeen: (seen: Seen) => boolean,
): Block | undefined {
  const isShown = isSeen(entry) && isSeen(block)
  if (block.type === 'tool-result') {
    return isShown ? withoutHidden(block, isSeen) : { ...block, content: withheld }
  }
  if (block.type === 'tool-call' && isSeen(entry)) {
    return isShown ? block : { ...block, arguments: '{}' }
  }
  return isShown ? block : undefined
}

function withoutHidden(block: ToolResultBlock, isSeen: (seen: Seen) => boolean): ToolResultBlock {
  const { content } = block
  if (typeof content === 'string' || content.every((inner) => isSeen(inner))) return block
  const known = isSeen === isLasting ? narrowed.get(block) : undefined
  if (known !== undefined) return known
  const shown = content.filter((inner) => isSeen(inner))
  const made = { ...block, content: shown.length === 0 ? withheld : shown }
  if (isSeen === isLasting) narrowed.set(block, made)
  return made
}
