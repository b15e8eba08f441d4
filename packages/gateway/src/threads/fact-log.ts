// A small durable set of facts beside the threads: a log of its own in the same store, read once and then kept in memory.

import {
  type Entry,
  type EntryId,
  type JsonObject,
  OrielError,
  openThread,
  type Store,
  type ThreadKey,
} from 'oriel'
import { damageOf } from './damage.ts'

interface Fact {
  readonly value: JsonObject
  readonly at: number
}

/** Entries of this type are read by nobody else. */
const entryType = 'x-gateway'
/** Older facts are not read again at the start. */
const maxRead = 100_000
const maxAttempts = 20

/**
 * Facts are appended and never changed. Other processes' facts are seen by `refresh`. One that is damaged is as good as none. A thread with these entries looks like any
 * other to tools; it is in a tenant of its own, so that no caller's list shows it.
 */
export class FactLog {
  readonly #store: Store
  readonly #key: ThreadKey
  readonly #take: (value: JsonObject) => void
  #version = 0
  #queue: Promise<unknown> = Promise.resolve()
  readonly #waiting: Fact[] = []
  /** The append that takes all that wait, if one is to come. */
  #adding: Promise<void> | undefined

  constructor(store: Store, key: ThreadKey, take: (value: JsonObject) => void) {
    this.#store = store
    this.#key = key
    this.#take = take
  }

  /** Takes in what is new in the store. */
  refresh(): Promise<void> {
    return this.#run(() => this.#read())
  }

  /** Appends a fact, with all that wait, in one append. It is taken in like those of others. */
  add(value: JsonObject, at: number): Promise<void> {
    this.#waiting.push({ value, at })
    this.#adding ??= this.#run(() => {
      this.#adding = undefined
      return this.#append(this.#waiting.splice(0))
    })
    return this.#adding
  }

  async #append(facts: readonly Fact[]): Promise<void> {
    await this.#begin()
    for (let attempt = 1; ; attempt++) {
      const before = this.#version
      const entries = facts.map(({ value, at }, index): Entry => {
        const seq = before + 1 + index
        return { type: entryType, id: `${entryType}-${seq}` as EntryId, seq, at, value }
      })
      try {
        await this.#store.append(this.#key, entries, before)
        this.#version = before + entries.length
        for (const { value } of facts) this.#take(value)
        return
      } catch (error) {
        if (!OrielError.is(error, 'version-conflict') || attempt === maxAttempts) throw error
        await this.#read()
      }
    }
  }

  async #begin(): Promise<void> {
    if (this.#version > 0) return
    if ((await this.#store.info(this.#key)) === undefined) {
      const { tenant, thread } = this.#key
      const log = await openThread({ id: thread, tenant, store: this.#store })
      await log.setPolicy({ history: { policy: 'all' } })
    }
    await this.#read()
  }

  async #read(): Promise<void> {
    if (this.#version === 0) {
      const info = await this.#store.info(this.#key)
      if (info === undefined) return
      this.#version = Math.max(0, info.version - maxRead)
    }
    while (!(await this.#readOn()));
  }

  /** Reads to the end, or past an entry that is damaged: what it said is lost, what others say is not. */
  async #readOn(): Promise<boolean> {
    try {
      await this.#takeIn({ from: this.#version + 1 })
      return true
    } catch (error) {
      const seq = damageOf(error) && seqOf(error)
      if (seq === undefined) throw error
      // No entry of a page with a damaged one is given: those before it are asked for alone.
      const next = this.#version + 1
      if (seq > next) await this.#takeIn({ from: next, to: seq - 1 })
      this.#version = Math.max(seq, next)
      return false
    }
  }

  async #takeIn(range: { readonly from: number; readonly to?: number }): Promise<void> {
    for await (const entry of this.#store.read(this.#key, range)) {
      this.#version = entry.seq
      if (isFact(entry)) this.#take(entry.value as JsonObject)
    }
  }

  #run<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(task)
    this.#queue = result.catch(() => undefined)
    return result
  }
}

/** Which entry an error is about. */
function seqOf(error: unknown): number | undefined {
  const seq = OrielError.is(error) ? error.details?.seq : undefined
  return typeof seq === 'number' ? seq : undefined
}

function isFact(entry: Entry): entry is Extract<Entry, { type: `x-${string}` }> {
  return entry.type === entryType
}
