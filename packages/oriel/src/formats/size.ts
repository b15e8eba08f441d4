// How large a request may be on the wire.

import { OrielError } from '../core/errors.ts'
import type { Encoded, Format } from './format.ts'

/** Throws 'cannot-project' when the messages alone are larger than the provider accepts. */
export function assertSize(format: Format, { messages, system }: Encoded): void {
  const { maxBytes, rules } = format.profile
  if (maxBytes === undefined || lengthOf(messages) * 3 <= maxBytes) return
  const bytes = new TextEncoder().encode(JSON.stringify({ messages, system })).length
  if (bytes <= maxBytes) return
  throw new OrielError(
    'cannot-project',
    `The request has ${bytes} bytes, the provider accepts ${maxBytes} (${rules.size}). Give a budget, or keep large content out of the messages.`,
    { details: { bytes, limit: maxBytes } },
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
