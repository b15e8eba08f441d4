// Checks of one thread: hash chain, fold and views.

import { setImmediate } from 'node:timers/promises'
import { OrielError, type Problem, type Store, type ThreadKey, type ThreadState } from 'oriel'
import { findPoisons, type Poison } from './poison.ts'
import type { Finding } from './report.ts'
import { isDamage, type StoreFile } from './store-file.ts'
import { optionsFor } from './store-options.ts'
import { failureOf } from './view-check.ts'

/** Problems of a thread's hash chain. */
export async function* checkChain(store: Store, key: ThreadKey): AsyncGenerator<Finding> {
  let first: number | undefined
  for await (const problem of store.verify(key)) {
    first ??= problem.seq
    yield damaged(problem, key, first)
  }
}

/**
 * Finds where a thread becomes unreadable, in a store that does not open. Reads synchronously, so
 * it yields to the event loop regularly.
 */
export async function* checkReadable(file: StoreFile, state: ThreadState): AsyncGenerator<Finding> {
  const { key, salt, version } = state
  if (salt === undefined) return
  let seq = 0
  try {
    for (const entry of file.entries(state, version)) {
      seq = entry.seq
      if (seq % pageSize === 0) await setImmediate()
    }
  } catch (error) {
    const damage = damageOf(error, seq + 1)
    if (damage === undefined) throw error
    yield damaged({ ...key, ...damage }, key, damage.seq)
  }
}

/**
 * Interprets a read error; undefined if it does not concern the thread. `next` is the entry to be
 * read.
 */
export function damageOf(error: unknown, next: number): Damage | undefined {
  const code = (['corrupt-entry', 'log-truncated'] as const).find((one) =>
    OrielError.is(error, one),
  )
  if (OrielError.is(error) && code !== undefined) {
    return { code, seq: Number(error.details?.seq ?? next), message: error.message }
  }
  return isDamage(error) ? { code: 'corrupt-entry', seq: next, message: error.message } : undefined
}

/** The first unreadable entry of a thread, and the reason. */
export interface Damage extends Pick<Problem, 'code' | 'message'> {
  readonly seq: number
}

const pageSize = 256

/** Finds why a thread with a sound chain cannot be used. Erased threads are skipped. */
export async function* checkViews(
  store: Store,
  state: Pick<ThreadState, 'key' | 'salt'>,
): AsyncGenerator<Finding> {
  const { key, salt } = state
  if (salt === undefined || (await failureOf(store, key)) === undefined) return
  for (const poison of await findPoisons(store, key)) yield poisoned(poison, key)
}

function damaged({ code, seq, message }: Problem, key: ThreadKey, first?: number): Finding {
  const place = seq === undefined ? {} : { seq }
  // The user is already running it.
  const text = message.replace(' Run `oriel doctor`.', '')
  return { code, ...key, ...place, message: text, ...goOnBefore(first, key) }
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

/** Reasons that a newer version may fix. */
const versionReasons: ReadonlySet<string> = new Set(['schema-version', 'invalid-policy'])

function cureOf({ seq, id, type, failure, canExclude }: Poison, key: ThreadKey): Cure {
  if (canExclude) {
    const command = `await thread.exclude('${id}')`
    return { remedy: 'leave it out of every view; the log keeps it', command }
  }
  if (versionReasons.has(failure.reason)) {
    return { remedy: 'it may come from a later version: update Oriel' }
  }
  if (type === 'edit') return { remedy: 'take it back', command: `await thread.undo('${id}')` }
  return goOnBefore(seq, key)
}

/** Logs are never truncated. The entries before the damage can continue as another thread. */
function goOnBefore(firstBad: number | undefined, key: ThreadKey): Cure {
  // The first entry is only the thread's header.
  if (firstBad === undefined || firstBad < 3) {
    return { remedy: 'import a backup of it under another id' }
  }
  return {
    remedy: 'import a backup of it under another id, or what stands before',
    command: `oriel export ${optionsFor(key)} --until ${firstBad - 1} --out rescued.jsonl`,
  }
}
