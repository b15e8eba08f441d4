// The log as a model may read it: messages in their original words, without what is for people only or must not be shown again.

import type { Audience } from '../core/block.ts'
import type { MessageEntry } from '../core/entry.ts'
import type { ReadOptions } from '../stores/store.ts'
import { originalText } from './expand.ts'
import type { Journal } from './journal.ts'

/** A message in its original words. */
export interface ReadMessage {
  readonly id: string
  readonly seq: number
  readonly turn: number
  readonly step: number
  readonly role: MessageEntry['role']
  readonly kind?: string
  readonly tool?: string
  /** All of its blocks, one below the other. Absent where the original was not preserved. */
  readonly text?: string
}

export async function* readMessages(
  journal: Journal,
  { from = 1, to }: ReadOptions,
): AsyncGenerator<ReadMessage> {
  const range = to === undefined ? { from } : { from, to }
  for await (const entry of journal.store.read(journal.key, range)) {
    if (entry.type === 'message' && isForModels(entry)) yield toRead(journal, entry)
  }
}

/** What may not be expanded may not be read either. */
export function isFinal({ state }: Journal, { seq, blocks }: MessageEntry): boolean {
  return blocks.some((_, block) => state.blockEdit(seq, block)?.isFinal === true)
}

function isForModels({ audience }: { readonly audience?: Audience }): boolean {
  return audience?.now !== false || audience.later !== false
}

function toRead(journal: Journal, entry: MessageEntry): ReadMessage {
  const { id, seq, turn, step, role, kind, tool } = entry
  const said = { ...entry, blocks: entry.blocks.filter(isForModels) }
  return {
    id,
    seq,
    turn,
    step,
    role,
    ...(kind === undefined ? {} : { kind }),
    ...(tool === undefined ? {} : { tool }),
    ...(isFinal(journal, entry) ? {} : { text: originalText(said, undefined) }),
  }
}
