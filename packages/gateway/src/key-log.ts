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

/** Entries of this type are read by nobody else. */
const entryType = 'x-gateway'
/** Older facts are not read again at the start. */
const maxRead = 100_000
const maxAttempts = 20

/**
 * Facts are appended and never changed. Other processes' facts are seen by `refresh`. A thread with these entries looks like any
 * other to tools; it is in a tenant of its own, so that no caller's list shows it.
 */
export class KeyLog {
  readonly #store: Store
  readonly #key: ThreadKey
  readonly #take: (value: JsonObject) => void
  #version = 0
  #queue: Promise<unknown> = Promise.resolve()

  constructor(store: Store, key: ThreadKey, take: (value: JsonObject) => void) {
    this.#store = store
    this.#key = key
    this.#take = take
  }

  /** Takes in what is new in the store. */
  refresh(): Promise<void> {
    return this.#run(() => this.#read())
  }

  /** Appends a fact. It is taken in like those of others. */
  add(value: JsonObject, at: number): Promise<void> {
    return this.#run(async () => {
      await this.#begin()
      for (let attempt = 1; ; attempt++) {
        await this.#read()
        const seq = this.#version + 1
        const id = `${entryType}-${seq}` as EntryId
        try {
          await this.#store.append(this.#key, [{ type: entryType, id, seq, at, value }], seq - 1)
          await this.#read()
          return
        } catch (error) {
          if (!OrielError.is(error, 'version-conflict') || attempt === maxAttempts) throw error
        }
      }
    })
  }

  async #begin(): Promise<void> {
    if (this.#version > 0 || (await this.#store.info(this.#key)) !== undefined) return
    const { tenant, thread } = this.#key
    const log = await openThread({ id: thread, tenant, store: this.#store })
    await log.setPolicy({ history: { policy: 'all' } })
  }

  async #read(): Promise<void> {
    if (this.#version === 0) {
      const info = await this.#store.info(this.#key)
      if (info === undefined) return
      this.#version = Math.max(0, info.version - maxRead)
    }
    for await (const entry of this.#store.read(this.#key, { from: this.#version + 1 })) {
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

function isFact(entry: Entry): entry is Extract<Entry, { type: `x-${string}` }> {
  return entry.type === entryType
}
