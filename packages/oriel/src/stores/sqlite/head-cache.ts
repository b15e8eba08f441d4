// Threads as a connection left them, so that the next append need not read what this one wrote a moment ago.

import type { ThreadKey } from '../store.ts'

/** The row of a thread that was not erased. */
export interface LivingThread {
  readonly id: number
  readonly version: number
  readonly head: string
  readonly salt: string
}

/** A thread takes some 400 bytes here. Conversations that go on within minutes fit in, at any rate that one process serves. */
const maxCount = 2000

/**
 * Contracts:
 * - What is found may be out of date: another connection may have written, or the transaction was rolled back. Whoever uses it
 *   makes the change of the row depend on the head, which covers the names of the thread and everything in it.
 * - It is bounded: the threads that were left longest ago are forgotten first.
 */
export class HeadCache {
  /** By the thread's name alone, which is nearly always its own; of two tenants with the same name the last one is here. */
  readonly #threads = new Map<string, { readonly tenant: string; readonly row: LivingThread }>()

  find({ tenant, thread }: ThreadKey): LivingThread | undefined {
    const left = this.#threads.get(thread)
    return left?.tenant === tenant ? left.row : undefined
  }

  leave({ tenant, thread }: ThreadKey, row: LivingThread): void {
    this.#threads.delete(thread)
    this.#threads.set(thread, { tenant, row })
    if (this.#threads.size <= maxCount) return
    for (const oldest of this.#threads.keys()) {
      this.#threads.delete(oldest)
      return
    }
  }

  forget({ thread }: ThreadKey): void {
    this.#threads.delete(thread)
  }
}
