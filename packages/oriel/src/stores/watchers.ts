// Who wants to hear of changes. A listener cannot change the outcome: one that throws is ignored.

import type { StoreChange, Watch, WatchListener } from './store.ts'

export class Watchers {
  readonly #listeners = new Set<WatchListener>()

  get count(): number {
    return this.#listeners.size
  }

  /** Adds a listener; `onClosed` is called once, when its watch ends. */
  add(listener: WatchListener, onClosed: () => Promise<void> | void = () => {}): Watch {
    // A wrapper of its own: the same function may listen twice.
    const own: WatchListener = (change) => listener(change)
    this.#listeners.add(own)
    return {
      close: async () => {
        if (this.#listeners.delete(own)) await onClosed()
      },
    }
  }

  tell(change: StoreChange): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(change)
      } catch {
        // The write is done and acknowledged; what a listener makes of it is its own affair.
      }
    }
  }

  clear(): void {
    this.#listeners.clear()
  }
}
