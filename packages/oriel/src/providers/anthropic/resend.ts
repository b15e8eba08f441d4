// Clients may leave the thinking of earlier turns out of what they resend, from the beginning on, never from the middle. What the view shows
// beside the client's own messages must follow, or thinking would stand between messages that have lost theirs. In the tool loop that
// is under way it is the other way round: the provider refuses a loop that does not begin with its thinking.

import { isJsonObject as isRecord, type Json, type JsonObject } from '../../core/log/json.ts'
import type { PlacedMessage, ResendFormat } from '../provider.ts'

export const resend: ResendFormat = {
  fitReasoning: alignThinking,
  withoutReasoning: withoutAnyThinking,
}

/**
 * The parts without thinking that the client has dropped: before the newest question, where its own message has none. Behind it a tool
 * loop is under way. The client may take that loop for finished, because it never saw the gateway's own last rounds: its messages get
 * back the thinking that the view has for them.
 */
function alignThinking<P extends PlacedMessage>(
  parts: readonly P[],
  sent: readonly Json[],
): readonly P[] {
  const isOurs = ({ value, isSame }: P): boolean => !isSame && hasThinking(value)
  if (!parts.some(isOurs)) return parts
  const asked = parts.findLastIndex(({ value }) => isQuestion(value))
  let before = -1
  return parts.map((part, at) => {
    const first = part.from ?? before + 1
    before = part.from ?? before
    if (at > asked) {
      const isDropped = part.from !== undefined && !hasThinking(sent[part.from] as Json)
      return isDropped && hasThinking(part.value) ? { ...part, isSame: false } : part
    }
    if (!isOurs(part)) return part
    // What the client resends for it stands at most before its next message.
    const next = part.from ?? parts.find((one, later) => later > at && one.from !== undefined)?.from
    const own = sent.slice(first, (next ?? sent.length) + 1).filter(isAssistant)
    const isDropped = own.length > 0 && !own.some(hasThinking)
    return isDropped ? { ...part, value: withoutThinking(part.value) } : part
  })
}

/** The parts without any thinking: all of it may always be left out, where no tool loop with thinking is under way. */
function withoutAnyThinking<P extends PlacedMessage>(parts: readonly P[]): readonly P[] {
  return parts.map((part) =>
    hasThinking(part.value) ? { ...part, value: withoutThinking(part.value), isSame: false } : part,
  )
}

function withoutThinking(message: Json): Json {
  if (!isRecord(message)) return message
  return { ...message, content: blocksOf(message).filter((block) => !isThinking(block)) }
}

function hasThinking(message: Json): boolean {
  return isAssistant(message) && blocksOf(message).some(isThinking)
}

function isQuestion(message: Json): boolean {
  if (!isRecord(message) || message.role !== 'user') return false
  return !blocksOf(message).some(({ type }) => type === 'tool_result')
}

function isAssistant(message: Json): boolean {
  return isRecord(message) && message.role === 'assistant'
}

function isThinking({ type }: JsonObject): boolean {
  return type === 'thinking' || type === 'redacted_thinking'
}

function blocksOf(message: Json): readonly JsonObject[] {
  if (!isRecord(message) || !Array.isArray(message.content)) return []
  return message.content.filter(isRecord)
}
