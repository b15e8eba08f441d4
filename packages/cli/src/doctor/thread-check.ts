// One thread: its chain of hashes, then whether it can be used.

import { setImmediate } from 'node:timers/promises'
import { OrielError, type Problem, type Store, type ThreadKey, type ThreadState } from 'oriel'
import { optionsFor } from './place.ts'
import { findPoisons, type Poison } from './poison.ts'
import type { Finding } from './report.ts'
import { isDamage, type StoreFile } from './store-file.ts'
import { failureOf } from './view-check.ts'

/** The problems of a thread's chain. */
export async function* checkChain(store: Store, key: ThreadKey): AsyncGenerator<Finding> {
  let first: number | undefined
  for await (const problem of store.verify(key)) {
    first ??= problem.seq
    yield damaged(problem, key, first)
  }
}

/** Where a thread stops being readable, of a store that does not open. Reading holds the event loop, so it lets go now and then. */
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

/** What an error of reading says about the thread; undefined when it says nothing. `next` is the entry that was to be read. */
export function damageOf(error: unknown, next: number): Damage | undefined {
  const code = (['corrupt-entry', 'log-truncated'] as const).find((one) =>
    OrielError.is(error, one),
  )
  if (OrielError.is(error) && code !== undefined) {
    return { code, seq: Number(error.details?.seq ?? next), message: error.message }
  }
  return isDamage(error) ? { code: 'corrupt-entry', seq: next, message: error.message } : undefined
}

/** The first entry of a thread that cannot be read, and why. */
export interface Damage extends Pick<Problem, 'code' | 'message'> {
  readonly seq: number
}

const pageSize = 256

/** What keeps a thread with a sound chain from being used. An erased one has nothing to show. */
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
  // Who reads this has run it.
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

/** Reasons that a newer version may not have any more. */
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

/** Nothing is cut off from a log; what stands before the damage can go on as another thread. */
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
