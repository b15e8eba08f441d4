// Which entry makes a sound log unusable: the one with which the trouble begins.

import { type Entry, memoryStore, type Store, type ThreadKey } from 'oriel'
import { type Failure, failureOf, openFromLog } from './view-check.ts'

export interface Poison {
  readonly seq: number
  readonly id: string
  readonly type: string
  /** What the thread fails with from this entry on. */
  readonly failure: Failure
  /** Whether leaving the message out of every view helps; tried on a copy in memory. */
  readonly canExclude: boolean
}

/** More poisoned entries than this are not looked for. */
const maxPoisons = 5

/** Entries that one append to the copy holds. */
const batchSize = 500

/** The entries that must go so that the thread can be used again. Empty for a thread that can be used. */
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
  /** Messages that are taken out of every view. */
  readonly excluded: readonly Entry[]
}

/** Halves the log until the entry is found with which the thread begins to fail. */
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

/** Whether excluding the entry moves the trouble away from it. */
async function helps(log: Log, entry: Entry): Promise<boolean> {
  if (entry.type !== 'message') return false
  return (await failureWith(log, entry.seq)) === undefined
}

/** How the first `count` entries fail as a thread of their own. */
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
    // A thread that cannot be opened fails in the same way below, where the reason is found.
  }
  return failureOf(store, key)
}
