// A fork: another log that begins with the same entries, ids included, and keeps what is live of what it kept.

import { randomUUID } from 'node:crypto'
import type {
  EditEntry,
  Entry,
  EntryId,
  MarkEntry,
  Target,
  UndoEntry,
} from '../../core/log/entry.ts'
import { OrielError } from '../../core/log/errors.ts'
import { equalJson } from '../../core/log/json.ts'
import { policySettings, type Setting, settings } from '../../core/log/settings.ts'
import { isInRanges } from '../../core/state/edits.ts'
import { waitsFrom } from '../../core/state/reasoning.ts'
import type { Item, State } from '../../core/state/state.ts'
import type { ThreadKey } from '../../stores/store.ts'
import { type EntryBody, Journal, type JournalOptions, type Stamp } from '../journal/journal.ts'

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
  try {
    return await makeFork(parent, key, at, atSeq, options)
  } catch (error) {
    // The parent was erased meanwhile: its copy must not outlive it.
    if (OrielError.is(error, 'not-found')) await parent.store.erase(key)
    throw error
  }
}

async function makeFork(
  parent: Journal,
  key: ThreadKey,
  at: number,
  atSeq: number,
  options: Omit<JournalOptions, 'key' | 'store'>,
): Promise<Journal> {
  const later = await copyEntries(parent, key.thread, at)
  const child = await Journal.open({ ...options, store: parent.store, key }, parent.header)
  await child.commit(firstEntries(parent, child, { atSeq, later }))
  await parent.commit((_, stamp) => [
    stamp.entry(settings.fork.at(key.thread).body({ seq: atSeq })),
  ])
  return child
}

/** A fork as a view would find it, in memory: nothing of it is kept. */
export async function rehearseFork(parent: Journal, atSeq: number): Promise<Journal> {
  const at = Math.max(1, atSeq)
  const child = await Journal.until(parent, at)
  const later = new Later()
  for await (const entry of parent.store.read(parent.key, { from: at + 1 })) later.take(entry)
  await child.commit(firstEntries(parent, child, { atSeq, later: later.entries }))
  return child
}

/** What a fork says before anything else, behind the entries that it copies. */
function firstEntries(
  parent: Journal,
  child: Journal,
  { atSeq, later }: { readonly atSeq: number; readonly later: readonly Entry[] },
): (state: State, stamp: Stamp) => readonly Entry[] {
  return (state, stamp) => [
    stamp.entry(settings.forkedFrom.body({ thread: parent.key.thread, seq: atSeq })),
    ...inheritedSettings(parent).flatMap((one) => inheritedSetting(parent, child, one, stamp)),
    ...inherited(parent.state, later, state, stamp),
  ]
}

/** Threads that were forked from this one, oldest first. */
export function forksOf(journal: Journal): readonly string[] {
  return settings.fork.keysIn(journal.settingNames)
}

/** Copies entries page by page and returns those after `at` that may still matter to the fork. */
async function copyEntries(parent: Journal, thread: string, at: number): Promise<readonly Entry[]> {
  const { store, key } = parent
  const child = { tenant: key.tenant, thread }
  let page: Entry[] = []
  let written = 0
  const later = new Later()
  const flush = async (): Promise<void> => {
    if (page.length === 0) return
    await store.append(child, page, written)
    written += page.length
    page = []
  }
  for await (const entry of store.read(key)) {
    if (entry.seq <= at) page.push(entry)
    else later.take(entry)
    if (page.length >= pageSize) await flush()
  }
  await flush()
  return later.entries
}

/** Of the entries that a fork does not copy, those that may still matter to it. */
class Later {
  readonly entries: Entry[] = []
  #answers = 0

