// Who sees a block, and when: in the request made right after it came in, in later ones, or never.

import type { Audience, Block } from './block.ts'
import { isInRanges } from './edit-index.ts'
import type { Edit } from './entry.ts'
import type { Item } from './item.ts'
import type { State } from './state.ts'
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

/** Whether a model sees it at all: what it does not is for people only, and never expanded for a model either. */
export function isForModels(seen: Seen): boolean {
  return isForNow(seen) || isLasting(seen)
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
 * Whether a block stands at its own place in this view. What is shown only now stands at the tail instead, so that its leaving
 * changes nothing before it. Calls and results never leave: one needs the other.
 */
export function isInPlace(state: State, { entry }: Item, block: Block): boolean {
  if (block.type === 'tool-call' || block.type === 'tool-result') return true
  if (!isCurrent(state, entry.seq)) return isLasting(entry) && isLasting(block)
  if (!isForNow(entry) || !isForNow(block)) return false
  return isAtTail(entry) ? isLasting(entry) && isLasting(block) : true
}

/** A message that no model sees, now or later. */
export function isHidden(state: State, entry: Item['entry']): boolean {
  return isCurrent(state, entry.seq) ? !isForNow(entry) : !isLasting(entry)
}

/** Why this request does not show a block, where that is because of who it is for. */
export function whyUnshown(state: State, item: Item, block: Block): string | undefined {
  const { entry } = item
  if (entry.audience === undefined && block.audience === undefined) return undefined
  if (isInPlace(state, item, block) && !isHidden(state, entry)) return undefined
  if (!isCurrent(state, entry.seq)) return 'it was for the request after it came in, or for people'
  if (isAtTail(entry) && isForNow(entry) && isOnlyNow(entry, block)) return undefined
  return 'it is for later requests, or for people'
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
      blocks.unshift(...entry.blocks.filter((block) => isOnlyNow(entry, block)))
    }
  }
  return blocks.length === 0 ? undefined : { role: 'user', origin: 'plugin', blocks }
}

function isAtTail({ role }: Item['entry']): boolean {
  return role === 'user' || role === 'tool'
}

function isOnlyNow(entry: Item['entry'], block: Block): boolean {
  if (block.type === 'tool-call' || block.type === 'tool-result') return false
  return isForNow(block) && !(isLasting(entry) && isLasting(block))
}
