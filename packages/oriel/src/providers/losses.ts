// What an encoder could not carry, told by the builders block by block, so that each can become a line of the trace.

import type { Block, Role, ToolResultBlock } from '../core/log/block.ts'
import { isWellFormed, type Json } from '../core/log/json.ts'
import type { ViewMessage } from '../core/view/view.ts'
import { standIn } from './foreign.ts'
import type { Loss } from './format.ts'

/** How a builder tells that it could not carry a block as it is; undefined stands for the message as such. */
export type LossNote = (block: Block | undefined, form: Loss['form'], reason: string) => void

export interface Losses {
  /** To spread into what `encode` returns: by message and block, one at most for each block; nothing if nothing was lost. */
  found(): { readonly losses?: readonly Loss[] }
  /** What the builder of the message at `index` of the view calls. */
  noteFor(message: ViewMessage, index: number): LossNote
}

/** From least to most. */
const lossForms: readonly Loss['form'][] = ['full', 'omitted', 'dropped']

/** Collects what an encoder could not carry. Of several things told of a block the worst counts, then the first. */
export function createLosses(): Losses {
  const losses = new Map<string, Loss>()
  return {
    found: () => {
      if (losses.size === 0) return {}
      const list = [...losses.values()]
      list.sort((a, b) => a.message - b.message || a.block - b.block)
      return { losses: list }
    },
    noteFor: (message, index) => (block, form, reason) => {
      const position = block === undefined ? 0 : message.blocks.indexOf(block)
      const key = `${index}:${position}`
      const known = losses.get(key)
      if (position < 0) return
      if (known !== undefined && lossForms.indexOf(known.form) >= lossForms.indexOf(form)) return
      losses.set(key, { message: index, block: position, form, reason })
    },
  }
}

/** Tells of blocks with half a character: no UTF-8 exists for it, so another one stands for it on the wire. */
export function tellIllFormed(view: readonly ViewMessage[], losses: Losses, rule: string): void {
  view.forEach((message, index) => {
    for (const block of message.blocks) {
      // A block is JSON like everything in the log.
      if (isWellFormed(block as unknown as Json)) continue
      losses.noteFor(message, index)(block, 'full', `${rule}: half a character was replaced`)
    }
  })
}

/** The note for what is inside a result. `tell` then tells it of the result: as gone only if nothing of it is left. */
export function noteInside(
  result: ToolResultBlock,
  note: LossNote,
): { readonly note: LossNote; readonly tell: () => void } {
  const told: Pick<Loss, 'form' | 'reason'>[] = []
  const tell = (): void => {
    const [first] = told
    if (first === undefined) return
    const inside = typeof result.content === 'string' ? [] : result.content
    const isBlank = (block: Block): boolean => block.type === 'text' && block.text.trim() === ''
    const isLeft =
      told.length < inside.filter((block) => !isBlank(block)).length ||
      told.some(({ form }) => form === 'full')
    note(result, isLeft ? 'full' : 'omitted', first.reason)
  }
  return { note: (_, form, reason) => told.push({ form, reason }), tell }
}

export interface Replacement {
  /** Why the block cannot be sent; begins with a rule's id or the format's name. */
  readonly reason: string
  /** What is sent instead. @default the block's stand-in */
  readonly text?: string
}

/** As `replaced`; undefined in an assistant's message, where no text of ours may stand: the block is left out. */
export function replacedIn(
  { role, note }: { readonly role: Role; readonly note: LossNote },
  block: Block,
  replacement: Replacement,
): string | undefined {
  if (role !== 'assistant') return replaced(block, note, replacement)
  note(block, 'dropped', replacement.reason)
  return undefined
}

/** The text that is sent for a block, after telling so. A picture whose address is in the text is not gone. */
export function replaced(
  block: Block,
  note: LossNote,
  { reason, text = standIn(block) }: Replacement,
): string {
  const isMedia = block.type === 'image' || block.type === 'file'
  const hasAddress = isMedia && block.url !== undefined && text.includes(block.url)
  note(block, hasAddress ? 'full' : 'omitted', `${reason}, a stand-in is sent`)
  return text
}
