// A fork: another log that begins with the same entries, ids included, and keeps what is live of what it kept.

import { randomUUID } from 'node:crypto'
import type { EditEntry, Entry, Target } from '../core/entry.ts'
import { OrielError } from '../core/errors.ts'
import type { State } from '../core/state.ts'
import { Journal, type JournalOptions, type Stamp } from './journal.ts'

/** Entries copied at once. */
const pageSize = 500

/**
 * Makes a new thread from the first `atSeq` entries of another. Later edits of what it keeps, that are still live, are applied to it
 * in one epoch; pins, exclusions and undos likewise. The parent is not changed, except for a note of the fork.
 */
export async function forkJournal(
  parent: Journal,
  atSeq: number,
  options: Omit<JournalOptions, 'key' | 'store'>,
): Promise<Journal> {
  if (!Number.isInteger(atSeq) || atSeq < 0 || atSeq > parent.state.version) {
    throw new OrielError(
      'not-found',
      `A fork begins at a seq between 0 and ${parent.state.version}, got ${String(atSeq)}.`,
      { path: 'atSeq' },
    )
  }
  const key = { tenant: parent.key.tenant, thread: randomUUID() }
  const at = Math.max(1, atSeq)
  const copied = await copyEntries(parent, key.thread, at)
  const child = await Journal.open({ ...options, store: parent.store, key }, parent.header)
  await child.commit((state, stamp) => [
    stamp.entry({
      type: 'setting',
      name: 'forked-from',
      value: { thread: parent.key.thread, seq: atSeq },
    }),
    ...inherited(parent.state, copied, state, stamp),
  ])
  await parent.commit((_, stamp) => [
    stamp.entry({ type: 'setting', name: `fork/${key.thread}`, value: { seq: atSeq } }),
  ])
  return child
}

/** Threads that were forked from this one, oldest first. */
export function forksOf(journal: Journal): readonly string[] {
  return journal.settingNames
    .filter((name) => name.startsWith('fork/'))
    .map((name) => name.slice('fork/'.length))
}

/** Copies entries page by page and returns those after `at` that may still matter to the fork. */
async function copyEntries(parent: Journal, thread: string, at: number): Promise<readonly Entry[]> {
  const { store, key } = parent
  const child = { tenant: key.tenant, thread }
  let page: Entry[] = []
  let written = 0
  const later: Entry[] = []
  const flush = async (): Promise<void> => {
    if (page.length === 0) return
    await store.append(child, page, written)
    written += page.length
    page = []
  }
  for await (const entry of store.read(key)) {
    if (entry.seq <= at) page.push(entry)
    else if (entry.type === 'mark' || entry.type === 'undo') later.push(entry)
    if (page.length >= pageSize) await flush()
  }
  await flush()
  return later
}

function inherited(
  parent: State,
  later: readonly Entry[],
  child: State,
  stamp: Stamp,
): readonly Entry[] {
  const kept = child.version
  const epoch = `f${kept.toString(36)}`
  const entries: Entry[] = []
  for (const entry of later) {
    if (entry.type === 'mark' && entry.target <= kept) entries.push(stamp.entry(entry))
    else if (entry.type === 'undo' && child.edit(entry.edit) !== undefined) {
      entries.push(stamp.entry(entry))
    }
  }
  for (const edit of parent.liveEdits()) {
    const target = edit.seq > kept ? within(edit.target, kept) : undefined
    if (target !== undefined) entries.push(stamp.entry({ ...edit, target, epoch } as EditEntry))
  }
  return entries
}

/** The part of a target that lies at or before `last`. */
function within(target: Target, last: number): Target | undefined {
  if ('seq' in target) return target.seq <= last ? target : undefined
  const ranges = target.ranges
    .filter(([from]) => from <= last)
    .map(([from, to]) => [from, Math.min(to, last)] as const)
  return ranges.length === 0 ? undefined : { ranges }
}
