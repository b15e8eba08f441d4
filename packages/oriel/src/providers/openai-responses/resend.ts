// Items of the Responses that clients resend. Reasoning that the client did not send stays out where all of the step it belongs to goes as
// the client sent it.

import { isJsonObject, type Json } from '../../core/log/json.ts'
import type { PlacedMessage, ResendFormat } from '../provider.ts'

export const resend: ResendFormat = {
  fitReasoning: (parts) => parts.filter((part, at) => !isLeftOut(part, () => parts.slice(at + 1))),
}

function isLeftOut(
  { value, from }: PlacedMessage,
  behind: () => readonly PlacedMessage[],
): boolean {
  if (!isReasoning(value) || from !== undefined) return false
  const step: PlacedMessage[] = []
  for (const part of behind()) {
    if (!isOwnItem(part.value)) break
    if (!isReasoning(part.value)) step.push(part)
  }
  return step.length > 0 && step.every(({ isSame }) => isSame)
}

function isReasoning(item: Json): boolean {
  return isJsonObject(item) && item.type === 'reasoning'
}

/** Whether the model made it, in the same step as its neighbours of that kind. */
function isOwnItem(item: Json): boolean {
  if (!isJsonObject(item)) return false
  const { type = 'message', role } = item
  if (type === 'message') return role === 'assistant'
  return !String(type).endsWith('_output')
}
