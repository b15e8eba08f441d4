// The first steps of the budget ladder, and the units that they work on. Each step is one reduction; a caller stops when the view fits.

import type { ToolResultBlock } from '../core/log/block.ts'
import type { MessageEntry } from '../core/log/entry.ts'
import { isCall, isResult } from '../core/state/exchange.ts'
import type { State } from '../core/state/state.ts'
import { clip } from '../core/text/clip.ts'
import { clipUserText } from '../core/text/directives.ts'
import { placeholder } from '../core/text/placeholder.ts'
import type { ViewMessage } from '../core/view/view.ts'
import type { Fitting, Slot } from './fitted-view.ts'

/** Older texts longer than this are clipped to it before anything is folded away. */
export const clippedLength = 1200

/** Puts placeholders in the place of results, oldest first. */
export function* omitResults(work: Fitting, slots: readonly Slot[]): Generator<void> {
  for (const [message, block] of blocksOf(work, slots)) {
    const shown = work.block(message, block)
    const { id } = shown
    if (!isResult(shown) || id === undefined) continue
    const tool = (): { tool?: string } => toolOf(work, message, block)
    const canExpand = work.canExpand(message, block)
    const { text } = work.state.derive(`omitted:${id}:${canExpand}`, () => ({
      text: placeholder({ ...tool(), ...originalOf(work, message, block, shown), id, canExpand }),
    }))
    if (work.reduce(message, block, 'omitted', text, 'over the budget')) yield
  }
}

/** Leaves reasoning out, oldest first. */
export function* dropReasoning(work: Fitting, slots: readonly Slot[]): Generator<void> {
  for (const [message, block] of blocksOf(work, slots)) {
    if (work.block(message, block).type !== 'reasoning') continue
    if (work.reduce(message, block, 'dropped', '', 'over the budget')) yield
  }
}

/** Never an assistant's text: no marker of ours may stand there, and a cut without one would not show. Its pictures leave whole. */
export function* clipTexts(work: Fitting, slots: readonly Slot[], length: number): Generator<void> {
  for (const [message, block] of blocksOf(work, slots)) {
    const shown = work.block(message, block)
    const id = shown.id ?? ''
    if (work.messages[message]?.role === 'assistant') {
      const isMedia = shown.type === 'image' || shown.type === 'file'
      if (isMedia && work.drop(message, block, 'over the budget')) yield
    } else if (shown.type === 'text' && shown.text.length > length) {
      const isUser = work.messages[message]?.origin === 'user'
      const text = (isUser ? clipUserText : clip)(shown.text, length, id)
      if (work.reduce(message, block, 'clipped', text, 'over the budget')) yield
    } else if (shown.type === 'image' || shown.type === 'file') {
      const kind = shown.mediaType === undefined ? '' : ` ${shown.mediaType}`
      const text = `[Omitted: ${shown.type}${kind}; expand ${id}]`
      if (work.reduce(message, block, 'omitted', text, 'over the budget')) yield
    }
  }
}

/** The units of a view, in order. */
export function slotsOf(state: State, messages: readonly ViewMessage[]): readonly Slot[] {
  const slots: Slot[] = []
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index] as ViewMessage
    const members = [index]
    let hasCalls = message.blocks.some(isCall)
    for (let next = messages[index + 1]; next !== undefined; next = messages[index + 1]) {
      if (next.isLaterPart !== true && !(hasCalls && next.role === 'tool')) break
      hasCalls ||= next.blocks.some(isCall)
      index += 1
      members.push(index)
    }
    const entries = members.flatMap((member) => messages[member]?.entry ?? [])
    slots.push({
      messages: members,
      isUser: message.role === 'user' && message.origin === 'user',
      isUnseen:
        messages[members.at(-1) as number]?.role === 'tool' &&
        entries.some(({ seq }) => seq === state.newestAssistant),
      protection: protectionOf(state, message, entries),
    })
  }
  return slots
}

/** Why a message must stay as it is; undefined for one that may be reduced. */
function protectionOf(
  state: State,
  message: ViewMessage,
  entries: readonly MessageEntry[],
): string | undefined {
  const isOne = (test: (seq: number) => boolean): boolean => entries.some(({ seq }) => test(seq))
  if (message.role === 'system') return 'system messages'
  // A note that a repair put there (no entry, no calls) is what makes the view valid.
  if (message.entry === undefined) return 'notes'
  if (isOne((seq) => seq === state.newestUser)) return 'newest user message'
  if (isOne((seq) => state.isPinned(seq))) return 'pinned messages'
  return isOne((seq) => seq === state.exchanges.parts.open) ? 'open answer' : undefined
}

/** The places of all blocks in these units. */
export function* blocksOf(work: Fitting, slots: readonly Slot[]): Generator<[number, number]> {
  for (const slot of slots) {
    for (const message of slot.messages) {
      for (let block = 0; block < work.blockCount(message); block++) yield [message, block]
    }
  }
}

/** What the log holds of a result: every form derives from it. */
function originalOf(
  work: Fitting,
  message: number,
  block: number,
  shown: ToolResultBlock,
): Pick<ToolResultBlock, 'content' | 'isError'> {
  return { ...shown, content: work.original(message, block) }
}

/** The name of the tool that made a result: by the log, so that it does not depend on what this view shows of the call. */
function toolOf(work: Fitting, message: number, block: number): { tool?: string } {
  const { entry, positions } = work.messages[message] ?? {}
  if (entry === undefined) return {}
  const at = { seq: entry.seq, block: positions?.[block] ?? block }
  const tool = work.state.exchanges.answeredBy(at)?.call.name
  return tool === undefined ? {} : { tool }
}
