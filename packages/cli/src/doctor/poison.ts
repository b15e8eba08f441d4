// Poison entries: bisects a sound log for the entry that makes the thread unusable.

import { type Entry, memoryStore, type Store, type ThreadKey } from 'oriel'
import { type Failure, failureOf, openFromLog } from './view-check.ts'

export interface Poison {
  readonly seq: number
  readonly id: string
  readonly type: string
  /** The failure of the thread from this entry on. */
  readonly failure: Failure
  /** Excluding the message from every view helps. Tried on a copy in memory. */
  readonly canExclude: boolean
}

/** Maximum poison entries to search for. */
const maxPoisons = 5

/** Entries per append to the copy. */
const batchSize = 500

/** The entries that make the thread unusable. Empty for a usable thread. */
export async function findPoisons(store: Store, key: ThreadKey): Promise<readonly Poison[]> {
  const entries: Entry[] = []
  for await (const entry of store.read(key)) entries.push(entry)
  const poisons: Poison[] = []
  const excluded: Entry[] = []
  while (poisons.length < maxPoisons) {
    const found = await firstFailing({ key, entries, excluded })
    if (found === undefined) return poisons
    const { entry, failure } = found
    const canExclude = await helps({ key, entries, excluded: [...excluded, entry] }, entry)
    const { seq, id, type } = entry
    poisons.push({ seq, id, type, failure, canExclude })
    if (!canExclude) return poisons
    excluded.push(entry)
  }
  return poisons
}

interface Log {
  readonly key: ThreadKey
  readonly entries: readonly Entry[]
  /** Messages excluded from every view. */
  readonly excluded: readonly Entry[]
}

/** Binary search for the first entry with which the thread fails. */
async function firstFailing(
  log: Log,
): Promise<{ readonly entry: Entry; readonly failure: Failure } | undefined> {
  let failure = await failureWith(log, log.entries.length)
  if (failure === undefined) return undefined
  let good = 0
  let bad = log.entries.length
  while (bad - good > 1) {
    const middle = Math.floor((good + bad) / 2)
    const found = await failureWith(log, middle)
    if (found === undefined) good = middle
    else {
      bad = middle
      failure = found
    }
  }
  const entry = log.entries[bad - 1]
  return entry === undefined ? undefined : { entry, failure }
}

/** True if excluding the entry fixes its failure. */
async function helps(log: Log, entry: Entry): Promise<boolean> {
  if (entry.type !== 'message') return false
  return (await failureWith(log, entry.seq)) === undefined
}

/** The failure of a thread made of the first `count` entries. */
async function failureWith(log: Log, count: number): Promise<Failure | undefined> {
  const { key, entries, excluded } = log
  const store = memoryStore()
  for (let from = 0; from < count; from += batchSize) {
    await store.append(key, entries.slice(from, Math.min(count, from + batchSize)), from)
  }
  try {
    const thread = await openFromLog(store, key)
    for (const { id, seq } of excluded) if (seq <= count) await thread.exclude(id)
  } catch {
    // A thread that cannot be opened fails below as well, with a reason.
  }
  return failureOf(store, key)
}
