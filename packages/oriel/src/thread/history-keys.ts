// What identifies a conversation by its content: for servers that must find the thread that a resent history belongs to.

import type { FormatName } from '../formats/format.ts'
import { formatNamed } from '../formats/registry.ts'
import { type HistoryKey, keysOf } from './read-history.ts'
import { sentOf, splitLeading } from './sync.ts'

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
  return keysOf(sentOf(after === undefined ? splitLeading(drafts).history : drafts), after)
}
