// What a request says behind its messages from memory: lasting instructions of the scope, and recalled passages. Never in the prefix: it may
// change from request to request, and nothing that is cached breaks.

import type { Block } from '../../core/log/block.ts'
import type { Entry } from '../../core/log/entry.ts'
import { equalJson } from '../../core/log/json.ts'
import { isScope, type Scope } from '../../core/log/scope.ts'
import { type RecalledPassages, settings } from '../../core/log/settings.ts'
import type { State } from '../../core/state/state.ts'
import type { Journal, Stamp } from '../journal/journal.ts'
import { type IsShown, journalsOf } from '../search/search.ts'
import { lastingIds, lastingText } from './lasting.ts'
import { askedNow, findRecalled, type RecallBounds, recalledText } from './recall.ts'

/** What one request has from memory, and what the log says of it. */
export interface MemoryTail {
  readonly blocks: readonly Block[]
  readonly recalled: RecalledPassages | undefined
  readonly lasting: readonly string[] | undefined
}

export const noMemory: MemoryTail = { blocks: [], recalled: undefined, lasting: undefined }

/** The scope that a thread began in. */
export function scopeOf({ header }: Pick<Journal, 'header'>): Scope | undefined {
  return isScope(header.scope) ? header.scope : undefined
}

/** What the next request of a thread gets from memory. At an unchanged log, what it got before. */
export async function memoryFor(
  journal: Journal,
  {
    bounds,
    isShown,
  }: { readonly bounds: RecallBounds | undefined; readonly isShown: IsShown | undefined },
): Promise<MemoryTail> {
  const scope = scopeOf(journal)
  if ((bounds === undefined && scope === undefined) || !endsOpen(journal.state)) return noMemory
  const { tenant, thread } = journal.key
  const logged = journal.setting(settings.lasting)
  // A thread is told once, when it begins, what its scope has: later changes would surprise it in the middle.
  const lasting =
    scope === undefined
      ? undefined
      : (logged ?? (await lastingIds(journal.store, { tenant, thread, scope })))
  const asked = bounds === undefined ? undefined : askedNow(journal.state)
  const known = journal.setting(settings.recall)
  const recalled =
    asked === undefined || bounds === undefined
      ? undefined
      : known?.for === asked.seq
        ? known
        : await findRecalled(journal, asked, { bounds, isShown })
  return { recalled, lasting, blocks: await blocksOf(journal, { recalled, lasting }) }
}

/** What a request of the past got from memory, as far as it is still there. */
export async function memoryIn(past: Journal): Promise<readonly Block[]> {
  const recall = past.setting(settings.recall)
  const lasting = past.setting(settings.lasting)
  if ((recall === undefined && lasting === undefined) || !endsOpen(past.state)) return []
  const recalled = recall?.for === askedNow(past.state)?.seq ? recall : undefined
  return blocksOf(past, { recalled, lasting })
}

/** The entries that record it, where the log does not say it yet. */
export function memoryEntries(
  journal: Pick<Journal, 'setting'>,
  { recalled, lasting }: MemoryTail,
  stamp: Stamp,
): readonly Entry[] {
  const entries: Entry[] = []
  if (recalled !== undefined && !equalJson(journal.setting(settings.recall), recalled)) {
    entries.push(stamp.entry(settings.recall.body(recalled)))
  }
  if (lasting !== undefined && journal.setting(settings.lasting) === undefined) {
    entries.push(stamp.entry(settings.lasting.body(lasting)))
  }
  return entries
}

/** Whether a request ends with the user's side, so that something may stand behind it. */
function endsOpen({ visible }: State): boolean {
  const last = visible.at(-1)?.entry
  return last !== undefined && last.role !== 'assistant'
}

async function blocksOf(
  journal: Journal,
  { recalled, lasting }: Pick<MemoryTail, 'recalled' | 'lasting'>,
): Promise<readonly Block[]> {
  const { store, key } = journal
  const scope = scopeOf(journal)
  const texts = [
    scope === undefined || lasting === undefined
      ? ''
      : await lastingText(store, { tenant: key.tenant, scope }, lasting),
    recalled === undefined
      ? ''
      : await recalledText(journal, recalled, journalsOf(store, key.tenant)),
  ]
  return texts.flatMap((text) => (text === '' ? [] : [{ type: 'text', text } as const]))
}
