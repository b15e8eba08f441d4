// An LRU of thread summaries, each kept up to date by reading only the new entries of its log.

import { LRUCache } from 'lru-cache'
import type { ErrorCode, Store, ThreadInfo, ThreadKey } from 'oriel'
import { type ThreadNumbers, ThreadNumbersFold } from 'oriel/inspect'
import { damageOf } from '../threads/damage.ts'
import { readCooperatively } from './cooperative-read.ts'

export interface ThreadSummary extends ThreadNumbers {
  readonly id: string
  readonly createdAt: number
  readonly updatedAt: number
  readonly bytes: number
  readonly entries: number
  /** Why the log cannot be read to its end; the numbers are those of the entries before. */
  readonly damage?: ErrorCode
  /** For callers that may see every tenant. */
  readonly tenant?: string
}

const maxKept = 5000

/** The summary of a thread with these numbers. */
export function summaryIn(info: ThreadInfo, numbers: ThreadNumbers): ThreadSummary {
  const { thread, createdAt, updatedAt, bytes, version } = info
  return { id: thread, createdAt, updatedAt, bytes, entries: version, ...numbers }
}

export class Summaries {
  readonly #store: Store
  readonly #kept = new LRUCache<string, ThreadNumbersFold>({ max: maxKept })

  constructor(store: Store) {
    this.#store = store
  }

  async of(key: ThreadKey, info: ThreadInfo): Promise<ThreadSummary> {
    const { fold, damage } = await this.foldOf(key, info)
    const summary = summaryIn(info, fold.numbers())
    return damage === undefined ? summary : { ...summary, damage }
  }

  /** The numbers of a thread up to its newest entry, and why its log could not be read to the end. */
  async foldOf(
    key: ThreadKey,
    info: ThreadInfo,
  ): Promise<{ readonly fold: ThreadNumbersFold; readonly damage: ErrorCode | undefined }> {
    const id = `${key.tenant}\0${key.thread}`
    const known = this.#kept.get(id)
    const isCurrent = known !== undefined && known.version <= info.version
    const fold = isCurrent ? known : new ThreadNumbersFold()
    const damage = fold.version < info.version ? await this.#catchUp(key, fold) : undefined
    this.#kept.set(id, fold)
    return { fold, damage }
  }

  /** Forgets a thread: it was erased. */
  forget({ tenant, thread }: ThreadKey): void {
    this.#kept.delete(`${tenant}\0${thread}`)
  }

  /** Folds the new entries; returns why they could not be read to the end. */
  async #catchUp(key: ThreadKey, fold: ThreadNumbersFold): Promise<ErrorCode | undefined> {
    try {
      const entries = this.#store.read(key, { from: fold.version + 1 })
      for await (const entry of readCooperatively(entries, undefined)) {
        // Another request may have folded it meanwhile.
        if (entry.seq === fold.version + 1) fold.take(entry)
      }
      return undefined
    } catch (error) {
      const damage = damageOf(error)
      if (damage === undefined) throw error
      return damage
    }
  }
}
