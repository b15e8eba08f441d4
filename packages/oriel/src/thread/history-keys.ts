// What identifies a conversation by its content: for servers that must find the thread that a resent history belongs to.

import { hash } from 'node:crypto'
import type { Role } from '../core/block.ts'
import type { FormatName } from '../formats/format.ts'
import { formatNamed } from '../formats/registry.ts'
import { sentOf, splitLeading } from './sync.ts'

export interface HistoryKey {
  readonly role: Role
  /** Covers this message and all before it; leading system messages are not part of it. */
  readonly key: string
  /** Whether this message or one before it names a tool call, whose id is hardly ever the same in two conversations. */
  readonly hasCall: boolean
}

/**
 * One key for each message of a history, by what `sync` compares: the same however a client rewrites what it resends. `after` goes on
 * from the last key of a history whose next messages these are.
 */
export function historyKeys(
  history: readonly unknown[],
  { format, after }: { readonly format: FormatName; readonly after?: HistoryKey | undefined },
): readonly HistoryKey[] {
  const drafts = formatNamed(format)
    .decode(history, 'history')
    .map(({ draft }) => draft)
  const sent = sentOf(after === undefined ? splitLeading(drafts).history : drafts)
  let { key, hasCall } = after ?? { key: '', hasCall: false }
  return sent.map(({ key: own, message }) => {
    key = hash('sha256', `${key}:${own}`, 'base64url').slice(0, 22)
    hasCall ||= message.blocks.some(({ type }) => type === 'tool-call')
    // A draft's role is one of ours.
    return { role: message.role as Role, key, hasCall }
  })
}
