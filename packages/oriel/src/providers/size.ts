// How large and how small a request may be on the wire.

import { OrielError } from '../core/log/errors.ts'
import type { Encoded, MessageCodec } from './format.ts'

/** Throws 'cannot-project' when the messages alone are larger than the provider accepts. */
export function assertSize(
  format: MessageCodec,
  pieces: readonly { readonly encoded: Encoded }[],
): void {
  const { maxBytes, rules } = format.profile
  if (maxBytes === undefined) return
  const messages = pieces.flatMap(({ encoded }) => encoded.messages)
  const system = pieces[0]?.encoded.system
  if (lengthOf(messages) * 3 <= maxBytes) return
  const bytes = new TextEncoder().encode(JSON.stringify({ messages, system })).length
  if (bytes <= maxBytes) return
  throw new OrielError(
    'cannot-project',
    `The request has ${bytes} bytes, the provider accepts ${maxBytes} (${rules.size}). Give a budget, or keep large content out of the messages.`,
    { details: { bytes, limit: maxBytes } },
  )
}

/** Throws 'cannot-project' when nothing is left of a conversation that has messages: no provider answers an empty request. */
export function assertNotEmpty(
  { messages }: { readonly messages: readonly unknown[] },
  messageCount: number,
): void {
  if (messages.length > 0 || messageCount === 0) return
  throw new OrielError(
    'cannot-project',
    `Of ${messageCount} message${messageCount === 1 ? '' : 's'} none is left to send: the policy drops them, or the provider refuses them (blank text, no message of a user). The trace of a view with a wider policy says which.`,
    { details: { messages: messageCount } },
  )
}

/** Characters of all strings in a value: a lower bound that is cheap to have. */
function lengthOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 8
  let length = 2
  for (const [key, item] of Object.entries(value)) length += key.length + 4 + lengthOf(item)
  return length
}
