// A view as messages of Chat Completions: each message as it came where it can be, else built anew.

import type { Draft } from '../../core/log/entry.ts'
import type { ViewMessage } from '../../core/view/view.ts'
import {
  type BuiltMessages,
  encodeEach,
  isRebuilt,
  materialOfView,
  nativeOf,
  wellFormed,
} from '../foreign.ts'
import type { Encoded } from '../format.ts'
import { createLosses, tellIllFormed } from '../losses.ts'
import { type BuildOptions, buildChatMessages, chatFormat, isLegacyCall } from './build.ts'
import { messageViolations } from './rules.ts'

export function encode(view: readonly ViewMessage[]): Encoded {
  const losses = createLosses()
  let isLegacy = true
  const encoded = encodeEach(view, (message, index) => {
    if (message.role === 'assistant') isLegacy = isLegacyExchange(view, index)
    else if (message.role !== 'tool') isLegacy = true
    return encodeMessage(message, { isLegacy, note: losses.noteFor(message, index) })
  })
  tellIllFormed(view, losses, 'O5')
  return { ...encoded, ...losses.found() }
}

function encodeMessage(
  message: ViewMessage,
  { isLegacy, note }: Required<BuildOptions>,
): BuiltMessages {
  const canReplay = isLegacy || !isLegacyMessage(message)
  const native = canReplay ? nativeOf(message, chatFormat) : undefined
  const [fault] = native?.flatMap((one) => messageViolations(wellFormed(one), '')) ?? []
  if (native !== undefined && fault === undefined) return { built: native, isWhole: true }
  const built = buildChatMessages(materialOfView(message, chatFormat), { isLegacy, note })
  if (fault !== undefined) note(undefined, 'full', `${fault.rule}: sent in an accepted shape`)
  const isWhole = canReplay && isRebuilt(message, chatFormat)
  return { built, isWhole }
}

/** Whether an assistant message and everything that answers it came in the deprecated form, so that it can go back in it. */
export function isLegacyExchange(view: readonly ViewMessage[], index: number): boolean {
  const message = view[index] as ViewMessage
  if (!isLegacyMessage(message)) return false
  if (message.blocks.filter((block) => block.type === 'tool-call').length !== 1) return false
  for (let next = index + 1; view[next]?.role === 'tool'; next++) {
    if (!isLegacyMessage(view[next] as ViewMessage)) return false
  }
  return true
}

/** Decided by the entry, not by the blocks as rendered: both sides of an exchange must come to the same answer. */
function isLegacyMessage({ entry }: ViewMessage): boolean {
  if (entry?.source?.format !== chatFormat) return false
  return entry.extra?.role === 'function' || entry.blocks.some(isLegacyCall)
}

/** Whether a message calls or answers in the deprecated form. */
export function isLegacyDraft({ extra, content }: Draft): boolean {
  return extra?.role === 'function' || (typeof content !== 'string' && content.some(isLegacyCall))
}
