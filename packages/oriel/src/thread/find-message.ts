// A message of a thread by its own id, by a block's, or by the caller's.

import type { MessageEntry } from '../core/log/entry.ts'
import { parseId } from '../core/log/ids.ts'
import type { Journal } from './journal/journal.ts'
import { assertId } from './options.ts'

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
