// One thread: its chain of hashes, then whether it can be used.

import type { Problem, Store, ThreadKey, ThreadState } from 'oriel'
import { optionsFor } from './place.ts'
import { findPoisons, type Poison } from './poison.ts'
import type { Finding } from './report.ts'
import { failureOf } from './view-check.ts'

/** The problems of a thread's chain. */
export async function* checkChain(store: Store, key: ThreadKey): AsyncGenerator<Finding> {
  let first: number | undefined
  for await (const problem of store.verify(key)) {
    first ??= problem.seq
    yield damaged(problem, key, first)
  }
}

/** What keeps a thread with a sound chain from being used. An erased one has nothing to show. */
export async function* checkViews(store: Store, state: ThreadState): AsyncGenerator<Finding> {
  const { key, salt } = state
  if (salt === undefined || (await failureOf(store, key)) === undefined) return
  for (const poison of await findPoisons(store, key)) yield poisoned(poison, key)
}

function damaged({ code, seq, message }: Problem, key: ThreadKey, first?: number): Finding {
  const place = seq === undefined ? {} : { seq }
  return { code, ...key, ...place, message, ...goOnBefore(first, key) }
}

function poisoned(poison: Poison, key: ThreadKey): Finding {
  const { seq, type, failure } = poison
  const { format, reason } = failure
  const message =
    format === undefined
      ? `With this ${type} the thread cannot be opened (${reason}).`
      : `With this ${type} there is no valid view for ${format} (${reason}).`
  const code = format === undefined ? 'cannot-open' : 'cannot-view'
  return { code, ...key, seq, message, ...cureOf(poison, key) }
}

type Cure = Pick<Finding, 'remedy' | 'command'>

/** Codes that a newer version may not have any more. */
const versionReasons: ReadonlySet<string> = new Set(['not-available', 'schema-version'])

function cureOf({ seq, id, type, failure, canExclude }: Poison, key: ThreadKey): Cure {
  if (canExclude) {
    const command = `await thread.exclude('${id}')`
    return { remedy: 'leave it out of every view; the log keeps it', command }
  }
  if (versionReasons.has(failure.reason)) {
    return { remedy: 'it was written by a later version: update Oriel' }
  }
  if (type === 'edit') return { remedy: 'take it back', command: `await thread.undo('${id}')` }
  return goOnBefore(seq, key)
}

/** Nothing is cut off from a log; what stands before the damage can go on as another thread. */
function goOnBefore(firstBad: number | undefined, key: ThreadKey): Cure {
  if (firstBad === undefined || firstBad < 2) {
    return { remedy: 'import a backup of it under another id' }
  }
  return {
    remedy: 'import a backup of it under another id, or what stands before',
    command: `oriel export ${optionsFor(key)} --until ${firstBad - 1} --out rescued.jsonl`,
  }
}
