// Summaries that other threads of a tenant have for the same content: a model is asked once for each content, not once for each thread.

import type { Entry } from '../../core/log/entry.ts'
import { isObject, type Json } from '../../core/log/json.ts'
import { settings } from '../../core/log/settings.ts'
import type { KeyValue } from '../../stores/key-value.ts'
import type { Store, ThreadKey } from '../../stores/store.ts'
import type { Finished } from './summaries.ts'

const space = 'summaries'

/** Threads that a summary is kept for. When all of them are erased, so is the summary, whoever else uses it. */
const maxOwners = 64

interface Shared {
  readonly text: string
  /** Threads whose log holds the content. */
  readonly threads: readonly string[]
}

/**
 * The summaries of a tenant, by the key of what they were made from.
 * - A thread finds only summaries of content that it has itself: the key is a hash of content and prompt.
 * - Only what is in a log is shared, so that the log names what erasing the thread must delete.
 * - A store without values shares nothing.
 */
export class TenantSummaries {
  readonly #values: KeyValue | undefined
  readonly #store: Store
  readonly #key: ThreadKey

  constructor(store: Store, key: ThreadKey) {
    this.#store = store
    this.#values = store.values
    this.#key = key
  }

  /** What other threads have for these keys. */
  async find(keys: readonly string[]): Promise<readonly Finished[]> {
    const values = this.#values
    if (values === undefined) return []
    const found = await Promise.all(
      keys.map(async (key) => {
        const shared = sharedIn(await values.get(this.#place(key)))
        return shared === undefined ? [] : [{ key, text: shared.text }]
      }),
    )
    return found.flat()
  }

  /** Shares the summaries in entries that were written. */
  async share(entries: readonly Entry[]): Promise<void> {
    const values = this.#values
    const finished = summariesIn(entries)
    if (values === undefined || finished.length === 0) return
    for (const { key, text } of finished) {
      await values.update(this.#place(key), (before) => withOwner(before, text, this.#key.thread))
    }
    // A thread that was erased meanwhile has looked for its summaries before they were here.
    if ((await this.#store.info(this.#key)) === undefined) await this.forget(finished)
  }

  /** Called when the thread is erased: deletes what no other thread has. */
  async forget(summaries: readonly Pick<Finished, 'key'>[]): Promise<void> {
    for (const { key } of summaries) {
      await this.#values?.update(this.#place(key), (before) =>
        withoutOwner(before, this.#key.thread),
      )
    }
  }

  #place(name: string): { readonly tenant: string; readonly space: string; readonly name: string } {
    return { tenant: this.#key.tenant, space, name }
  }
}

/** Summaries of single blocks that entries hold. */
export function summariesIn(entries: Iterable<Entry>): readonly Finished[] {
  const found: Finished[] = []
  for (const entry of entries) {
    const kept = settings.summary.find(entry)
    if (kept !== undefined) found.push({ key: kept.key, text: kept.value })
    if (entry.type !== 'edit' || entry.summary === undefined || !('seq' in entry.target)) continue
    const { of, at } = entry.summary
    found.push({ key: of, text: (entry.text ?? '').slice(...at) })
  }
  return found
}

function withOwner(before: Json | undefined, text: string, thread: string): Json {
  const { threads = [], ...known } = sharedIn(before) ?? {}
  const isListed = threads.includes(thread) || threads.length >= maxOwners
  return { text, ...known, threads: isListed ? [...threads] : [...threads, thread] }
}

function withoutOwner(before: Json | undefined, thread: string): Json | undefined {
  const shared = sharedIn(before)
  if (shared === undefined) return before
  const threads = shared.threads.filter((one) => one !== thread)
  return threads.length === 0 ? undefined : { text: shared.text, threads }
}

function sharedIn(value: Json | undefined): Shared | undefined {
  if (!isObject(value) || typeof value.text !== 'string' || !Array.isArray(value.threads)) {
    return undefined
  }
  return { text: value.text, threads: value.threads.filter((one) => typeof one === 'string') }
}
