// The log as a model may read it: messages in their original words, without what is for people only, was excluded or must not be shown again.

import type { MessageEntry } from '../../core/log/entry.ts'
import { readableIn, readableMessage } from '../../core/text/readable.ts'
import { finalIn } from '../../core/view/reduction.ts'
import type { ReadOptions } from '../../stores/store.ts'
import { originalText } from '../expand/expand.ts'
import type { Journal } from '../journal/journal.ts'

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
    const said = readableMessage(readableIn(journal.state), entry)
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
