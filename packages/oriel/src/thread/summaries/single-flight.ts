// Work that costs money is done by one of all processes that share a thread; the others wait for its result to appear in the log.

import { setTimeout as delay } from 'node:timers/promises'
import { OrielError } from '../../core/log/errors.ts'
import { settings } from '../../core/log/settings.ts'
import { sha256 } from '../../sha256.ts'
import type { Lease, Store, ThreadKey } from '../../stores/store.ts'
import { inBackground } from '../background.ts'
import type { Summarize } from './answer.ts'

/** How long a holder that died keeps others waiting. One that lives renews its lease, and may fail to a few times. */
const leaseMs = 5000
const renewMs = 1000

/** A result is appended a moment after it is there: nobody is to begin in between. */
const graceMs = 1000

const firstPauseMs = 25
const maxPauseMs = 400

/**
 * A summarizer that asks its model only if no other process asks it the same for this thread. Then it waits until the other one's
 * result is in the log and rejects with 'job-failed': the caller's append meets a conflict, reads the log again and finds it
 * there. When the other one fails or dies, it asks the model itself.
 */
export function singleFlight(
  summarize: Summarize,
  { store, key }: { readonly store: Store; readonly key: ThreadKey },
  /** Called when a lease cannot be renewed or given back: it ends by itself. */
  onLeaseFailed: (error: unknown) => void = () => {},
): Summarize {
  return async (job) => {
    if (store.lease === undefined) return summarize(job)
    const name = `summarize:${sha256(`${job.kind}\n${job.prompt}\n${job.text.toWellFormed()}`)}`
    const lease = await waitFor(store, key, name, job.signal)
    const renew = (): Promise<void> => inBackground(() => lease?.renew(), onLeaseFailed)
    const renewing = setInterval(renew, renewMs).unref()
    const release = (): Promise<void> => {
      clearInterval(renewing)
      return inBackground(() => lease?.release(), onLeaseFailed)
    }
    try {
      const result = await summarize(job)
      setTimeout(release, graceMs).unref()
      return result
    } catch (error) {
      await release()
      throw error
    }
  }
}

/** The lease, or undefined where the store has none to give: doing work twice is better than not at all. */
async function waitFor(
  store: Store,
  key: ThreadKey,
  name: string,
  signal: AbortSignal,
): Promise<Lease | undefined> {
  const take = (): Promise<Lease | undefined> | undefined =>
    store.lease?.(key, { name, ttlMs: leaseMs })
  const seen = (await store.info(key))?.version ?? 0
  for (let pause = firstPauseMs; ; pause = Math.min(pause * 2, maxPauseMs)) {
    const lease = await take()
    if (lease !== undefined) return lease
    if (await hasResult(store, key, seen)) throw doneElsewhere()
    await delay(pause, undefined, { signal })
  }
}

/** Whether somebody's edits or summaries came into the log since. */
async function hasResult(store: Store, key: ThreadKey, seen: number): Promise<boolean> {
  for await (const entry of store.read(key, { from: seen + 1 })) {
    if (entry.type === 'edit') return true
    if (settings.summary.keyOf(entry) !== undefined) return true
  }
  return false
}

function doneElsewhere(): OrielError {
  return new OrielError('job-failed', 'Another process made this summary; its result is used.')
}
