// The log as a model may read it: messages in their original words, without what is for people only or must not be shown again.

import { isForModels } from '../core/audience.ts'
import type { MessageEntry } from '../core/entry.ts'
import { finalIn } from '../core/reduction.ts'
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
    if (entry.type !== 'message') continue
    const said = forModels(entry)
    if (said === undefined) continue
    const text = isFinal(journal, entry) ? undefined : originalText(said)
    yield { ...toRead(said), ...(text === undefined ? {} : { text }) }
  }
}

/** What may not be expanded may not be read either. */
export function isFinal({ state }: Journal, { seq, blocks }: MessageEntry): boolean {
  const isLost = finalIn(state)
  return blocks.some((_, block) => isLost(seq, block))
}

/** A message without its blocks for people only; undefined where nothing of it is for models. */
export function forModels(entry: MessageEntry): MessageEntry | undefined {
  const blocks = entry.blocks.filter(isForModels)
  if (!isForModels(entry) || (blocks.length === 0 && entry.blocks.length > 0)) return undefined
  return blocks.length === entry.blocks.length ? entry : { ...entry, blocks }
}

function toRead({ id, seq, turn, step, role, kind, tool }: MessageEntry): ReadMessage {
  return {
    id,
    seq,
    turn,
    step,
    role,
    ...(kind === undefined ? {} : { kind }),
    ...(tool === undefined ? {} : { tool }),
  }
}
