// The format of OpenAI's Chat Completions, and of the many servers that speak it.

import { isObject, type Json, type JsonObject } from '../../core/log/json.ts'
import type { ViewMessage } from '../../core/view/view.ts'
import {
  materialOfDraft,
  materialOfView,
  nativeIfNeeded,
  nativeOf,
  neverThrowing,
  readList,
  wellFormed,
} from '../foreign.ts'
import type { Decoded, Encoded, Format } from '../format.ts'
import { createLosses, tellIllFormed } from '../losses.ts'
import { type BuildOptions, buildChatMessages, isLegacyCall } from './build.ts'
import { chatFormat, decodeChatMessage } from './decode.ts'
import { maxCallIdLength, messageViolations, validateChatBody } from './rules.ts'

/**
 * The format of `POST /v1/chat/completions`. Contracts, besides those of `Format`:
 * - One draft for each message. System and developer messages keep their place among the others.
 * - A message that the provider would refuse for its own shape (an empty `tool_calls`, arguments that are no text) is kept as it
 *   came in the log and sent in the nearest accepted shape.
 * - `reasoning_content` goes back only if it came from this format.
 */
export const openaiChat: Format = {
  name: chatFormat,
  profile: {
    startsWithUser: false,
    endsWithUser: false,
    refusesBlankText: false,
    maxIdLength: maxCallIdLength,
    // Any text will do, except half a character, which the wire cannot carry.
    idPattern: /^\P{Cs}{1,40}$/u,
    ignoresIds: isLegacyExchange,
    rules: {
      start: 'O7',
      end: 'O7',
      unanswered: 'O1',
      orphan: 'O2',
      duplicate: 'O6',
      order: 'O1',
      blank: 'O4',
      id: 'O3',
      reused: 'O6',
      reasoning: 'O5',
    },
  },
  readsAlone: true,
  decode,
  encode,
  validate: neverThrowing('O5', validateChatBody),
}

function decode(messages: readonly unknown[], path: string): readonly Decoded[] {
  return readList(messages, path).map((place, index) => {
    const draft = decodeChatMessage(place)
    if (isPlain(place.value)) return { draft, from: index, to: index + 1 }
    const rebuilt = buildChatMessages(materialOfDraft(draft))
    const native = nativeIfNeeded({ format: chatFormat, original: [place.value], rebuilt })
    return { draft: { ...draft, ...native }, from: index, to: index + 1 }
  })
}

/** Whether a message is words and fields that `extra` keeps: built again, it is surely the same. */
function isPlain({
  role,
  content,
  tool_calls,
  reasoning_content,
  function_call,
}: JsonObject): boolean {
  if (typeof content !== 'string') return false
  if (role === 'user' || role === 'system') return true
  const isOther = tool_calls !== undefined || typeof reasoning_content === 'string'
  return role === 'assistant' && !isOther && !isObject(function_call)
}

function encode(view: readonly ViewMessage[]): Encoded {
  const losses = createLosses()
  let isLegacy = true
  const messages = view.flatMap((message, index) => {
    if (message.role === 'assistant') isLegacy = isLegacyExchange(view, index)
    else if (message.role !== 'tool') isLegacy = true
    return encodeMessage(message, { isLegacy, note: losses.noteFor(message, index) })
  })
  tellIllFormed(view, losses, 'O5')
  return { messages: messages.map(wellFormed), ...losses.found() }
}

function encodeMessage(
  message: ViewMessage,
  { isLegacy, note }: Required<BuildOptions>,
): readonly Json[] {
  const canReplay = isLegacy || !isLegacyMessage(message)
  const native = canReplay ? nativeOf(message, chatFormat)?.map(wellFormed) : undefined
  const [fault] = native?.flatMap((one) => messageViolations(one, '')) ?? []
  if (native !== undefined && fault === undefined) return native
  const built = buildChatMessages(materialOfView(message, chatFormat), { isLegacy, note })
  if (fault !== undefined) note(undefined, 'full', `${fault.rule}: sent in an accepted shape`)
  return built
}

/** Whether an assistant message and everything that answers it came in the deprecated form, so that it can go back in it. */
function isLegacyExchange(view: readonly ViewMessage[], index: number): boolean {
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
