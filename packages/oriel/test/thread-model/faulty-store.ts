// A store that fails on demand: one append rejects, before or after it was written.

import type { Entry } from '../../src/core/log/entry.ts'
import { OrielError } from '../../src/core/log/errors.ts'
import type { AppendResult, ReadOptions, Store, ThreadKey } from '../../src/stores/store.ts'

export interface Fault {
  /** Which of the next appends fails, from 1. */
  readonly nth: number
  /** Whether the entries were written all the same, so that the caller cannot know. */
  readonly isWritten: boolean
}

export class FaultyStore {
  readonly store: Store
  #fault: Fault | undefined
  #left = 0
  #hasFailed = false

  constructor(inner: Store) {
    const append = (
      key: ThreadKey,
      entries: readonly Entry[],
      expected: number,
    ): Promise<AppendResult> => this.#append(inner, key, entries, expected)
    this.store = replaced(inner, { append })
  }

  /** Makes one of the next appends fail. */
  arm(fault: Fault): void {
    this.#fault = fault
    this.#left = fault.nth
    this.#hasFailed = false
  }

  /** Ends the fault; true when it struck. */
  disarm(): boolean {
    this.#fault = undefined
    return this.#hasFailed
  }

  async #append(
    inner: Store,
    key: ThreadKey,
    entries: readonly Entry[],
    expected: number,
  ): Promise<AppendResult> {
    this.#left -= 1
    if (this.#fault === undefined || this.#left !== 0) return inner.append(key, entries, expected)
    this.#hasFailed = true
    if (this.#fault.isWritten) await inner.append(key, entries, expected)
    throw new OrielError('storage-failed', 'The disk was pulled out.')
  }
}

export interface Visits {
  /** Entries that the store was asked for. */
  read: number
  /** Entries of the log that were looked at, each once. */
  readonly seen: Set<number>
}

/** A store that notes which entries are read, and which of them are looked at afterwards. */
export function watchedStore(inner: Store): { readonly store: Store; readonly visits: Visits } {
  const visits: Visits = { read: 0, seen: new Set() }
  async function* read(key: ThreadKey, options?: ReadOptions): AsyncGenerator<Entry> {
    for await (const entry of inner.read(key, options)) {
      visits.read += 1
      yield watched(entry, visits)
    }
  }
  return { store: replaced(inner, { read }), visits }
}

function watched(entry: Entry, visits: Visits): Entry {
  return new Proxy(entry, {
    get(target, key) {
      visits.seen.add(target.seq)
      return Reflect.get(target, key) as unknown
    },
  })
}

/** A store with some of its methods replaced. */
function replaced(inner: Store, own: Partial<Store>): Store {
  return new Proxy(inner, {
    get(target, key) {
      if (Object.hasOwn(own, key)) return Reflect.get(own, key) as unknown
      const value: unknown = Reflect.get(target, key)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
