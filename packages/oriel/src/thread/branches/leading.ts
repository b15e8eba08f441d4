// System messages that a client resends in front of its history: part of the frame, shown again as they came.

import type { Block } from '../../core/log/block.ts'
import type { EntryId, MessageEntry } from '../../core/log/entry.ts'
import { settings } from '../../core/log/settings.ts'
import type { Journal } from '../journal/journal.ts'

/** The newest leading system messages, as entries outside the log's order. */
export function leadingOf(journal: Pick<Journal, 'setting'>): readonly MessageEntry[] {
  return (journal.setting(settings.leading) ?? []).map((draft) => {
    const blocks: readonly Block[] =
      typeof draft.content === 'string' ? [{ type: 'text', text: draft.content }] : draft.content
    return {
      type: 'message',
      id: 'frame' as EntryId,
      seq: 0,
      at: 0,
      turn: 0,
      step: 0,
      role: draft.role,
      origin: draft.origin ?? 'system',
      blocks,
      ...(draft.source === undefined ? {} : { source: draft.source }),
      ...(draft.extra === undefined ? {} : { extra: draft.extra }),
      ...(draft.native === undefined ? {} : { native: draft.native }),
    }
  })
}
