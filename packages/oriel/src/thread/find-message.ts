// A message by any of its names: its own id, a block's, or the one that the caller gave it.

import type { MessageEntry } from '../core/entry.ts'
import { parseId } from '../core/handle.ts'
import type { Journal } from './journal.ts'
import { assertId } from './thread-options.ts'

export interface FoundMessage {
  readonly entry: MessageEntry
  /** The block that was meant, where the message has several. */
  readonly block?: number
}

export async function findMessage(journal: Journal, id: string): Promise<FoundMessage | undefined> {
  assertId(id)
  const seq = await journal.seqOf(id)
  const place = seq === undefined ? parseId(journal.state.salt, id) : { seq, block: undefined }
  const entry = place === undefined ? undefined : await journal.message(place.seq)
  if (entry === undefined) return undefined
  const block = entry.blocks.length <= 1 ? undefined : place?.block
  return block === undefined ? { entry } : { entry, block }
}
