// Who sees a block, and when: in the request made right after it came in, in later ones, or never.

import type { Audience, Block, ToolResultBlock } from '../log/block.ts'
import type { Edit } from '../log/entry.ts'
import { isInRanges } from '../state/edits.ts'
import type { Item, State } from '../state/state.ts'
import type { ViewMessage } from './view.ts'

interface Seen {
  readonly audience?: Audience
}

/** Whether a model sees it in the request made right after it came in. */
function isForNow({ audience }: Seen): boolean {
  return audience?.now !== false
}

/** Whether a model sees it in later requests. What it does not is no part of a conversation's lasting size. */
export function isLasting({ audience }: Seen): boolean {
  return audience?.later !== false
}

/** What stands in the place of a tool result that a request may not show: its call needs an answer. */
const withheld = '[Omitted: not for the model]'

/** A block as later requests show it, without blocks inside it that are not for them; undefined where it leaves. */
export function lastingBlock(entry: Item['entry'], block: Block): Block | undefined {
  return seenBlock(entry, block, isLasting)
}

/** Whether a message bears retention: some of it has a lifetime, or a plugin saved something with it. */
export function bearsRetention({ role, blocks }: Item['entry']): boolean {
  return (
    role !== 'assistant' &&
    blocks.some(
      (block) => block.lifetime !== undefined || (block.plugin !== undefined && isLasting(block)),
    )
  )
}

/** Whether a message is being shown for the first time: no assistant message follows it yet. */
export function isCurrent(state: State, seq: number): boolean {
  return seq > (state.newestAssistant ?? 0)
}

/**
 * A block as it stands at its own place in this view; undefined where it does not. What is shown only now stands at the tail instead, so
 * that its leaving changes nothing before it. Calls and results never leave, because one needs the other: what they say does.
 */
export function blockInPlace(state: State, { entry }: Item, block: Block): Block | undefined {
  if (!isCurrent(state, entry.seq)) return lastingBlock(entry, block)
  const isSeen = (seen: Seen): boolean => isForNow(seen) && (!isAtTail(entry) || isLasting(seen))
  return seenBlock(entry, block, isSeen)
}

/** A message that this request does not show at all. One with results stays: their calls need them. */
export function isHidden(state: State, entry: Item['entry']): boolean {
  const isSeen = isCurrent(state, entry.seq) ? isForNow(entry) : isLasting(entry)
  return !isSeen && !entry.blocks.some(({ type }) => type === 'tool-result')
}

/** Why this request shows a block otherwise than it is or not at all, where that is because of who it is for. */
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
  const isAtEnd = isAtTail(entry) && isForNow(entry) && isOnlyNow(entry, block)
  if (isAtEnd && shown === undefined) return undefined
  return { form, reason: 'it is for later requests, or for people' }
}

/** Everything that is shown only now, as one message of the user's side at the end; undefined when there is nothing. */
export function tailOf(state: State, planned: readonly Edit[]): ViewMessage | undefined {
  const { visible } = state
  const drops = planned.filter((edit) => 'ranges' in edit.target)
  const blocks: Block[] = []
  for (let index = visible.length - 1; index >= 0; index--) {
    const { entry } = visible[index] as Item
    if (!isCurrent(state, entry.seq)) break
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

/** What of a block is shown only now: all of it, or what a result holds beside what stays. Calls stay where they are. */
function onlyNowOf(entry: Item['entry'], block: Block): readonly Block[] {
  if (block.type === 'tool-call') return []
  if (block.type !== 'tool-result') return isOnlyNow(entry, block) ? [block] : []
  if (!isForNow(block)) return []
  const { content } = block
  const isStaying = !isOnlyNow(entry, block)
  if (typeof content === 'string') return isStaying ? [] : [{ type: 'text', text: content }]
  return content.filter((inner) => isForNow(inner) && !(isStaying && isLasting(inner)))
}

/** Results without a part that is hidden, each made once: summaries are known by the object they are made from. */
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