  take(entry: Entry): void {
    if (entry.type === 'message') this.#answers += entry.role === 'assistant' ? 1 : 0
    else if (entry.type === 'undo' || entry.type === 'edit') this.entries.push(entry)
    else if (entry.type === 'mark') this.entries.push(earlier(entry, this.#answers))
  }
}

/** A mark as if it had been made that many steps before: an original that is shown again is shown as often in the fork. */
function earlier(mark: MarkEntry, steps: number): MarkEntry {
  return mark.until === undefined ? mark : { ...mark, until: mark.until - steps }
}

function inheritedSettings(parent: Journal): readonly Setting<unknown>[] {
  const own = settings.host.among(parent.settingNames)
  return [...policySettings, settings.leading, settings.expandTool, settings.shownTools, ...own]
}

/** A setting as it is now, where the copied entries end before it was made. */
function inheritedSetting(
  parent: Journal,
  child: Journal,
  setting: Setting<unknown>,
  stamp: Stamp,
): readonly Entry[] {
  const value = parent.setting(setting)
  if (value === undefined || equalJson(value, child.setting(setting))) return []
  return [stamp.entry(setting.body(value))]
}

/** Marks, edits and undos that came later and act on what the fork keeps, in their order. */
function inherited(
  parent: State,
  later: readonly Entry[],
  child: State,
  stamp: Stamp,
): readonly Entry[] {
  const kept = child.version
  const epoch = `f${kept.toString(36)}`
  const renamed = new Map<EntryId, EntryId>()
  const isByPerson = (entry: Entry): entry is UndoEntry =>
    entry.type === 'undo' && entry.rule === undefined
  const undone = new Set(later.filter(isByPerson).map(({ edit }) => edit))
  let isBroken = false
  const fresh = unanswered(child)
  // In an open tool loop whose reasoning is signed for what stands before it, edits come again when the loop ends.
  const isBound = waitsFrom(child) !== Infinity
  /** What acts on what the model has not answered here is not inherited, nor a checkpoint that continues from one that is not. */
  const isForeign = (edit: EditEntry, isPartial: boolean): boolean => {
    const isCheckpoint = 'ranges' in edit.target && edit.text !== undefined
    const isSkipped =
      isBound || isPartial || (isCheckpoint && isBroken) || fresh.some((seq) => actsOn(edit, seq))
    if (isCheckpoint && isSkipped) isBroken = true
    return isSkipped
  }
  return later.flatMap((entry): Entry[] => {
    if (entry.type === 'mark') {
      const isSkipped = entry.target > kept || (isBound && entry.mark === 'expand')
      return isSkipped ? [] : [stamp.entry(body(entry))]
    }
    if (entry.type === 'undo') {
      const edit = renamed.get(entry.edit) ?? entry.edit
      const isKnown = renamed.has(entry.edit) || child.edit(entry.edit) !== undefined
      // What a rule took back is taken back again when the loop ends.
      const isSkipped = isBound && !isByPerson(entry)
      return isKnown && !isSkipped ? [stamp.entry({ ...body(entry), edit } as UndoEntry)] : []
    }
    if (entry.type !== 'edit') return []
    // A compaction by the provider that came later: its block is not here.
    if ((entry.compactedBy?.[0] ?? 0) > kept) return []
    const target = within(entry.target, kept)
    // A checkpoint that covers more than was kept would speak of what is not there; undone, only what it forbids remains.
    const isPartial = entry.text !== undefined && !equalJson(target, entry.target)
    if (!undone.has(entry.id) && isForeign(entry, isPartial)) return []
    // An edit that was superseded or undone counts only for the form that its undo forbids.
    if (target === undefined || (parent.edit(entry.id) === undefined && !undone.has(entry.id)))
      return []
    const { since = kept, ...whole } = body(entry) as EditEntry
    const { text: _text, digest: _digest, ...bare } = whole
    const edit = isPartial ? bare : whole
    // One that is undone was never in force here.
    const from = undone.has(entry.id) ? {} : { since: Math.min(since, kept) }
    const copy = stamp.entry({ ...edit, target, epoch, ...from } as EditEntry)
    renamed.set(entry.id, copy.id)
    return [copy]
  })
}

/**
 * The newest user message, the exchange whose results the model has not answered, and all that came behind its newest answer, with
 * the calls of late results: here they are new, whatever came later elsewhere.
 */
function unanswered(state: State): readonly number[] {
  const { visible, newestUser, newestAssistant = 0, exchanges } = state
  const isOpen = exchanges.exchangeAt(newestAssistant) !== undefined
  const seqs = [
    ...(newestUser === undefined ? [] : [newestUser]),
    ...(isOpen ? exchanges.membersOf(newestAssistant) : []),
  ]
  for (let at = visible.length - 1; at >= 0; at--) {
    const { seq } = (visible[at] as Item).entry
    if (seq <= newestAssistant) break
    seqs.push(...exchanges.membersOf(seq))
  }
  return [...new Set(seqs)]
}

function actsOn(edit: EditEntry, seq: number): boolean {
  return 'seq' in edit.target ? edit.target.seq === seq : isInRanges(edit, seq)
}

/** An entry without what its own log gave it. */
function body<E extends Entry>({ id: _id, seq: _seq, at: _at, by: _by, ...rest }: E): EntryBody {
  return rest as unknown as EntryBody
}

/** The part of a target that lies at or before `last`. */
function within(target: Target, last: number): Target | undefined {
  if ('seq' in target) return target.seq <= last ? target : undefined
  const ranges = target.ranges
    .filter(([from]) => from <= last)
    .map(([from, to]) => [from, Math.min(to, last)] as const)
  return ranges.length === 0 ? undefined : { ranges }
}
