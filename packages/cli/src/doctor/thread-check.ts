// One thread: its chain of hashes, then whether it can be used.

import type { Problem, Store, ThreadKey, ThreadState } from 'oriel'
import { nameOf, optionsFor } from './place.ts'
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
  return {
    code,
    ...key,
    ...(seq === undefined ? {} : { seq }),
    message,
    remedy: rescue(key, first),
  }
}

/** Nothing is cut off from a damaged log; what stands before the damage can go on as another thread. */
function rescue(key: ThreadKey, firstBad: number | undefined): string {
  const backup = 'oriel import a backup under another id'
  if (firstBad === undefined || firstBad < 2) return backup
  return `${backup}, or what is before the damage: oriel export ${optionsFor(key)} --until ${firstBad - 1}`
}

function poisoned({ seq, id, type, failure, canExclude }: Poison, key: ThreadKey): Finding {
  const { format, reason } = failure
  const name = nameOf(key)
  return {
    code: format === undefined ? 'cannot-open' : 'cannot-view',
    ...key,
    seq,
    message:
      format === undefined
        ? `With this ${type} ${name} cannot be opened (${reason}).`
        : `With this ${type} there is no valid view for ${format} (${reason}).`,
    remedy: canExclude
      ? `leave it out of every view, the log keeps it: await thread.exclude('${id}')`
      : remedyFor({ type, id, reason }, key, seq),
  }
}

/** Codes that a newer version may not have any more. */
const versionReasons: ReadonlySet<string> = new Set(['not-available', 'schema-version'])

function remedyFor(
  { type, id, reason }: { type: string; id: string; reason: string },
  key: ThreadKey,
  seq: number,
): string {
  if (versionReasons.has(reason)) return 'it was written by a later version: update Oriel'
  if (type === 'edit') return `take the edit back: await thread.undo('${id}')`
  if (seq < 2) return 'oriel import a backup under another id'
  return `go on from what is before it: oriel export ${optionsFor(key)} --until ${seq - 1}`
}
